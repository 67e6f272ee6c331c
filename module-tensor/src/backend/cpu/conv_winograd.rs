//! Convolutions by kernels of three by three, with a quarter of the multiplications (Winograd's `F(4×4, 3×3)`).
//!
//! `Y = Aᵀ ((G g Gᵀ) ⊙ (Bᵀ d B)) A` makes four by four outputs `Y` of six by six inputs `d` and a kernel `g`; summed
//! over channels, `⊙` is a product of matrices for each of the 36 places (Lavin and Gray, "Fast algorithms for
//! convolutional neural networks", 2015). Sums of inputs are rounded before they are multiplied, so that results
//! differ from those of plain sums by more than rounding does: as shares of the greatest sum of the magnitudes of an
//! output's products, by 1e-7 in the root mean square and up to 3e-6 in `f32`. `f64` does without.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::conv::ConvSizes;
use super::conv_planes::copy_line;
use super::float::Float;
use super::gemm::{Matrix, MatrixMut, multiply};
use super::lanes::sum_of;
use super::memory::{Workspace, scratch};
use super::simd::run_at_best_level;
use super::threads::{Items, parallel_for};
use super::winograd_transforms::{
    IN, LANES, OUT, PLACES, TransformInput, TransformOutput, TransformWeight,
};
use crate::{DType, Result};

/// The elements of the transformed input and output of a block, which should stay in a cache.
const BLOCK: usize = 1 << 21;

/// The channels, and outputs in all, below which the plain product is faster.
const MIN_CHANNELS: usize = 16;
const MIN_OUTPUTS: usize = 256;

static EXACT: AtomicBool = AtomicBool::new(false);

/// Sets whether every convolution is computed by plain sums of products.
///
/// Otherwise, the default, those of many channels by kernels of three by three with a stride and a dilation of 1
/// are computed with a quarter of the multiplications in `F32` and in half precision, which is faster and less
/// accurate: results may be off by 3e-6 of the greatest sum of the magnitudes of an output's products (1e-7 in the root
/// mean square), where plain sums are by 2e-7.
///
/// # Example
///
/// ```
/// module_tensor::set_exact_convolutions(true);
/// assert!(module_tensor::exact_convolutions());
/// # module_tensor::set_exact_convolutions(false);
/// ```
pub fn set_exact_convolutions(exact: bool) {
    EXACT.store(exact, Ordering::Relaxed);
}

/// Whether every convolution is computed by plain sums of products.
pub fn exact_convolutions() -> bool {
    EXACT.load(Ordering::Relaxed)
}

/// What is transformed and multiplied at a time: some samples, or some rows of tiles of one sample.
struct Block {
    samples: Range<usize>,
    rows: Range<usize>,
}

/// The tiles of the output of one group.
struct Tiles<'a> {
    sizes: &'a ConvSizes,
    /// Rows of tiles of a sample.
    rows: usize,
    /// Tiles of a row, and one more, in which the input of the last ends.
    pitch: usize,
}

impl ConvSizes {
    /// Whether the convolution is computed by tiles.
    pub(super) fn is_by_tiles<T: Float>(&self) -> bool {
        let window = &self.window;
        let plain = window.kernel == [1, 3, 3]
            && window.stride == [1; 3]
            && window.dilation == [1; 3]
            && window.padding[0] == 0
            && window.padding[1].max(window.padding[2]) <= 2;
        let outputs = self.batch.saturating_mul(window.places());
        plain
            && T::DTYPE == DType::F32
            && self.out_channels.min(window.channels) >= MIN_CHANNELS
            && window.output[0] == 1
            && outputs >= MIN_OUTPUTS
            && !exact_convolutions()
    }

