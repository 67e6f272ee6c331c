//! Direct convolutions: products whose windows are read where the planes of the input have them.
//!
//! The columns of a tile are output channels, its rows are places that follow each other in a line of the output: an
//! element of the kernel sees neighbors in a plane, so that nothing is copied but the weight, once, and the tile, which
//! is transposed as it is written. For the gradient of the weight the rows are neighbors in the kernel, and the sums
//! are over places.

mod finished_lines;
mod forward;
mod phase;
#[cfg(test)]
mod tests;
mod weight_gradient;

use super::ConvOp;
use super::conv::ConvSizes;
use super::conv_planes::Planes;
use super::float::Float;
use super::simd::{Level, WindowProduct};
use crate::{Error, Result};
use forward::Forward;
use phase::GradientPhases;
use weight_gradient::WeightGradient;

/// The lines and the width of tiles: as many sums as there are registers for, at least as many as hide what a
/// multiply-add takes.
const SHAPES: [[usize; 2]; 6] = [[1, 14], [1, 8], [1, 7], [1, 5], [2, 4], [3, 3]];

/// The rows of the highest tile, in whole squares that are transposed.
const MOST_ROWS: usize = 16;

/// The greatest number of sums that are computed for one that is needed.
const MOST_WASTE: f64 = 1.35;

/// The longest line that is gathered from tiles. For lines of 4,000 places, copies of windows took 23 ms where tiles took 27.
const LONGEST: usize = 512;

/// The shape of tiles for so many lines of a width, and the sums that are computed for one that is needed.
fn shape_for(height: usize, width: usize) -> ([usize; 2], f64) {
    let computed = |[lines, columns]: [usize; 2]| {
        height.next_multiple_of(lines) as f64 * width.next_multiple_of(columns) as f64
    };
    let mut best = SHAPES[0];
    for shape in SHAPES {
        if computed(shape) < computed(best) {
            best = shape;
        }
    }
    (best, computed(best) / (height as f64 * width as f64))
}

/// Computes a tile of one of the [`SHAPES`].
fn write_sums<T: Float>(
    [lines, columns]: [usize; 2],
    product: &WindowProduct<'_, T>,
    sums: &mut [T],
) {
    let level = Level::highest();
    match (lines, columns) {
        (1, 14) => T::window_tile::<1, 14>(level, product, sums),
        (1, 8) => T::window_tile::<1, 8>(level, product, sums),
        (1, 7) => T::window_tile::<1, 7>(level, product, sums),
        (1, 5) => T::window_tile::<1, 5>(level, product, sums),
        (2, 4) => T::window_tile::<2, 4>(level, product, sums),
        _ => T::window_tile::<3, 3>(level, product, sums),
    }
}

/// The sums that are computed for one that is needed, with whole panels of channels; nothing if other ways take less
/// time.
fn waste_of<T: Float>(channels: usize, waste: f64) -> Option<f64> {
    let waste = waste * channels.next_multiple_of(T::COLUMNS) as f64 / channels as f64;
    (waste <= MOST_WASTE && T::has_window_tiles(Level::highest())).then_some(waste)
}

impl ConvSizes {
    /// The multiply-adds of a product of matrices that take as long as one of a direct convolution; nothing if
    /// there is none.
    pub(super) fn direct_cost<T: Float>(&self, op: ConvOp) -> Option<f64> {
        let window = &self.window;
        let [_, height, width] = match op {
            ConvOp::Weight if window.stride != [1; 3] || window.dilation[2] != 1 => return None,
            ConvOp::Weight => window.kernel,
            _ if window.output[2] > LONGEST => return None,
            ConvOp::Forward | ConvOp::Input => window.output,
        };
        waste_of::<T>(self.out_channels, shape_for(height, width).1)
    }

    /// The output or the gradient of the weight, which overwrites `out`; returns whether it is the better way.
    pub(super) fn run_directly<T: Float>(
        &self,
        op: ConvOp,
        planes: &Planes,
        [input, other]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool> {
        if self.direct_cost::<T>(op).is_none() {
            return Ok(false);
        }
        match op {
            ConvOp::Weight => WeightGradient::new(self, planes).run(input, other, out)?,
            _ => Forward::new(self, planes)?.run(input, other, out)?,
        }
        Ok(true)
    }
}

/// The gradient of an input by that of the output, where the stride is not 1.
pub(super) struct InputGradient<'a> {
    sizes: &'a ConvSizes,
    phases: GradientPhases,
    planes: Planes,
}

impl<'a> InputGradient<'a> {
    /// Nothing if other ways take less time.
    pub(super) fn new<T: Float>(sizes: &'a ConvSizes) -> Option<Self> {
        let phases = GradientPhases::new(sizes)?;
        let (mut computed, mut needed) = (0.0, 0.0);
        for [depth, height, width] in phases.sizes() {
            if width > LONGEST {
                return None;
            }
            let places = (depth * height * width) as f64;
            computed += shape_for(height, width).1 * places;
            needed += places;
        }
        waste_of::<T>(sizes.window.channels, computed / needed)?;
        let planes = Planes::new(&phases.window)?;
        Some(Self {
            sizes,
            phases,
            planes,
        })
    }

    /// Overwrites `out`.
    pub(super) fn run<T: Float>(&self, grad: &[T], weight: &[T], out: &mut [T]) -> Result<()> {
        Forward::of_gradient(self.sizes, &self.phases, &self.planes)?.run(grad, weight, out)
    }
}

/// Offsets in planes, which tiles read as they are.
fn narrowed(offsets: impl IntoIterator<Item = usize>) -> Result<Vec<u32>> {
    let offsets = offsets.into_iter().map(u32::try_from);
    offsets
        .collect::<std::result::Result<_, _>>()
        .map_err(Error::custom)
}
