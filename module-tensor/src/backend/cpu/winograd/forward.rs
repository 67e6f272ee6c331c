//! The output of a convolution by tiles.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::aligned_vec::Workspace;
use super::super::conv::ConvSizes;
use super::super::float::Float;
use super::super::gemm::{Matrix, MatrixMut, multiply_factors};
use super::super::simd::{Loop, run_at_best_level};
use super::super::threads::{Items, num_threads, parallel_for};
use super::inputs::{InputLayout, transform_inputs};
use super::tiles::{Block, Tiles};
use super::transforms::{Kernels, LANES, OUT, PLACES, TransformOutput, TransformWeight};
use crate::Result;

/// The elements of the transformed input and output of a block, which should stay in a cache.
const BLOCK: usize = 1 << 21;

/// The elements of the transformed kernels and outputs of some channels, which should stay in the second-level
/// cache, and the least number of channels: the input is packed anew for each.
const CHUNK: usize = 3 << 17;
const MIN_CHUNK: usize = 32;

/// The work of one thread: some channels of the output in a block of tiles.
struct Piece<'a, T> {
    group: usize,
    block: &'a Block,
    channels: Range<usize>,
    /// The block's parts of the planes of the output, sample after sample.
    planes: Vec<&'a mut [T]>,
}

/// A convolution by tiles.
struct Convolution<'a, T> {
    tiles: &'a Tiles<'a>,
    input: &'a [T],
    weight: &'a [T],
    turned: bool,
    /// What has been found not to be finite.
    finite: AtomicBool,
}

impl ConvSizes {
    /// The convolution by tiles, by a weight that may have to be [turned](Self::turn); `out` is overwritten. Returns
    /// whether all of it is finite: an infinity or a NaN in a tile's input reaches outputs that do not read it.
    pub(in super::super) fn run_by_tiles<T: Float>(
        &self,
        input: &[T],
        weight: &[T],
        turned: bool,
        out: &mut [T],
    ) -> Result<bool> {
        let tiles = Tiles::new(self);
        let convolution = Convolution {
            tiles: &tiles,
            input,
            weight,
            turned,
            finite: AtomicBool::new(true),
        };
        // Threads share the larger factor, and each transforms its part of the other one.
        if tiles.count() >= self.out_channels {
            convolution.run_by_blocks(out)?;
        } else {
            convolution.run_by_channels(out)?;
        }
        Ok(convolution.finite.into_inner())
    }

    /// The output in blocks, and each block in parts of so many channels: block after block, and group after group.
    fn pieces<'a, T>(
        &self,
        blocks: &'a [Block],
        part: usize,
        out: &'a mut [T],
    ) -> Vec<Piece<'a, T>> {
        let (o, groups) = (self.out_channels, self.groups);
        let parts = o.div_ceil(part);
        let channels = (0..o).step_by(part).map(|first| first..o.min(first + part));
        let mut pieces: Vec<Piece<'a, T>> = (0..groups)
            .flat_map(|group| blocks.iter().map(move |block| (group, block)))
            .flat_map(|(group, block)| {
                channels.clone().map(move |channels| Piece {
                    group,
                    block,
                    channels,
                    planes: Vec::new(),
                })
            })
            .collect();
        let width = self.window.output[2];
        for (plane, mut rest) in out.chunks_exact_mut(self.window.positions()).enumerate() {
            let (sample, group, channel) = (plane / (groups * o), plane / o % groups, plane % o);
            for (i, block) in blocks.iter().enumerate() {
                if block.samples.contains(&sample) {
                    let len = (block.rows.len() * OUT * width).min(rest.len());
                    let (here, others) = rest.split_at_mut(len);
                    let piece = (group * blocks.len() + i) * parts + channel / part;
                    pieces[piece].planes.push(here);
                    rest = others;
                }
            }
        }
        pieces
    }
}

