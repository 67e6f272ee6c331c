//! Elementwise functions of one input: a kernel, and the derivative as a formula.

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

/// The derivative as a function of the input or of the output; half precision is passed as `F32`.
type Derivative = fn(&Tensor) -> Result<Tensor>;

impl Tensor {
    /// An elementwise operation, with its derivative as a function of the input.
    pub(super) fn pointwise(&self, op: UnaryOp, derivative: Derivative) -> Result<Self> {
        Ok(self.unary(op)?.record([self], |_| Pointwise {
            name: op.name(),
            saved: SavedTensor::Input(self.clone()),
            derivative,
        }))
    }

    /// An elementwise operation, with its derivative as a function of the output.
    pub(super) fn pointwise_by_output(&self, op: UnaryOp, derivative: Derivative) -> Result<Self> {
        Ok(self.unary(op)?.record([self], |y| Pointwise {
            name: op.name(),
            saved: SavedTensor::Output(y.clone()),
            derivative,
        }))
    }
}

enum SavedTensor {
    Input(Tensor),
    Output(Tensor),
}

struct Pointwise {
    name: &'static str,
    saved: SavedTensor,
    derivative: Derivative,
}

impl Function for Pointwise {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let at = match &self.saved {
            SavedTensor::Input(x) => x.widened()?,
            SavedTensor::Output(y) => ctx.output(y).widened()?,
        };
        let out = ctx.grad().widened()?.mul(&(self.derivative)(&at)?)?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}
