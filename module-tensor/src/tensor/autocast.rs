//! Autocast: the scope of a thread in which operations choose the dtype that they compute in.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::marker::PhantomData;

use super::{Tensor, is_grad_enabled};
use crate::{DType, Result};

thread_local! {
    static STATE: Cell<AutocastState> = const { Cell::new(AutocastState { dtype: None }) };
    /// The number of scopes that are open on this thread, including those that turn autocast off.
    static SCOPES: Cell<usize> = const { Cell::new(0) };
    /// The casts of leaves, by node number.
    static CASTS: RefCell<HashMap<u64, CachedCast>> = RefCell::new(HashMap::new());
}

/// The cast of a leaf, which the scope keeps so that the leaf is cast once.
struct CachedCast {
    /// The leaf: its memory cannot be reused while it is held.
    leaf: Tensor,
    cast: Tensor,
}

/// Runs `f` in mixed precision: operations on this thread compute in the dtype chosen for each by the lists of PyTorch's
/// CPU autocast.
///
/// Operations see casts of their operands, and the casts are part of the graph: parameters stay in `F32`, and so do their
/// gradients. [`AutocastPolicy`](crate::AutocastPolicy) has the lists. Operands other than `F16`, `BF16` and `F32` are
/// unchanged. If the two floating-point operands of an elementwise operation have different dtypes, the narrower one is
/// widened, as PyTorch always does.
///
/// A leaf that accumulates a gradient, such as a parameter, is cast once in the outermost scope, so that the gradients of
/// all of its uses are added in the narrow dtype before they are cast back, as in PyTorch. The casts are dropped when that
/// scope ends: use one scope for the forward pass and the loss of one step. `backward` and the optimizer need no scope; a
/// backward pass inside one computes in the dtypes of the forward pass.
///
/// Scopes can be nested, and the innermost one applies; [`no_autocast`] turns it off for a part. `F16`, with its small
/// exponent range, also needs a gradient scaler, so that small gradients do not underflow.
///
/// # Errors
///
/// A dtype other than `F16` and `BF16`; errors of `f`.
///
/// # Source
///
/// `torch.autocast("cpu", dtype)`; Micikevicius et al., *Mixed Precision Training* (2018).
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Tensor, autocast};
///
/// let weight = Tensor::from([[0.5_f32, 2.0]]).with_grad()?;
/// let loss = autocast(DType::BF16, || {
///     let y = Tensor::from([1.0_f32, 3.0]).linear(&weight, None)?;
///     assert_eq!(y.dtype(), DType::BF16);
///     y.sum(..)
/// })?;
/// loss.backward()?;
/// assert_eq!(weight.grad().unwrap().to_vec::<f32>()?, [1.0, 3.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn autocast<R>(dtype: DType, f: impl FnOnce() -> Result<R>) -> Result<R> {
    if !matches!(dtype, DType::F16 | DType::BF16) {
        let needs = "float16 or bfloat16; leave `autocast` out to compute in other dtypes";
        return Err(dtype.error("autocast", needs));
    }
    let _scope = Scope::new(AutocastState { dtype: Some(dtype) });
    f()
}

/// Runs `f` without [`autocast`] on this thread: operations again compute in the dtypes of their operands.
///
/// PyTorch's `torch.autocast("cpu", enabled=False)`.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Tensor, autocast, no_autocast};
///
/// autocast(DType::BF16, || {
///     let x = Tensor::from([[1.0_f32]]);
///     assert_eq!(x.matmul(&x)?.dtype(), DType::BF16);
///     assert_eq!(no_autocast(|| x.matmul(&x))?.dtype(), DType::F32);
///     Ok(())
/// })?;
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn no_autocast<R>(f: impl FnOnce() -> R) -> R {
    AutocastState { dtype: None }.run(f)
}

/// Whether operations on this thread are inside [`autocast`], with no [`no_autocast`] in between.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, autocast, is_autocast_enabled, no_autocast};
///
/// assert!(!is_autocast_enabled());
/// let inside = || Ok((is_autocast_enabled(), no_autocast(|| is_autocast_enabled())));
/// assert_eq!(autocast(DType::BF16, inside)?, (true, false));
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[must_use]
#[doc(alias = "is_autocast_cpu_enabled")]
pub fn is_autocast_enabled() -> bool {
    AutocastState::current().dtype().is_some()
}

/// The autocast state of a thread at one moment, for code that recomputes something later or on another thread.
///
/// # Example
///
/// ```
/// use module_tensor::{AutocastState, DType, Tensor, autocast};
///
/// let x = Tensor::from([[1.0_f32]]);
/// let state = autocast(DType::BF16, || Ok(AutocastState::current()))?;
/// assert_eq!(state.dtype(), Some(DType::BF16));
/// assert_eq!(state.run(|| x.matmul(&x))?.dtype(), DType::BF16);
/// assert_eq!(AutocastState::current().dtype(), None);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutocastState {
    dtype: Option<DType>,
}

impl AutocastState {
    /// The current state of this thread.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        STATE.with(Cell::get)
    }

    /// The dtype of the operations that compute in half precision; `None` if autocast is off.
    #[must_use]
    #[doc(alias = "get_autocast_dtype")]
    pub fn dtype(self) -> Option<DType> {
        self.dtype
    }

    /// Runs `f` in this state, as a scope of its own.
    pub fn run<R>(self, f: impl FnOnce() -> R) -> R {
        let _scope = Scope::new(self);
        f()
    }
}

/// A scope of this thread, which ends when it is dropped, also on a panic.
struct Scope {
    before: AutocastState,
    not_send: PhantomData<*const ()>,
}

impl Scope {
    fn new(state: AutocastState) -> Self {
        SCOPES.set(SCOPES.get() + 1);
        Self {
            before: STATE.replace(state),
            not_send: PhantomData,
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        STATE.set(self.before);
        let open = SCOPES.get() - 1;
        SCOPES.set(open);
        if open == 0 {
            // Dropped after the borrow: a graph may hold users' functions.
            let casts = CASTS.try_with(|casts| std::mem::take(&mut *casts.borrow_mut()));
            drop(casts);
        }
    }
}

/// Runs `f` with autocast off, inside an operation or a backward pass, which are not scopes of the user.
pub(crate) fn outside_autocast<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(AutocastState);
    impl Drop for Restore {
        fn drop(&mut self) {
            STATE.set(self.0);
        }
    }
    let _restore = Restore(STATE.replace(AutocastState { dtype: None }));
    f()
}

impl Tensor {
    /// The cast that a half-precision operation uses: that of a leaf is made only once.
    pub(crate) fn cast_once(&self, dtype: DType) -> Result<Self> {
        let leaf = self.edge.as_ref().filter(|edge| edge.is_leaf());
        let Some(leaf) = leaf.filter(|_| self.dtype() == DType::F32 && is_grad_enabled()) else {
            return self.to_dtype(dtype);
        };
        let key = leaf.node.order;
        let is_same = |cached: &CachedCast| {
            cached.cast.dtype() == dtype
                && cached.leaf.shares_memory_with(self)
                && cached.leaf.layout == self.layout
        };
        let found = CASTS.with_borrow(|casts| {
            let found = casts.get(&key).filter(|cached| is_same(cached));
            found.map(|cached| cached.cast.clone())
        });
        if let Some(cast) = found {
            return Ok(cast);
        }
        let cast = self.to_dtype(dtype)?;
        let (leaf, kept) = (self.clone(), cast.clone());
        let entry = CachedCast { leaf, cast: kept };
        let before = CASTS.with_borrow_mut(|casts| casts.insert(key, entry));
        drop(before);
        Ok(cast)
    }
}
