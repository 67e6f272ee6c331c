//! Fused kernels, and their fallbacks on devices that lack them.

use crate::Result;
use crate::tensor::is_grad_enabled;

/// The result of a kernel or, if the device has none, of a composition of other operations.
pub(super) fn or_composed<T>(
    kernel: Result<Option<T>>,
    composed: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match kernel? {
        Some(done) => Ok(done),
        None => composed(),
    }
}

/// A gradient by its kernel, or by the formula if its own gradient is requested or the device has no kernel.
pub(super) fn gradient<T>(
    kernel: impl FnOnce() -> Result<Option<T>>,
    formula: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if is_grad_enabled() {
        return formula();
    }
    or_composed(kernel(), formula)
}
