//! Sampling by the kernel of a device, or composed of other operations.

use super::super::fused::gradient;
use super::axis::Axis;
use super::weights::{changes_along, products, weights_along};
use crate::Result;
use crate::backend::{GridSampleGeometry, GridSampleMode, SampleOp};
use crate::tensor::{Backward, Function, Gradients, Tensor};

/// The sampling of an image `[batch, channels, pixels]` at a grid `[batch, locations, dimensions]`.
#[derive(Clone)]
pub(super) struct GridSample {
    pub(super) x: Tensor,
    pub(super) grid: Tensor,
    pub(super) geometry: GridSampleGeometry,
}

impl GridSample {
    /// By the kernel, if the device has one.
    pub(super) fn kernel(&self) -> Result<Option<Tensor>> {
        let Some(kernels) = self.x.device().backend().grid_sample() else {
            return Ok(None);
        };
        let geometry = &self.geometry;
        let shape = [geometry.batch, geometry.channels, geometry.locations];
        let out = kernels.forward(self.x.operand(), self.grid.operand(), geometry)?;
        let out = Tensor::fresh(out, shape.into());
        Ok(Some(out.record([&self.x, &self.grid], |_| self.clone())))
    }

    /// Of other operations.
    pub(super) fn compose(&self) -> Result<Tensor> {
        let located = Located::new(self)?;
        let mut weights = products(&located.along)?;
        if self.geometry.mode == GridSampleMode::Nearest {
            weights = weights.with_no_influence_of("grid_sample", &self.grid);
        }
        let (x, neighbors) = (self.x.widened()?, self.geometry.neighbors());
        let out = x.sample(SampleOp::Forward, &weights, &located.at()?, &neighbors)?;
        out.to_dtype(self.x.dtype())
    }

    fn grad_kernel(&self, ctx: &Backward) -> Result<Option<[Option<Tensor>; 2]>> {
        let Some(kernels) = self.x.device().backend().grid_sample() else {
            return Ok(None);
        };
        let (grad, x, grid) = (ctx.grad().operand(), self.x.operand(), self.grid.operand());
        let needs = [ctx.needs(0), ctx.needs(1)];
        let [x, grid] = kernels.backward(grad, x, grid, needs, &self.geometry)?;
        let x = x.map(|grad| Tensor::fresh(grad, self.x.shape().clone()));
        let grid = grid.map(|grad| Tensor::fresh(grad, self.grid.shape().clone()));
        Ok(Some([x, grid]))
    }

    /// The gradients by operations that have gradients themselves.
    fn grad_formula(&self, ctx: &Backward) -> Result<[Option<Tensor>; 2]> {
        let (x, grad, neighbors) = (
            self.x.widened()?,
            ctx.grad().widened()?,
            self.geometry.neighbors(),
        );
        let located = Located::new(self)?;
        let at = located.at()?;
        let of_x = || {
            let weights = products(&located.along)?;
            let out = grad.sample(SampleOp::Input, &weights, &at, &neighbors)?;
            out.to_dtype(self.x.dtype())
        };
        let of_grid = || {
            let grads = x.sample(SampleOp::Weight, &grad, &at, &neighbors)?;
            let mut columns = Vec::new();
            for (d, axis) in self.axes().enumerate() {
                let mut factors = located.along.clone();
                factors[d] = changes_along(self.geometry.mode, &located.inside[d])?;
                let sums = grads.mul(&products(&factors)?)?.sum(1)?;
                let padding = self.geometry.location_padding();
                columns.push(sums.mul(&axis.slope(&located.before[d], padding)?)?);
            }
            // The grid names the last dimension first.
            let columns: Vec<_> = columns.iter().rev().collect();
            Tensor::stack(&columns, 2)?.to_dtype(self.grid.dtype())
        };
        Ok([
            ctx.needs(0).then(of_x).transpose()?,
            ctx.needs(1).then(of_grid).transpose()?,
        ])
    }

    fn axes(&self) -> impl Iterator<Item = Axis> {
        let align_corners = self.geometry.align_corners;
        let sizes = self.geometry.sizes.iter();
        sizes.map(move |&size| Axis {
            size,
            align_corners,
        })
    }
}

impl Function for GridSample {
    fn name(&self) -> &'static str {
        "grid_sample"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grads = gradient(|| self.grad_kernel(ctx), || self.grad_formula(ctx))?;
        Ok(grads.into())
    }
}

/// The locations of a grid, dimension by dimension.
struct Located {
    /// In pixels.
    before: Vec<Tensor>,
    /// After those outside of the image were moved into it, or to the nearest pixel.
    inside: Vec<Tensor>,
    /// The weights of their neighbors.
    along: Vec<Vec<Tensor>>,
}

impl Located {
    fn new(sampling: &GridSample) -> Result<Self> {
        let (grid, geometry) = (sampling.grid.widened()?, &sampling.geometry);
        let mut located = Self {
            before: Vec::new(),
            inside: Vec::new(),
            along: Vec::new(),
        };
        for (d, axis) in sampling.axes().enumerate() {
            // The grid names the last dimension first.
            let coordinate = grid.select(2, -1 - d as isize)?;
            let before = axis.location_of(&coordinate)?;
            let mut inside = axis.apply_padding(&before, geometry.location_padding())?;
            if geometry.mode == GridSampleMode::Nearest {
                inside = inside.detach().round()?;
            }
            located.along.push(weights_along(geometry.mode, &inside)?);
            located.before.push(before);
            located.inside.push(inside);
        }
        Ok(located)
    }

    /// `[batch, dimensions, locations]`.
    fn at(&self) -> Result<Tensor> {
        let inside: Vec<_> = self.inside.iter().map(Tensor::detach).collect();
        Tensor::stack(&inside.iter().collect::<Vec<_>>(), 1)
    }
}
