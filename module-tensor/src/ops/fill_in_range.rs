//! A kernel that piecewise linear functions share: it fills the elements in a range.

use crate::backend::FillRange;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result, Scalar};

impl Tensor {
    /// `value` where `x`, which is not differentiated, is in the region, otherwise this tensor.
    pub(super) fn fill_in_range(
        &self,
        name: &'static str,
        x: &Self,
        region: FillRange,
        value: impl Into<Scalar>,
    ) -> Result<Self> {
        let (x_operand, other) = (x.plain(name)?, self.plain(name)?);
        // Refused here and not in the kernel, which does not know the operation's name.
        if self.dtype() == DType::Bool {
            return Err(self.dtype().error(name, "a tensor of numbers"));
        }
        let backend = self.device().backend();
        let storage = backend.fill_in_range(region, value.into(), x_operand, other)?;
        let out = self.like_shape(storage);
        Ok(out.record([self], |_| FillInRange::new(name, x, region)))
    }
}

/// The gradient of an operation that is flat in a region and has the derivative 1 elsewhere.
pub(super) struct FillInRange {
    name: &'static str,
    x: Tensor,
    region: FillRange,
}

impl FillInRange {
    pub(super) fn new(name: &'static str, x: &Tensor, region: FillRange) -> Self {
        let x = x.detach();
        Self { name, x, region }
    }
}

impl Function for FillInRange {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx
            .grad()
            .fill_in_range(self.name, &self.x, self.region, 0)?)
    }
}
