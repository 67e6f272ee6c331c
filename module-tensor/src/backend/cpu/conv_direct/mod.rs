//! Direct convolutions: products whose windows are read in place.
//!
//! The columns of a tile are output channels, and its rows are neighboring positions in a line of the output. A kernel
//! element reads neighboring inputs for them, so that only the weight is packed, and only tiles are transposed, when
//! they are written. For the gradient of the weight, the rows are neighbors in the kernel, and the sums run over output
//! positions.

mod finished_lines;
mod forward;
mod in_place;
mod phase;
mod shapes;
mod taps;
#[cfg(test)]
mod tests;
mod weight_gradient;

use super::ConvOp;
use super::conv::ConvSizes;
use super::conv_planes::Planes;
use super::float::Float;
use crate::Result;
use forward::Forward;
use phase::GradientPhases;
use shapes::{LONGEST, Shape, direct_waste, has_tiles};
use taps::{Reach, share_of_input};
use weight_gradient::WeightGradient;

impl ConvSizes {
    /// The multiply-adds of a product of matrices that take as long as one of a direct convolution; nothing if there is
    /// none. It does not depend on the level, so that what is chosen by it gives the same bits at each.
    pub(super) fn direct_cost<T: Float>(&self, op: ConvOp) -> Option<f64> {
        let window = &self.window;
        let [_, height, width] = match op {
            ConvOp::Weight if window.stride != [1; 3] || window.dilation[2] != 1 => return None,
            ConvOp::Weight => window.kernel,
            _ if window.output[2] > LONGEST => return None,
            ConvOp::Forward | ConvOp::Input => window.output,
        };
        let waste = direct_waste(Shape::new::<T>(self.out_channels, height, width).1)?;
        Some(waste * share_of_input(&Reach::all(window), window.output))
    }

    /// The output or the gradient of the weight, which overwrites `out`; returns whether it is the better way. The bits are
    /// those of products with copied windows.
    pub(super) fn run_directly<T: Float>(
        &self,
        op: ConvOp,
        planes: &Planes,
        [input, other]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool> {
        if self.direct_cost::<T>(op).is_none() || !has_tiles::<T>() {
            return Ok(false);
        }
        match op {
            ConvOp::Weight => WeightGradient::new(self, planes, other).run(input, other, out)?,
            _ => Forward::new::<T>(self, planes)?.run(input, other, out)?,
        }
        Ok(true)
    }

    /// The gradient of an input with a stride that is not 1, which overwrites `out`; returns whether it is the better
    /// way, which does not depend on the level, because other ways sum in other orders.
    pub(super) fn run_input_gradient_directly<T: Float>(
        &self,
        grad: &[T],
        weight: &[T],
        out: &mut [T],
    ) -> Result<bool> {
        let Some(phases) = GradientPhases::new(self) else {
            return Ok(false);
        };
        let (mut computed, mut needed) = (0.0, 0.0);
        for [depth, height, width] in phases.sizes() {
            if width > LONGEST {
                return Ok(false);
            }
            let places = (depth * height * width) as f64;
            computed += Shape::new::<T>(self.window.channels, height, width).1 * places;
            needed += places;
        }
        let is_better = direct_waste(computed / needed).is_some();
        let Some(planes) = Planes::new(&phases.window).filter(|_| is_better) else {
            return Ok(false);
        };
        Forward::of_gradient::<T>(self, &phases, &planes)?.run(grad, weight, out)?;
        Ok(true)
    }
}
