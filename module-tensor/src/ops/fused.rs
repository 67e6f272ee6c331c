//! Kernels of several steps, and what stands in for them.

use crate::tensor::is_grad_enabled;
use crate::{ErrorKind, Result};

/// The result of a kernel, or, where the device lacks it, what is composed of other operations.
pub(super) fn or_composed<T>(kernel: Result<T>, composed: impl FnOnce() -> Result<T>) -> Result<T> {
    match kernel {
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable { .. }) => composed(),
        result => result,
    }
}

/// A gradient by its kernel, or by the formula where its own gradient is asked for or the device
/// lacks the kernel.
pub(super) fn gradient<T>(
    kernel: impl FnOnce() -> Result<T>,
    formula: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if is_grad_enabled() {
        return formula();
    }
    or_composed(kernel(), formula)
}
