//! Sampling of images at locations between pixels, and its gradients.

use crate::Result;
use crate::backend::{SampleGeometry, SampleOp};
use crate::layout::Shape;
use crate::tensor::{Backward, Function, Gradients, Tensor, two};

impl Tensor {
    /// Computes `op` of this tensor and `other`.
    pub(super) fn sample(
        &self,
        op: SampleOp,
        other: &Self,
        locations: &Self,
        geometry: &SampleGeometry,
    ) -> Result<Self> {
        let &SampleGeometry {
            batch,
            channels,
            locations: count,
            ..
        } = geometry;
        let shape = match op {
            SampleOp::Forward => [batch, channels, count],
            SampleOp::Input => [batch, channels, geometry.inner()],
            SampleOp::Weight => [batch, geometry.all_taps(), count],
        };
        let shape = Shape::from(shape);
        shape.checked_numel("grid_sample", size_of::<f64>())?;
        let backend = self.device().backend();
        let operands = (self.plain("grid_sample")?, other.plain("grid_sample")?);
        let storage = backend.sample(op, operands.0, operands.1, locations.operand(), geometry)?;
        Ok(
            Self::fresh(storage, shape).record([self, other], |_| Sample {
                op,
                a: self.clone(),
                b: other.clone(),
                locations: locations.clone(),
                geometry: geometry.clone(),
            }),
        )
    }
}

struct Sample {
    op: SampleOp,
    a: Tensor,
    b: Tensor,
    locations: Tensor,
    geometry: SampleGeometry,
}

impl Function for Sample {
    fn name(&self) -> &'static str {
        "grid_sample"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        use SampleOp::{Forward, Input, Weight};
        let (a, b, grad) = (&self.a, &self.b, ctx.grad());
        let of = |op, x: &Tensor, y: &Tensor| x.sample(op, y, &self.locations, &self.geometry);
        match self.op {
            Forward => two(ctx, || of(Input, grad, b), || of(Weight, a, grad)),
            Input => two(ctx, || of(Forward, grad, b), || of(Weight, grad, a)),
            Weight => two(ctx, || of(Input, b, grad), || of(Forward, a, grad)),
        }
    }
}
