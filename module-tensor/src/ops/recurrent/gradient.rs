//! Recurrent layers and their gradients by the kernel.

use smallvec::SmallVec;

use super::pass::{Recurrent, States};
use crate::Result;
use crate::backend::{RecurrentNeeds, RecurrentStates, Saved};
use crate::tensor::{Backward, Tensor};

pub(super) struct Fused {
    pub(super) pass: Recurrent,
    /// The unrounded states, for the formula; none if they were rounded.
    pub(super) outputs: SmallVec<[Tensor; 2]>,
    pub(super) saved: Saved,
}

/// The gradients of the inputs.
pub(super) struct RecurrentGrads {
    pub(super) gates: Tensor,
    pub(super) hidden: Tensor,
    pub(super) cell: Option<Tensor>,
    pub(super) weight: Option<Tensor>,
    pub(super) bias: Option<Tensor>,
    pub(super) projection: Option<Tensor>,
}

impl Recurrent {
    /// The states of all steps by the kernel.
    pub(super) fn fused(&self) -> Result<Option<States>> {
        let Self {
            gates, geometry, ..
        } = self;
        let Some(kernels) = gates.device().backend().recurrent() else {
            return Ok(None);
        };
        let RecurrentStates {
            hidden,
            cell,
            saved,
        } = kernels.forward(self.inputs(), geometry)?;
        let rows = geometry.rows();
        let h = Tensor::fresh(hidden, [rows, geometry.width].into());
        let optional = [&self.cell, &self.bias, &self.projection];
        let inputs = [gates, &self.hidden, &self.weight].into_iter();
        let inputs = inputs.chain(optional.into_iter().flatten());
        let function = |outputs: &[Tensor]| Fused {
            pass: self.clone(),
            outputs: match gates.dtype() == geometry.compute {
                true => outputs.into(),
                false => SmallVec::new(),
            },
            saved,
        };
        Ok(Some(match cell {
            Some(cell) => {
                let c = Tensor::fresh(cell, [rows, geometry.hidden].into());
                let [hidden, c] = Tensor::record_outputs([h, c], inputs, function);
                let cell = Some(c);
                States { hidden, cell }
            }
            None => {
                let [hidden] = Tensor::record_outputs([h], inputs, function);
                States { hidden, cell: None }
            }
        }))
    }
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
    ) -> Result<Option<RecurrentGrads>> {
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
        Ok(Some(RecurrentGrads {
            gates: pass.gates.like_shape(slopes.gates),
            hidden: pass.hidden.like_shape(slopes.hidden),
            cell: like(&pass.cell, slopes.cell),
            weight: slopes.weight.map(|slope| pass.weight.like_shape(slope)),
            bias: like(&pass.bias, slopes.bias),
            projection: like(&pass.projection, slopes.projection),
        }))
    }
}