impl<T: Float> Convolution<'_, T> {
    /// Each thread with blocks of its own.
    fn run_by_blocks(&self, out: &mut [T]) -> Result<()> {
        let sizes = self.tiles.sizes;
        let blocks: Vec<Block> = self.tiles.blocks(BLOCK, num_threads()).collect();
        let (o, c) = (sizes.out_channels, sizes.window.channels);
        let mut pieces = sizes.pieces(&blocks, o, out);
        let tiles = blocks.iter().map(|block| block.tiles).max();
        let work = o * c * PLACES * (tiles.unwrap_or(0) / 32 + 1);
        parallel_for(pieces.len(), work, Items(&mut pieces, 1), &|_, pieces| {
            let mut memory = Workspace::new();
            for piece in pieces.0 {
                let layout = InputLayout::panels::<T>(c, piece.block.tiles);
                let inputs = memory.of(layout.len());
                let (group, block) = (piece.group, piece.block);
                transform_inputs(self.tiles, group, block, self.input, layout, inputs)?;
                self.run_piece(piece, layout, inputs);
            }
            Ok(())
        })
    }

    /// Each thread with channels of its own.
    fn run_by_channels(&self, out: &mut [T]) -> Result<()> {
        let sizes = self.tiles.sizes;
        let blocks: Vec<Block> = self.tiles.blocks(BLOCK, 1).collect();
        let (o, c) = (sizes.out_channels, sizes.window.channels);
        let part = o.div_ceil(2 * num_threads()).max(MIN_CHUNK);
        let mut pieces = sizes.pieces(&blocks, part, out);
        let mut memory = Workspace::new();
        for pieces in pieces.chunks_mut(o.div_ceil(part)) {
            let Some(&Piece { group, block, .. }) = pieces.first() else {
                continue;
            };
            let layout = InputLayout::panels::<T>(c, block.tiles);
            let inputs = memory.of(layout.len());
            transform_inputs(self.tiles, group, block, self.input, layout, inputs)?;
            let (inputs, work) = (&*inputs, part * c * PLACES * (block.tiles / 32 + 1));
            parallel_for(pieces.len(), work, Items(pieces, 1), &|_, pieces| {
                let pieces = pieces.0.iter_mut();
                pieces.for_each(|piece| self.run_piece(piece, layout, inputs));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The channels of a piece, from the transformed inputs of its block.
    fn run_piece(&self, piece: &mut Piece<'_, T>, layout: InputLayout, inputs: &[T]) {
        if !self.finite.load(Ordering::Relaxed) {
            return;
        }
        let (c, o) = (
            self.tiles.sizes.window.channels,
            self.tiles.sizes.out_channels,
        );
        let (tiles, all) = (piece.block.tiles, piece.channels.len());
        let kernels = Kernels {
            weight: &self.weight[piece.group * o * c * 9..][..o * c * 9],
            channels: c,
            turned: self.turned,
        };
        let mut memory = [Workspace::new(), Workspace::new(), Workspace::new()];
        let [weights, products, lines] = &mut memory;
        let lines = lines.of(OUT * OUT * tiles);
        let chunk = (CHUNK / (PLACES * (c + tiles))).max(MIN_CHUNK);
        for first in (0..all).step_by(chunk) {
            let count = chunk.min(all - first);
            let start = piece.channels.start + first;
            // Not powers of two, which would put all positions at the same addresses of a cache.
            let (weight_stride, stride) = (count * c + LANES, count * tiles + LANES);
            let weights = weights.of(PLACES * weight_stride);
            run_at_best_level(TransformWeight {
                kernels,
                out_channels: start..start + count,
                out: weights,
                stride: weight_stride,
            });
            let products = products.of(PLACES * stride);
            for position in 0..PLACES {
                let weight = Matrix::new(&weights[position * weight_stride..][..count * c], count);
                let input = layout.at(inputs, position);
                let out =
                    MatrixMut::new(&mut products[position * stride..][..count * tiles], count);
                multiply_factors(&weight, &input, false, out);
            }
            for channel in 0..count {
                let is_finite = run_at_best_level(WriteOutput {
                    tiles: self.tiles,
                    products: TransformOutput {
                        products: &products[channel * tiles..],
                        stride,
                        tiles,
                        out: lines,
                    },
                    block: piece.block,
                    planes: piece.planes[first + channel..].iter_mut().step_by(all),
                });
                if !is_finite {
                    self.finite.store(false, Ordering::Relaxed);
                }
            }
        }
    }
}

/// Writes the planes of one channel of a block, one for each sample, from its products. Returns whether all are finite.
struct WriteOutput<'a, T, P> {
    tiles: &'a Tiles<'a>,
    products: TransformOutput<'a, T>,
    block: &'a Block,
    planes: P,
}

impl<'a, 'b: 'a, T: Float, P: Iterator<Item = &'a mut &'b mut [T]>> Loop for WriteOutput<'_, T, P> {
    type Output = bool;

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) -> bool {
        let (lines, is_finite) = self.products.run();
        for (sample, plane) in self.planes.enumerate() {
            self.tiles.write_lines(self.block, sample, lines, plane);
        }
        is_finite
    }
}
