use std::cell::Cell;

thread_local! {
    static ENABLED: Cell<bool> = const { Cell::new(true) };
}

/// Whether operations on this thread are recorded.
pub fn is_grad_enabled() -> bool {
    ENABLED.with(Cell::get)
}

/// Runs `f` without recording operations on this thread.
///
/// # Example
///
/// ```
/// use module_core::{Tensor, no_grad};
///
/// let x = Tensor::from(2.0_f32).requires_grad();
/// assert!(!no_grad(|| x.mul(&x))?.is_tracked());
/// # Ok::<(), module_core::Error>(())
/// ```
pub fn no_grad<R>(f: impl FnOnce() -> R) -> R {
    with_grad_mode(false, f)
}

/// Runs `f` with operations on this thread recorded, also inside [`no_grad`].
pub fn enable_grad<R>(f: impl FnOnce() -> R) -> R {
    with_grad_mode(true, f)
}

/// Runs `f` in a mode and restores the one before, also when `f` panics.
pub(crate) fn with_grad_mode<R>(enabled: bool, f: impl FnOnce() -> R) -> R {
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            ENABLED.with(|mode| mode.set(self.0));
        }
    }

    let _restore = Restore(ENABLED.replace(enabled));
    f()
}
