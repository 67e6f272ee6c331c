//! Code that the divided layers share.

use module_nn::prelude::*;

use crate::Comm;

/// The value of rank 0's parameter.
pub(super) fn from_rank_0(parameter: &Parameter, comm: &dyn Comm) -> Result<Tensor> {
    comm.broadcast(&parameter.detach(), 0)
}

/// A parameter with what `own` makes of the value on rank 0, if there is one.
pub(super) fn own_maybe(
    bias: &Bias,
    comm: &dyn Comm,
    own: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Bias> {
    match bias.get() {
        Some(bias) => Ok(Parameter::new(own(&from_rank_0(bias, comm)?)?)?.into()),
        None => Ok(Bias::Absent),
    }
}

/// Refuses to tie parts of different shapes.
pub(super) fn same_part(op: &'static str, own: &Parameter, other: &Parameter) -> Result<()> {
    let (expected, shape) = (own.shape(), other.shape());
    match expected == shape {
        true => Ok(()),
        false => Err(shape.error(op, format!("a part of shape {expected}"))),
    }
}
