//! The gradient of the weight of a convolution by tiles.

use super::super::aligned_vec::Workspace;
use super::super::conv::ConvSizes;
use super::super::float::Float;
use super::super::gemm::{Matrix, MatrixMut, multiply};
use super::super::lanes::are_finite;
use super::super::simd::{Loop, run_at_best_level};
use super::super::threads::{Items, parallel_for};
use super::gradient_transforms::{TransformGradient, TransformWeightGradient};
use super::inputs::{InputLayout, transform_inputs};
use super::tiles::{Block, Padded, Tiles};
use super::transforms::{IN, LANES, OUT, PLACES};
use crate::Result;

/// The elements of the transformed input and gradient of a block.
const BLOCK: usize = 1 << 21;

/// The elements of the sums of some output channels, which should stay in the second-level cache, and the least
/// number of channels.
const CHUNK: usize = 3 << 16;
const MIN_CHUNK: usize = 32;

impl ConvSizes {
    /// The gradient of the weight by tiles; `out` is overwritten. Returns whether all of it is finite: an infinity
    /// or a NaN in a tile's input reaches all elements of the kernel.
    pub(in super::super) fn run_weight_by_tiles<T: Float>(
        &self,
        input: &[T],
        grad: &[T],
        out: &mut [T],
    ) -> Result<bool> {
        let tiles = Tiles::new(self);
        let (c, o) = (self.window.channels, self.out_channels);
        let kernels = o * c;
        let one_block = tiles.blocks(BLOCK, 1).nth(1).is_none();
        // Not a power of two, which would put all positions at the same addresses of a cache.
        let stride = kernels + LANES;
        let mut memory = [Workspace::new(), Workspace::new(), Workspace::new()];
        for (group, out) in out.chunks_exact_mut(kernels * 9).enumerate() {
            let [sums, inputs, grads] = &mut memory;
            if one_block {
                for block in tiles.blocks(BLOCK, 1) {
                    let layout = InputLayout::matrices(c, block.tiles);
                    let inputs = inputs.of(layout.len());
                    let grads = grads.of(o * PLACES * block.tiles);
                    transform_inputs(&tiles, group, &block, input, layout, inputs)?;
                    tiles.transform_grads(group, &block, grad, grads)?;
                    sum_channels(block.tiles, [c, o], (layout, inputs), grads, out)?;
                }
                continue;
            }
            let sums = sums.of(PLACES * stride);
            for (i, block) in tiles.blocks(BLOCK, 1).enumerate() {
                let layout = InputLayout::matrices(c, block.tiles);
                let inputs = inputs.of(layout.len());
                let grads = grads.of(o * PLACES * block.tiles);
                transform_inputs(&tiles, group, &block, input, layout, inputs)?;
                tiles.transform_grads(group, &block, grad, grads)?;
                let items = Items(&mut *sums, stride);
                let work = kernels * block.tiles / 32;
                parallel_for(PLACES, work, items, &|positions, mut items| {
                    for (item, position) in positions.enumerate() {
                        let grad = at_place(grads, position, block.tiles, o);
                        let input = layout.at(inputs, position);
                        let out = MatrixMut::new(&mut items.at(item)[..kernels], o);
                        multiply(T::one(), grad, input.matrix().t(), i > 0, out);
                    }
                    Ok(())
                })?;
            }
            run_at_best_level(TransformWeightGradient { sums, stride, out });
        }
        Ok(are_finite(out))
    }
}

/// The transformed values of one position, `[channels, tiles]`.
fn at_place<T: Float>(x: &[T], position: usize, tiles: usize, channels: usize) -> Matrix<'_, T> {
    Matrix::with_steps(
        &x[position * tiles..],
        [channels, tiles],
        [PLACES * tiles, 1],
    )
}

/// The sums over all tiles, some output channels at a time, so that what they are before the last transform stays in
/// a cache.
fn sum_channels<T: Float>(
    tiles: usize,
    [c, o]: [usize; 2],
    (layout, inputs): (InputLayout, &[T]),
    grads: &[T],
    out: &mut [T],
) -> Result<()> {
    let chunk =
        (CHUNK / (PLACES * c)).clamp(MIN_CHUNK, o.div_ceil(2).next_multiple_of(4).max(MIN_CHUNK));
    let work = chunk * c * PLACES * (tiles / 32 + 1);
    let items = Items(out, chunk * c * 9);
    parallel_for(o.div_ceil(chunk), work, items, &|chunks, out| {
        let mut sums = Workspace::new();
        for (i, out) in chunks.zip(out.0.chunks_mut(chunk * c * 9)) {
            let count = out.len() / (c * 9);
            let stride = count * c + LANES;
            let sums = sums.of(PLACES * stride);
            for position in 0..PLACES {
                let grads = &grads[i * chunk * PLACES * tiles..];
                let grad = at_place(grads, position, tiles, count);
                let input = layout.at(inputs, position);
                let out = MatrixMut::new(&mut sums[position * stride..][..count * c], count);
                multiply(T::one(), grad, input.matrix().t(), false, out);
            }
            run_at_best_level(TransformWeightGradient { sums, stride, out });
        }
        Ok(())
    })
}

impl Tiles<'_> {
    /// Writes `A dY Aᵀ` of a block, `[channels, positions, tiles]`.
    fn transform_grads<T: Float>(
        &self,
        group: usize,
        block: &Block,
        grad: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (o, groups, tiles) = (self.sizes.out_channels, self.sizes.groups, block.tiles);
        let [_, height, width] = self.sizes.window.output;
        let items = Items(out, PLACES * tiles);
        parallel_for(o, PLACES * tiles / 4, items, &|channels, mut items| {
            let mut lines = Workspace::new();
            let lines = lines.of(IN * OUT * tiles);
            for (i, channel) in channels.enumerate() {
                let plane = |sample: usize| {
                    let plane = (sample * groups + group) * o + channel;
                    let data = &grad[plane * height * width..][..height * width];
                    Padded::new(data, width, [0, 0])
                };
                run_at_best_level(TransformPlanes {
                    tiles: self,
                    block,
                    plane,
                    lines,
                    out: items.at(i),
                });
            }
            Ok(())
        })
    }
}

/// `A dY Aᵀ` of the tiles of a channel.
struct TransformPlanes<'a, T, F> {
    tiles: &'a Tiles<'a>,
    block: &'a Block,
    plane: F,
    /// Memory for six lines.
    lines: &'a mut [T],
    out: &'a mut [T],
}

impl<'a, T: Float, F: Fn(usize) -> Padded<'a, T>> Loop for TransformPlanes<'a, T, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let (block, tiles) = (self.block, self.block.tiles);
        let lines = &mut self.lines[..OUT * OUT * tiles];
        self.tiles.fill_lines(block, self.plane, lines);
        let (lines, out) = (self.lines, self.out);
        TransformGradient { lines, tiles, out }.run();
    }
}
