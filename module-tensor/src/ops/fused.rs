//! Fused kernels, and their fallbacks on devices that lack them.

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Gradients, Tensor, is_grad_enabled, one};

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

/// The gradient of an elementwise function from its derivative: by a kernel, or by a formula that can be differentiated
/// again.
pub(super) fn by_grad_kernel(
    ctx: &Backward,
    x: &Tensor,
    kernel: UnaryOp,
    formula: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Gradients> {
    let (x, grad) = (x.widened()?, ctx.grad().widened()?);
    let out = gradient(
        || x.unary_times(kernel, &grad).map(Some),
        || grad.mul(&formula(&x)?),
    )?;
    one(out.to_dtype(ctx.grad().dtype())?)
}
