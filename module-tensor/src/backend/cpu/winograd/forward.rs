//! The output of a convolution by tiles.

use std::sync::atomic::{AtomicBool, Ordering};

use super::super::conv::ConvSizes;
use super::super::float::Float;
use super::super::gemm::{Matrix, MatrixMut, multiply};
use super::super::lanes::sum_of;
use super::super::memory::Workspace;
use super::super::simd::run_at_best_level;
use super::super::threads::{Items, parallel_for};
use super::inputs::transform_inputs;
use super::tiles::{Block, Tiles};
use super::transforms::{LANES, OUT, PLACES, TransformOutput, TransformWeight};
use crate::Result;

/// The elements of the transformed input and output of a block, which should stay in a cache.
const BLOCK: usize = 1 << 21;

impl ConvSizes {
    /// The convolution by tiles; `out` is overwritten. Returns whether all of it is finite: an infinity or a NaN
    /// in a tile's input reaches outputs that do not see it.
    pub(in super::super) fn run_by_tiles<T: Float>(
        &self,
        input: &[T],
        weight: &[T],
        out: &mut [T],
    ) -> Result<bool> {
        let tiles = Tiles::new(self);
        let kernels = self.out_channels * self.window.channels;
        // Not a power of two, which would put all places at the same addresses of a cache.
        let stride = kernels + LANES;
        let (mut weights, mut buffers) = (Workspace::new(), [Workspace::new(), Workspace::new()]);
        for group in 0..self.groups {
            let transformed = weights.of(PLACES * stride);
            run_at_best_level(TransformWeight {
                weight: &weight[group * kernels * 9..][..kernels * 9],
                out: transformed,
                stride,
            });
            for block in tiles.blocks(BLOCK) {
                let weight = (&*transformed, stride);
                if !tiles.run_block(group, &block, input, weight, (&mut buffers, out))? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

impl Tiles<'_> {
    fn run_block<T: Float>(
        &self,
        group: usize,
        block: &Block,
        input: &[T],
        (weight, weight_stride): (&[T], usize),
        (buffers, out): (&mut [Workspace<T>; 2], &mut [T]),
    ) -> Result<bool> {
        let (window, groups) = (&self.sizes.window, self.sizes.groups);
        let (o, c, tiles) = (self.sizes.out_channels, window.channels, block.tiles);
        let [inputs, products] = buffers;
        let transformed = inputs.of(c * PLACES * tiles);
        transform_inputs(self, group, block, input, transformed)?;
        // As above.
        let stride = o * tiles + LANES;
        let products = products.of(PLACES * stride);
        let items = Items(&mut *products, stride);
        parallel_for(PLACES, o * c * tiles / 32, items, &|places, mut items| {
            for (i, place) in places.enumerate() {
                let weight = Matrix::new(&weight[place * weight_stride..][..o * c], o);
                let steps = [PLACES * tiles, 1];
                let input = Matrix::with_steps(&transformed[place * tiles..], [c, tiles], steps);
                let out = MatrixMut::new(&mut items.at(i)[..o * tiles], o);
                multiply(T::one(), weight, input, false, out);
            }
            Ok(())
        })?;
        let lines = inputs.of(o * OUT * OUT * tiles);
        let items = Items(&mut *lines, OUT * OUT * tiles);
        parallel_for(o, PLACES * tiles / 4, items, &|channels, mut items| {
            for (i, channel) in channels.enumerate() {
                run_at_best_level(TransformOutput {
                    products: &products[channel * tiles..],
                    stride,
                    tiles,
                    out: items.at(i),
                });
            }
            Ok(())
        })?;
        let len = window.places();
        let first = (block.samples.start * groups + group) * o;
        let planes = &mut out[first * len..];
        // Planes of other groups lie between those of this one.
        let count = ((block.samples.len() - 1) * groups + 1) * o;
        let items = Items(&mut planes[..count * len], len);
        let finite = AtomicBool::new(true);
        parallel_for(count, len, items, &|range, mut items| {
            for (i, plane) in range.enumerate() {
                let (sample, channel) = (plane / (groups * o), plane % (groups * o));
                if channel < o {
                    let lines = &lines[channel * OUT * OUT * tiles..][..OUT * OUT * tiles];
                    let out = items.at(i);
                    let written = self.write_lines(block, sample, lines, out);
                    if sum_of(&out[written], |v| v.times(T::zero())) != T::zero() {
                        finite.store(false, Ordering::Relaxed);
                    }
                }
            }
            Ok(())
        })?;
        Ok(finite.into_inner())
    }
}
