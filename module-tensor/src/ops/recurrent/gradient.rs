//! The gradients of recurrent layers by the kernel.

use smallvec::SmallVec;

use super::Recurrent;
use crate::Result;
use crate::backend::{RecurrentNeeds, Saved};
use crate::tensor::{Backward, Tensor};

pub(super) struct Fused {
    pub(super) pass: Recurrent,
    /// The states as they were computed, for the formula; none if they were rounded.
    pub(super) outputs: SmallVec<[Tensor; 2]>,
    pub(super) saved: Saved,
}

/// The gradients of the inputs.
pub(super) struct GateGrads {
    pub(super) gates: Tensor,
    pub(super) hidden: Tensor,
    pub(super) cell: Option<Tensor>,
    pub(super) weight: Option<Tensor>,
    pub(super) bias: Option<Tensor>,
    pub(super) projection: Option<Tensor>,
}

impl Fused {
    pub(super) fn needed(&self, ctx: &Backward) -> RecurrentNeeds {
        let Recurrent {
            cell,
            bias,
            projection,
            ..
        } = &self.pass;
        let bias_at = 3 + usize::from(cell.is_some());
        let projection_at = bias_at + usize::from(bias.is_some());
        RecurrentNeeds {
            weight: ctx.needs(2),
            bias: bias.is_some() && ctx.needs(bias_at),
            projection: projection.is_some() && ctx.needs(projection_at),
        }
    }

    pub(super) fn kernel(
        &self,
        ctx: &Backward,
        needed: RecurrentNeeds,
    ) -> Result<Option<GateGrads>> {
        let Self { pass, saved, .. } = self;
        let Some(kernels) = ctx.grad().device().backend().recurrent() else {
            return Ok(None);
        };
        let grads = [0, 1].map(|i| ctx.grad_of(i).map(Tensor::operand));
        let slopes = kernels.backward(grads, pass.inputs(), saved, needed, &pass.geometry)?;
        let like = |of: &Option<Tensor>, slope| {
            let pair = of.as_ref().zip(slope);
            pair.map(|(of, slope)| of.like_shape(slope))
        };
        Ok(Some(GateGrads {
            gates: pass.gates.like_shape(slopes.gates),
            hidden: pass.hidden.like_shape(slopes.hidden),
            cell: like(&pass.cell, slopes.cell),
            weight: slopes.weight.map(|slope| pass.weight.like_shape(slope)),
            bias: like(&pass.bias, slopes.bias),
            projection: like(&pass.projection, slopes.projection),
        }))
    }
}
