//! The transforms of Winograd's `F(4×4, 3×3)`: of kernels, of inputs and of sums of products.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::super::float::Float;
use super::super::lanes::number;
use super::super::simd::{Level, Loop};
use crate::zip::zip_mut;

/// The side of a tile of the output, of the input that it reads, and the positions of the latter.
pub(super) const OUT: usize = 4;
pub(super) const IN: usize = OUT + 2;
pub(super) const PLACES: usize = IN * IN;

/// The columns of the input that a tile reads beyond those that the next one starts with.
pub(super) const HALO: usize = IN - OUT;

/// The tiles that are transformed at a time.
pub(super) const LANES: usize = 16;

/// The first elements as lines of a length, one for each row or column of a tile's input.
#[inline(always)]
pub(super) fn split_in_six<T>(elements: &mut [T], length: usize) -> [&mut [T]; IN] {
    let mut lines = elements.chunks_exact_mut(length);
    let mut line = || lines.next().unwrap_or_default();
    [line(), line(), line(), line(), line(), line()]
}

/// Kernels of one group, `[out_channels, channels, 3, 3]`.
#[derive(Clone, Copy)]
pub(in super::super) struct Kernels<'a, T> {
    pub(in super::super) weight: &'a [T],
    pub(in super::super) channels: usize,
    /// If so, `weight` is `[channels, out_channels, 3, 3]`, and each kernel is read from back to front.
    pub(in super::super) turned: bool,
}

impl<'a, T> Kernels<'a, T> {
    /// The number of output channels.
    pub(super) fn out_channels(&self) -> usize {
        self.weight.len() / (9 * self.channels)
    }

    fn kernel(&self, out: usize, channel: usize) -> &'a [T] {
        let kernel = match self.turned {
            false => out * self.channels + channel,
            true => channel * self.out_channels() + out,
        };
        &self.weight[9 * kernel..][..9]
    }
}

/// `G g Gᵀ` of the kernels of some output channels, `[positions, out_channels, channels]`.
pub(super) struct TransformWeight<'a, T> {
    pub(super) kernels: Kernels<'a, T>,
    pub(super) out_channels: Range<usize>,
    /// Those of the next position are `stride` elements further, more by [`LANES`] than there are kernels.
    pub(super) out: &'a mut [T],
    pub(super) stride: usize,
}

