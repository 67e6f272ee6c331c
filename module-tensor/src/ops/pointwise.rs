//! What functions of one element share: a kernel, and their derivative as a formula.

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

/// The derivative as a function of the input or of the output; half precision comes as `F32`.
type Derivative = fn(&Tensor) -> Result<Tensor>;

impl Tensor {
    /// The operation of each element, with its derivative by the input.
    pub(super) fn pointwise(&self, op: UnaryOp, derivative: Derivative) -> Result<Self> {
        Ok(self.unary(op)?.record([self], |_| Pointwise {
            name: op.name(),
            saved: Saved::Input(self.clone()),
            derivative,
        }))
    }

    /// The operation of each element, with its derivative by the output.
    pub(super) fn pointwise_by_output(&self, op: UnaryOp, derivative: Derivative) -> Result<Self> {
        Ok(self.unary(op)?.record([self], |y| Pointwise {
            name: op.name(),
            saved: Saved::Output(y.clone()),
            derivative,
        }))
    }
}

enum Saved {
    Input(Tensor),
    Output(Tensor),
}

struct Pointwise {
    name: &'static str,
    saved: Saved,
    derivative: Derivative,
}

impl Function for Pointwise {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let at = match &self.saved {
            Saved::Input(x) => x.widened()?,
            Saved::Output(y) => ctx.output(y).widened()?,
        };
        let out = ctx.grad().widened()?.mul(&(self.derivative)(&at)?)?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}
