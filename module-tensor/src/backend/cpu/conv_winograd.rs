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
use super::lanes::{number, sum_of};
use super::memory::{Workspace, scratch};
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use crate::zip::zip_mut;
use crate::{DType, Result};

/// The side of a tile of the output, of the input that it sees, and the places of the latter.
const OUT: usize = 4;
const IN: usize = OUT + 2;
const PLACES: usize = IN * IN;

/// The tiles that are transformed at a time.
const LANES: usize = 16;

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

/// `G g Gᵀ` of each kernel, as `[places, kernels]`.
struct TransformWeight<'a, T> {
    weight: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Loop for TransformWeight<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let kernels = self.weight.as_chunks::<9>().0;
        let count = kernels.len();
        for (group, kernels) in kernels.chunks(LANES).enumerate() {
            let mut kernel = [[0.0; LANES]; 9];
            for (i, values) in kernels.iter().enumerate() {
                for (lanes, value) in zip_mut(&mut kernel, values) {
                    lanes[i] = value.to_f64();
                }
            }
            let [a, b, c, d, e, f, g, h, i] = &kernel;
            let columns = [spread(a, d, g), spread(b, e, h), spread(c, f, i)];
            let [left, middle, right] = &columns;
            for (y, left) in left.iter().enumerate() {
                let row = spread(left, &middle[y], &right[y]);
                for (x, lanes) in row.iter().enumerate() {
                    let out = &mut self.out[(y * IN + x) * count + group * LANES..];
                    let out = &mut out[..kernels.len()];
                    zip_mut(out, lanes).for_each(|(out, &value)| *out = number(value));
                }
            }
        }
    }
}

/// `G` times columns side by side.
#[inline(always)]
fn spread(a: &[f64; LANES], b: &[f64; LANES], c: &[f64; LANES]) -> [[f64; LANES]; IN] {
    let mut out = [[0.0; LANES]; IN];
    for i in 0..LANES {
        let (even, odd) = (-(a[i] + c[i]) / 6.0, b[i] / 6.0);
        let (far, side) = (a[i] / 24.0 + c[i] / 6.0, b[i] / 12.0);
        out[0][i] = a[i] / 4.0;
        out[1][i] = even - odd;
        out[2][i] = even + odd;
        out[3][i] = far + side;
        out[4][i] = far - side;
        out[5][i] = c[i];
    }
    out
}

/// `Bᵀ d B` of the tiles of a strip, `[places, tiles]`.
struct TransformInput<'a, T> {
    /// Six lines, which are overwritten.
    strip: &'a mut [T],
    tiles: usize,
    out: &'a mut [T],
}

impl<T: Float> Loop for TransformInput<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let length = (self.tiles + 1) * OUT;
        let mut lines = self.strip.chunks_exact_mut(length);
        let mut line = || lines.next().unwrap_or_default();
        let six = [line(), line(), line(), line(), line(), line()];
        combine_lines(six);
        let places = self.out.chunks_exact_mut(IN * self.tiles);
        for (line, out) in self.strip.chunks_exact(length).zip(places) {
            let mut rest = out.chunks_exact_mut(self.tiles);
            let mut place = || rest.next().unwrap_or_default();
            let six = [place(), place(), place(), place(), place(), place()];
            combine_columns(line, six);
        }
    }
}

/// `Bᵀ d` of six lines, in place.
#[inline(always)]
fn combine_lines<T: Float>([a, b, c, d, e, f]: [&mut [T]; IN]) {
    let count = a.len();
    let (b, c, d) = (&mut b[..count], &mut c[..count], &mut d[..count]);
    let (e, f) = (&mut e[..count], &mut f[..count]);
    for i in 0..count {
        [a[i], b[i], c[i], d[i], e[i], f[i]] = combine([a[i], b[i], c[i], d[i], e[i], f[i]]);
    }
}

/// `d B` of a line of tiles.
#[inline(always)]
fn combine_columns<T: Float>(line: &[T], out: [&mut [T]; IN]) {
    let chunks = line.as_chunks::<OUT>().0;
    let [a, b, c, d, e, f] = out;
    let count = chunks.len() - 1;
    let (a, b, c) = (&mut a[..count], &mut b[..count], &mut c[..count]);
    let (d, e, f) = (&mut d[..count], &mut e[..count], &mut f[..count]);
    for i in 0..count {
        let ([p, q, r, s], [t, u, ..]) = (chunks[i], chunks[i + 1]);
        [a[i], b[i], c[i], d[i], e[i], f[i]] = combine([p, q, r, s, t, u]);
    }
}

/// `Bᵀ` times a column.
#[inline(always)]
fn combine<T: Float>([a, b, c, d, e, f]: [T; IN]) -> [T; IN] {
    let (two, four) = (T::one().plus(T::one()), number::<T>(4.0));
    let five = number::<T>(5.0);
    let (inner, outer) = (e.minus(c.times(four)), d.minus(b.times(four)));
    let (near, far) = (e.minus(c), d.minus(b).times(two));
    [
        a.times(four).minus(c.times(five)).plus(e),
        inner.plus(outer),
        inner.minus(outer),
        near.plus(far),
        near.minus(far),
        b.times(four).minus(d.times(five)).plus(f),
    ]
}

/// `Aᵀ m A` of tiles, as four lines of the output.
struct TransformOutput<'a, T> {
    /// The products of one channel; those of the next place are `stride` elements further.
    products: &'a [T],
    stride: usize,
    tiles: usize,
    out: &'a mut [T],
}

impl<T: Float> Loop for TransformOutput<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for group in 0..self.tiles / LANES {
            let mut lines = [[[T::zero(); LANES]; IN]; OUT];
            for x in 0..IN {
                let mut column = [[T::zero(); LANES]; IN];
                for (y, column) in column.iter_mut().enumerate() {
                    let at = (y * IN + x) * self.stride + group * LANES;
                    column.copy_from_slice(&self.products[at..][..LANES]);
                }
                let sums = sum_places(&column);
                for (line, sums) in zip_mut(&mut lines, &sums) {
                    line[x] = *sums;
                }
            }
            for (y, line) in lines.iter().enumerate() {
                let sums = sum_places(line);
                let out = &mut self.out[(y * self.tiles + group * LANES) * OUT..][..LANES * OUT];
                for (i, out) in out.as_chunks_mut::<OUT>().0.iter_mut().enumerate() {
                    *out = [sums[0][i], sums[1][i], sums[2][i], sums[3][i]];
                }
            }
        }
    }
}

/// `Aᵀ` times columns side by side.
#[inline(always)]
fn sum_places<T: Float>([a, b, c, d, e, f]: &[[T; LANES]; IN]) -> [[T; LANES]; OUT] {
    let mut out = [[T::zero(); LANES]; OUT];
    let (two, four, eight) = (number::<T>(2.0), number::<T>(4.0), number::<T>(8.0));
    for i in 0..LANES {
        let (near, far) = (b[i].plus(c[i]), d[i].plus(e[i]));
        let (near_odd, far_odd) = (b[i].minus(c[i]), d[i].minus(e[i]));
        out[0][i] = a[i].plus(near).plus(far);
        out[1][i] = near_odd.plus(far_odd.times(two));
        out[2][i] = near.plus(far.times(four));
        out[3][i] = near_odd.plus(far_odd.times(eight)).plus(f[i]);
    }
    out
}