impl<T: Float> Loop for TransformWeight<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (first, channels) = (self.out_channels.start, self.kernels.channels);
        let count = self.out_channels.len() * channels;
        for start in (0..count).step_by(LANES) {
            let mut lines: [&[T]; LANES] = [&[]; LANES];
            let here = LANES.min(count - start);
            let (mut out, mut channel) = (first + start / channels, start % channels);
            for line in &mut lines[..here] {
                *line = self.kernels.kernel(out, channel);
                channel += 1;
                if channel == channels {
                    (out, channel) = (out + 1, 0);
                }
            }
            let mut columns = [[T::zero(); LANES]; 9];
            let level = Level::highest();
            T::transpose(level, &lines[..here], columns.as_flattened_mut(), LANES);
            let mut kernel = [[0.0; LANES]; 9];
            for (wide, column) in zip_mut(&mut kernel, &columns) {
                for i in 0..LANES {
                    wide[i] = column[i].to_f64();
                }
            }
            if self.kernels.turned {
                kernel.reverse();
            }
            let [a, b, c, d, e, f, g, h, i] = &kernel;
            let columns = [spread(a, d, g), spread(b, e, h), spread(c, f, i)];
            let [left, middle, right] = &columns;
            for (y, left) in left.iter().enumerate() {
                let row = spread(left, &middle[y], &right[y]);
                for (x, lanes) in row.iter().enumerate() {
                    let at = (y * IN + x) * self.stride + start;
                    // Beyond the last kernel there is memory that nothing reads.
                    let out = self.out[at..].first_chunk_mut::<LANES>();
                    let Some(out) = out else { return };
                    for i in 0..LANES {
                        out[i] = T::narrowed(lanes[i]);
                    }
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
        let (even, odd) = ((a[i] + c[i]) * (-1.0 / 6.0), b[i] * (1.0 / 6.0));
        let (far, side) = (
            a[i] * (1.0 / 24.0) + c[i] * (1.0 / 6.0),
            b[i] * (1.0 / 12.0),
        );
        out[0][i] = a[i] * 0.25;
        out[1][i] = even - odd;
        out[2][i] = even + odd;
        out[3][i] = far + side;
        out[4][i] = far - side;
        out[5][i] = c[i];
    }
    out
}

/// `Bᵀ d` of the first elements of six lines, from a column of `out` on.
#[inline(always)]
pub(super) fn combine_lines<T: Float>(
    lines: &[&[T]; IN],
    out: &mut [&mut [T]; IN],
    column: usize,
    count: usize,
) {
    match count {
        0..4 => combine_parts::<T, 1>(lines, out, column, count),
        4..8 => combine_parts::<T, 4>(lines, out, column, count),
        8..16 => combine_parts::<T, 8>(lines, out, column, count),
        _ => combine_parts::<T, LANES>(lines, out, column, count),
    }
}

/// [`combine_lines`] of at least `N` elements, of which the last may be computed twice.
#[inline(always)]
fn combine_parts<T: Float, const N: usize>(
    lines: &[&[T]; IN],
    out: &mut [&mut [T]; IN],
    column: usize,
    count: usize,
) {
    let last = count.saturating_sub(N);
    let mut start = 0;
    while start < count {
        let at = start.min(last);
        let mut part = [[T::zero(); N]; IN];
        for (part, line) in zip_mut(&mut part, lines) {
            part.copy_from_slice(&line[at..][..N]);
        }
        let [a, b, c, d, e, f] = part;
        for i in 0..N {
            let column = combine([a[i], b[i], c[i], d[i], e[i], f[i]]);
            for (part, value) in zip_mut(&mut part, &column) {
                part[i] = *value;
            }
        }
        for (out, part) in zip_mut(out, &part) {
            out[column + at..][..N].copy_from_slice(part);
        }
        start += N;
    }
}

/// `d B` of tiles, from their columns and those beyond.
#[inline(always)]
pub(super) fn combine_columns<T: Float>(
    tiles: &[[T; OUT]; LANES],
    halo: &[[T; HALO]; LANES],
) -> [[T; LANES]; IN] {
    let mut out = [[T::zero(); LANES]; IN];
    for i in 0..LANES {
        let ([p, q, r, s], [t, u]) = (tiles[i], halo[i]);
        let row = combine([p, q, r, s, t, u]);
        for (out, value) in zip_mut(&mut out, &row) {
            out[i] = *value;
        }
    }
    out
}

/// `Bᵀ` times a column.
#[inline(always)]
pub(super) fn combine<T: Float>([a, b, c, d, e, f]: [T; IN]) -> [T; IN] {
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
pub(super) struct TransformOutput<'a, T> {
    /// The products of one channel; those of the next position are `stride` elements further.
    pub(super) products: &'a [T],
    pub(super) stride: usize,
    pub(super) tiles: usize,
    pub(super) out: &'a mut [T],
}

impl<'a, T: Float> TransformOutput<'a, T> {
    /// Writes the lines. Returns them, and whether all their elements are finite.
    #[inline(always)]
    pub(super) fn run(self) -> (&'a [T], bool) {
        let mut zeros = [T::zero(); LANES];
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
                for i in 0..LANES {
                    let (a, b) = (sums[0][i].plus(sums[1][i]), sums[2][i].plus(sums[3][i]));
                    zeros[i] = zeros[i].plus(a.plus(b).times(T::zero()));
                }
            }
        }
        (self.out, zeros.iter().all(|&zero| zero == T::zero()))
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
