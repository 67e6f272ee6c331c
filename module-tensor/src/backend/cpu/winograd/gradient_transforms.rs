//! The transposed transforms of Winograd's `F(4×4, 3×3)`: of gradients of outputs, and of sums to gradients of
//! kernels.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::super::float::Float;
use super::super::lanes::number;
use super::super::simd::Loop;
use super::transforms::{IN, LANES, OUT, split_in_six};

/// `A dY Aᵀ` of the tiles of lines, `[positions, tiles]`.
pub(super) struct TransformGradient<'a, T> {
    /// Four lines, and memory for two more; all are overwritten.
    pub(super) lines: &'a mut [T],
    pub(super) tiles: usize,
    pub(super) out: &'a mut [T],
}

impl<T: Float> Loop for TransformGradient<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let length = self.tiles * OUT;
        spread_lines(split_in_six(self.lines, length));
        let positions = self.out.chunks_exact_mut(IN * self.tiles);
        for (line, out) in self.lines.chunks_exact(length).zip(positions) {
            spread_columns(line, split_in_six(out, self.tiles));
        }
    }
}

/// `A` times four lines, in place.
#[inline(always)]
fn spread_lines<T: Float>([a, b, c, d, e, f]: [&mut [T]; IN]) {
    let count = a.len();
    let (b, c, d) = (&mut b[..count], &mut c[..count], &mut d[..count]);
    let (e, f) = (&mut e[..count], &mut f[..count]);
    for i in 0..count {
        [a[i], b[i], c[i], d[i], e[i], f[i]] = spread([a[i], b[i], c[i], d[i]]);
    }
}

/// A line of tiles times `Aᵀ`.
#[inline(always)]
fn spread_columns<T: Float>(line: &[T], out: [&mut [T]; IN]) {
    let chunks = line.as_chunks::<OUT>().0;
    let [a, b, c, d, e, f] = out;
    let count = chunks.len();
    let (a, b, c) = (&mut a[..count], &mut b[..count], &mut c[..count]);
    let (d, e, f) = (&mut d[..count], &mut e[..count], &mut f[..count]);
    for i in 0..count {
        [a[i], b[i], c[i], d[i], e[i], f[i]] = spread(chunks[i]);
    }
}

/// `A` times a column.
#[inline(always)]
fn spread<T: Float>([a, b, c, d]: [T; OUT]) -> [T; IN] {
    let (two, four) = (T::one().plus(T::one()), number::<T>(4.0));
    let (even, odd) = (a.plus(c), b.plus(d));
    let (far, far_odd) = (a.plus(c.times(four)), b.plus(d.times(four)).times(two));
    [
        a,
        even.plus(odd),
        even.minus(odd),
        far.plus(far_odd),
        far.minus(far_odd),
        d,
    ]
}

/// `Gᵀ u G` of each kernel's sums.
pub(super) struct TransformWeightGradient<'a, T> {
    /// `[positions, kernels]`; those of the next position are `stride` elements further.
    pub(super) sums: &'a [T],
    pub(super) stride: usize,
    pub(super) out: &'a mut [T],
}

impl<T: Float> Loop for TransformWeightGradient<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let kernels = self.out.as_chunks_mut::<9>().0;
        for (group, kernels) in kernels.chunks_mut(LANES).enumerate() {
            let mut columns = [[[T::zero(); LANES]; 3]; IN];
            for (x, sums) in columns.iter_mut().enumerate() {
                let mut column = [[T::zero(); LANES]; IN];
                for (y, column) in column.iter_mut().enumerate() {
                    let at = (y * IN + x) * self.stride + group * LANES;
                    column.copy_from_slice(&self.sums[at..][..LANES]);
                }
                *sums = gather(&column);
            }
            let [a, b, c, d, e, f] = &columns;
            let line = |y: usize| gather(&[a[y], b[y], c[y], d[y], e[y], f[y]]);
            let lines = [line(0), line(1), line(2)];
            for (i, kernel) in kernels.iter_mut().enumerate() {
                for (at, value) in kernel.iter_mut().enumerate() {
                    *value = lines[at / 3][at % 3][i];
                }
            }
        }
    }
}

/// `Gᵀ` times columns side by side.
#[inline(always)]
fn gather<T: Float>([a, b, c, d, e, f]: &[[T; LANES]; IN]) -> [[T; LANES]; 3] {
    let mut out = [[T::zero(); LANES]; 3];
    let (quarter, sixth) = (number::<T>(0.25), number::<T>(1.0 / 6.0));
    let (twelfth, part) = (number::<T>(1.0 / 12.0), number::<T>(1.0 / 24.0));
    for i in 0..LANES {
        let (near, far) = (b[i].plus(c[i]).times(sixth), d[i].plus(e[i]));
        let (near_odd, far_odd) = (c[i].minus(b[i]), d[i].minus(e[i]));
        out[0][i] = a[i].times(quarter).minus(near).plus(far.times(part));
        out[1][i] = near_odd.times(sixth).plus(far_odd.times(twelfth));
        out[2][i] = far.times(sixth).minus(near).plus(f[i]);
    }
    out
}
