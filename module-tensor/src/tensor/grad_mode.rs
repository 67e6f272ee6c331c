use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
    /// The modes of the guards alive on this thread, oldest first; `None` for one dropped before
    /// a younger one.
    static MODES: RefCell<Vec<Option<bool>>> = const { RefCell::new(Vec::new()) };
}

/// Whether operations on this thread are recorded.
///
/// # Example
///
/// ```
/// use module_tensor::{is_grad_enabled, no_grad};
///
/// assert!(is_grad_enabled());
/// assert!(!no_grad(is_grad_enabled));
/// ```
#[inline]
pub fn is_grad_enabled() -> bool {
    ENABLED.with(Cell::get)
}

/// Runs `f` without recording operations on this thread.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, no_grad};
///
/// let x = Tensor::from(2.0_f32).with_grad()?;
/// assert!(!no_grad(|| x.mul(&x))?.requires_grad());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[doc(alias = "inference_mode")]
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    with_grad_mode(false, f)
}

/// Runs `f` with operations on this thread recorded, even inside [`no_grad`].
///
/// # Example
///
/// ```
/// use module_tensor::{enable_grad, is_grad_enabled, no_grad};
///
/// assert!(no_grad(|| enable_grad(is_grad_enabled)));
/// ```
#[doc(alias = "set_grad_enabled")]
pub fn enable_grad<R>(f: impl FnOnce() -> R) -> R {
    with_grad_mode(true, f)
}

/// Runs `f` in a mode and restores the previous one, even if `f` panics.
pub(crate) fn with_grad_mode<R>(enabled: bool, f: impl FnOnce() -> R) -> R {
    let _mode = GradMode::new(enabled);
    f()
}

/// Stops the recording of operations on this thread while it is alive: like [`no_grad`], but until the end of a block.
///
/// The mode of a thread is that of its youngest guard, whatever the order in which they are dropped, and on without a
/// guard. Guards are also dropped by a panic. A guard stays on its thread:
///
/// ```compile_fail
/// let guard = module_tensor::NoGradGuard::new();
/// std::thread::spawn(move || drop(guard));
/// ```
///
/// # Example
///
/// ```
/// use module_tensor::{EnableGradGuard, NoGradGuard, Tensor, is_grad_enabled};
///
/// let x = Tensor::from(2.0_f32).with_grad()?;
/// {
///     let _off = NoGradGuard::new();
///     assert!(!x.mul(&x)?.requires_grad());
///     let _on = EnableGradGuard::new();
///     assert!(x.mul(&x)?.requires_grad());
/// }
/// assert!(is_grad_enabled());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[must_use = "the mode ends when the guard is dropped"]
#[derive(Debug)]
pub struct NoGradGuard(#[expect(dead_code, reason = "held to be dropped")] GradMode);

/// Records operations on this thread while it is alive, even while a [`NoGradGuard`] is alive; see there.
#[must_use = "the mode ends when the guard is dropped"]
#[derive(Debug)]
pub struct EnableGradGuard(#[expect(dead_code, reason = "held to be dropped")] GradMode);

impl NoGradGuard {
    /// Stops recording on this thread until the guard is dropped.
    #[expect(clippy::new_without_default, reason = "making it does something")]
    pub fn new() -> Self {
        Self(GradMode::new(false))
    }
}

impl EnableGradGuard {
    /// Records on this thread until the guard is dropped.
    #[expect(clippy::new_without_default, reason = "making it does something")]
    pub fn new() -> Self {
        Self(GradMode::new(true))
    }
}

/// A mode of this thread, as long as it lives and is the youngest.
#[derive(Debug)]
struct GradMode {
    /// The index in `MODES`; none at the end of a thread, when the list no longer exists.
    index: Option<usize>,
    before: bool,
    not_send: PhantomData<*const ()>,
}

impl GradMode {
    fn new(enabled: bool) -> Self {
        let push = |modes: &RefCell<Vec<Option<bool>>>| {
            let mut modes = modes.borrow_mut();
            modes.push(Some(enabled));
            modes.len() - 1
        };
        Self {
            index: MODES.try_with(push).ok(),
            before: ENABLED.replace(enabled),
            not_send: PhantomData,
        }
    }
}

impl Drop for GradMode {
    fn drop(&mut self) {
        let remove = |index: usize| {
            let remaining = MODES.try_with(|modes| {
                let mut modes = modes.borrow_mut();
                if let Some(mode) = modes.get_mut(index) {
                    *mode = None;
                }
                while modes.last() == Some(&None) {
                    modes.pop();
                }
                modes.last().copied().flatten().unwrap_or(true)
            });
            remaining.ok()
        };
        ENABLED.set(self.index.and_then(remove).unwrap_or(self.before));
    }
}