    /// The convolution by tiles; `out` is overwritten. Returns whether all of it is finite: an infinity or a NaN
    /// in a tile's input reaches outputs that do not see it.
    pub(super) fn run_by_tiles<T: Float>(
        &self,
        input: &[T],
        weight: &[T],
        out: &mut [T],
    ) -> Result<bool> {
        let (rows, pitch) = (
            self.window.output[1].div_ceil(OUT),
            self.window.output[2].div_ceil(OUT) + 1,
        );
        let tiles = Tiles {
            sizes: self,
            rows,
            pitch,
        };
        let (o, c) = (self.out_channels, self.window.channels);
        let (mut weights, mut buffers) = (Workspace::new(), [Workspace::new(), Workspace::new()]);
        for group in 0..self.groups {
            let transformed = weights.of(PLACES * o * c);
            run_at_best_level(TransformWeight {
                weight: &weight[group * o * c * 9..][..o * c * 9],
                out: transformed,
            });
            for block in tiles.blocks() {
                let weight = &*transformed;
                if !tiles.run_block(group, &block, input, weight, (&mut buffers, out))? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

impl Tiles<'_> {
    fn blocks(&self) -> impl Iterator<Item = Block> {
        let channels = self.sizes.out_channels + self.sizes.window.channels;
        let fits = (BLOCK / (PLACES * channels * self.pitch)).max(1);
        // Whole samples, or rows of one.
        let samples = (fits / self.rows).max(1);
        let rows = fits.min(self.rows);
        let (batch, all) = (self.sizes.batch, self.rows);
        (0..batch).step_by(samples).flat_map(move |sample| {
            (0..all).step_by(rows).map(move |row| Block {
                samples: sample..(sample + samples).min(batch),
                rows: row..(row + rows).min(all),
            })
        })
    }

    fn run_block<T: Float>(
        &self,
        group: usize,
        block: &Block,
        input: &[T],
        weight: &[T],
        (buffers, out): (&mut [Workspace<T>; 2], &mut [T]),
    ) -> Result<bool> {
        let window = &self.sizes.window;
        let (o, c, groups) = (self.sizes.out_channels, window.channels, self.sizes.groups);
        let lines = block.samples.len() * block.rows.len();
        let tiles = (lines * self.pitch).next_multiple_of(LANES);
        let [inputs, products] = buffers;
        let transformed = inputs.of(c * PLACES * tiles);
        let items = Items(&mut *transformed, PLACES * tiles);
        parallel_for(c, PLACES * tiles / 4, items, &|channels, mut items| {
            let mut strip = scratch(IN * (tiles + 1) * OUT)?;
            for (i, channel) in channels.enumerate() {
                let plane = |sample: usize| (sample * groups + group) * c + channel;
                self.fill_strip(block, input, plane, tiles, &mut strip);
                run_at_best_level(TransformInput {
                    strip: &mut strip,
                    tiles,
                    out: items.at(i),
                });
            }
            Ok(())
        })?;
        let products = products.of(PLACES * o * tiles);
        let items = Items(&mut *products, o * tiles);
        parallel_for(PLACES, o * c * tiles / 32, items, &|places, mut items| {
            for (i, place) in places.enumerate() {
                let weight = Matrix::new(&weight[place * o * c..][..o * c], o);
                let steps = [PLACES * tiles, 1];
                let input = Matrix::with_steps(&transformed[place * tiles..], [c, tiles], steps);
                multiply(
                    T::one(),
                    weight,
                    input,
                    false,
                    MatrixMut::new(items.at(i), o),
                );
            }
            Ok(())
        })?;
        let strips = inputs.of(o * OUT * OUT * tiles);
        let items = Items(&mut *strips, OUT * OUT * tiles);
        parallel_for(o, PLACES * tiles / 4, items, &|channels, mut items| {
            for (i, channel) in channels.enumerate() {
                run_at_best_level(TransformOutput {
                    products: &products[channel * tiles..],
                    stride: o * tiles,
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
                    let strip = &strips[channel * OUT * OUT * tiles..][..OUT * OUT * tiles];
                    let out = items.at(i);
                    let written = self.write_strip(block, sample, strip, tiles, out);
                    if sum_of(&out[written], |v| v.times(T::zero())) != T::zero() {
                        finite.store(false, Ordering::Relaxed);
                    }
                }
            }
            Ok(())
        })?;
        Ok(finite.into_inner())
    }

    /// Writes the six lines of the input that each row of tiles sees, one row after the other, with zeros around
    /// the input.
    fn fill_strip<T: Float>(
        &self,
        block: &Block,
        input: &[T],
        plane: impl Fn(usize) -> usize,
        tiles: usize,
        strip: &mut [T],
    ) {
        let window = &self.sizes.window;
        let ([_, height, width], [_, top, left]) = (window.input, window.padding);
        let length = self.pitch * OUT;
        let inside = width.min(length - left);
        for (line, to) in strip.chunks_exact_mut((tiles + 1) * OUT).enumerate() {
            let mut to = to.chunks_exact_mut(length);
            for sample in block.samples.clone() {
                let input = &input[plane(sample) * height * width..][..height * width];
                for row in block.rows.clone() {
                    let Some(to) = to.next() else { return };
                    let y = (row * OUT + line).checked_sub(top);
                    match y.filter(|&y| y < height) {
                        Some(y) => {
                            // What the previous channel left is not zero.
                            to[..left].fill(T::zero());
                            let input = &input[y * width..][..inside];
                            copy_line(input, &mut to[left..left + inside]);
                            to[left + inside..].fill(T::zero());
                        }
                        None => to.fill(T::zero()),
                    }
                }
            }
            to.into_remainder().fill(T::zero());
        }
    }

    /// Copies the lines of a sample's tiles to its plane of the output, and returns where they lie there.
    fn write_strip<T: Float>(
        &self,
        block: &Block,
        sample: usize,
        strip: &[T],
        tiles: usize,
        out: &mut [T],
    ) -> Range<usize> {
        let [_, height, width] = self.sizes.window.output;
        for (i, row) in block.rows.clone().enumerate() {
            let start = (sample * block.rows.len() + i) * self.pitch * OUT;
            for line in 0..OUT.min(height - row * OUT) {
                let from = &strip[line * tiles * OUT + start..][..width];
                copy_line(from, &mut out[(row * OUT + line) * width..][..width]);
            }
        }
        block.rows.start * OUT * width..(block.rows.end * OUT).min(height) * width
    }
}
