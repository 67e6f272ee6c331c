//! Direct convolutions: products whose windows are read in place.
//!
//! The columns of a tile are output channels, and its rows are neighboring positions in a line of the output. A kernel
//! element reads neighboring inputs for them, or every second one, so that only the weight is packed, and only tiles are
//! transposed, when they are written. For the gradient of the weight, the rows are neighbors in the kernel, and the sums
//! run over output positions.

mod finished_lines;
mod forward;
mod in_place;
mod map;
mod phase;
mod shapes;
mod taps;
#[cfg(test)]
pub(super) mod tests;
mod weight_gradient;

use super::ConvOp;
use super::conv::ConvSizes;
use super::conv_planes::Planes;
use super::float::Float;
use crate::Result;
use forward::Forward;
use map::Map;
use phase::GradientPhases;
use shapes::{LONGEST, Shape, direct_waste, has_tiles, waste_of_kernel, waste_of_map};
use taps::{Reach, share_of_input};
use weight_gradient::WeightGradient;

/// The number of positions below which gradients of a weight are not summed directly.
const FEW_POSITIONS: usize = 128;

impl ConvSizes {
    /// The multiply-adds of a product of matrices that take as long as one of a direct convolution; nothing if there is
    /// none. It does not depend on the level, so that what is chosen by it gives the same bits at each.
    pub(super) fn direct_cost<T: Float>(&self, op: ConvOp) -> Option<f64> {
        let waste = self.direct_waste::<T>(op)?;
        let window = &self.window;
        Some(waste * share_of_input(&Reach::all(window), window.output))
    }

    /// The same without the products that are skipped.
    fn direct_waste<T: Float>(&self, op: ConvOp) -> Option<f64> {
        let (window, channels) = (&self.window, self.out_channels);
        let waste = match op {
            ConvOp::Weight if window.dilation[2] != 1 => return None,
            ConvOp::Weight => waste_of_kernel::<T>(channels, window.kernel),
            _ if window.output[2] > LONGEST => return None,
            ConvOp::Forward | ConvOp::Input => {
                waste_of_map::<T>(channels, window.output[1], window.output[2])
            }
        };
        direct_waste(waste)
    }

    /// The approximate time of an output, in multiply-adds, and whether the input is read where it lies if its padding can be
    /// skipped; nothing if there is no direct convolution.
    pub(super) fn direct_time<T: Float>(&self) -> Option<(f64, bool)> {
        let (window, o) = (&self.window, self.out_channels);
        let cost = self.direct_cost::<T>(ConvOp::Forward)?;
        let shape = Shape::new::<T>(o, window.output[1], window.output[2]);
        let product = if shape.is_narrow() { 1.2 } else { 1.02 };
        // Each sum is transposed too.
        let time = product * window.rows() as f64 + 33.0;
        let sums = (o * window.positions()) as f64 * cost;
        Some((sums * time, shape.with_step(window.stride[2]).is_some()))
    }

    /// Whether a gradient of the weight is over so few positions that products with copied windows take less time: sums
    /// of a tile take less than writing it.
    pub(super) fn sums_few_places(&self, op: ConvOp) -> bool {
        op == ConvOp::Weight && self.batch * self.window.positions() < FEW_POSITIONS
    }

    /// The output or the gradient of the weight, which overwrites `out`; returns whether it is the better way, if
    /// [planes fit](Planes::fit). The bits are those of products with copied windows.
    pub(super) fn run_directly<T: Float>(
        &self,
        op: ConvOp,
        [input, other]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool> {
        if const { !T::HAS_CONV_LOOPS } || self.direct_waste::<T>(op).is_none() || !has_tiles::<T>()
        {
            return Ok(false);
        }
        let window = &self.window;
        if op == ConvOp::Weight {
            let Some(map) = Map::whole(window) else {
                return Ok(false);
            };
            WeightGradient::new(self, &map, other).run(input, other, out)?;
            return Ok(true);
        }
        let [_, height, width] = window.output;
        let shape = Shape::new::<T>(self.out_channels, height, width);
        let spread = shape.with_step(window.stride[2]);
        let spread = spread.and_then(|shape| Some((Map::whole(window)?, shape)));
        let split = || Some((Map::by_remainders(window)?, shape));
        let Some((map, shape)) = spread.or_else(split) else {
            return Ok(false);
        };
        Forward::new(self, &map, shape)?.run(input, other, out)?;
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
        if const { !T::HAS_CONV_LOOPS } {
            return Ok(false);
        }
        let Some(phases) = GradientPhases::new(self) else {
            return Ok(false);
        };
        let (mut computed, mut needed) = (0.0, 0.0);
        for [depth, height, width] in phases.sizes() {
            if width > LONGEST {
                return Ok(false);
            }
            let positions = (depth * height * width) as f64;
            computed += waste_of_map::<T>(self.window.channels, height, width) * positions;
            needed += positions;
        }
        let is_better = direct_waste(computed / needed).is_some();
        let Some(planes) = Planes::new(&phases.window).filter(|_| is_better) else {
            return Ok(false);
        };
        Forward::of_gradient::<T>(self, &phases, &planes)?.run(grad, weight, out)?;
        Ok(true)
    }
}
