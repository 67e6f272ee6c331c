//! Zero gradients for inputs that a result does not depend on.

use crate::Result;
use crate::tensor::{Backward, Function, Gradients, Tensor};

impl Tensor {
    /// This tensor, with a zero gradient for `other`, as PyTorch gives to an input without influence.
    pub(super) fn with_no_influence_of(self, name: &'static str, other: &Self) -> Self {
        let out = self.detach();
        out.record([&self, other], |_| NoInfluence {
            name,
            of: other.detach(),
        })
    }
}

struct NoInfluence {
    name: &'static str,
    of: Tensor,
}

impl Function for NoInfluence {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        Ok([Some(ctx.grad().clone()), Some(self.of.zeros_like()?)].into())
    }
}
