//! Rows, each normalized by its own mean and variance.

use super::super::NormGeometry;
use super::super::float::Float;
use super::super::lanes::{BLOCK, map, number, split};
use super::super::short_rows::map_short;
use super::super::simd::Loop;
use super::moments::{Moments, OfBlocks, SIDE_BY_SIDE, scale};
use crate::zip::zip;

/// The number of elements from which a plane is not short.
const LONG: usize = 256;

/// Rows, each of which is normalized while it is near.
pub(super) struct NormalizeRows<'a, T> {
    pub(super) geometry: &'a NormGeometry,
    pub(super) weight: &'a [T],
    pub(super) bias: &'a [T],
    pub(super) x: &'a [T],
    /// The index of the first row.
    pub(super) first: usize,
    pub(super) out: &'a mut [T],
    pub(super) mean: &'a mut [f64],
    pub(super) var: &'a mut [f64],
}

impl<T: Float> Loop for NormalizeRows<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let &NormGeometry {
            groups,
            channels,
            inner,
            eps,
            centered,
            ..
        } = self.geometry;
        let len = channels * inner;
        let several = SIDE_BY_SIDE * len;
        let mut i = self.first;
        let statistics =
            (self.mean.chunks_mut(SIDE_BY_SIDE)).zip(self.var.chunks_mut(SIDE_BY_SIDE));
        let rows = self.x.chunks(several).zip(self.out.chunks_mut(several));
        for ((x, out), (mean, var)) in rows.zip(statistics) {
            let moments = moments_of(x, len, centered);
            let rows = x.chunks_exact(len).zip(out.chunks_exact_mut(len));
            let statistics = mean.iter_mut().zip(var).zip(&moments);
            for ((x, out), ((mean, var), moments)) in rows.zip(statistics) {
                (*mean, *var) = (moments.mean, moments.var());
                // Most have one group, and a division takes as long as a short row.
                let group = if groups == 1 { 0 } else { i % groups };
                let group = group * channels..(group + 1) * channels;
                let row = Row {
                    out,
                    x,
                    inner,
                    mean: split(*mean),
                    scale: number(scale(*var, eps)),
                    weight: &self.weight[group.clone()],
                    bias: &self.bias[group],
                };
                row.run();
                i += 1;
            }
        }
    }
}

/// The moments of at most [`SIDE_BY_SIDE`] rows of `len` elements.
#[inline(always)]
#[allow(clippy::inline_always)]
fn moments_of<T: Float>(x: &[T], len: usize, centered: bool) -> [Moments; SIDE_BY_SIDE] {
    if len <= BLOCK && x.len() == SIDE_BY_SIDE * len {
        let mut blocks = [&x[..len]; SIDE_BY_SIDE];
        for (block, row) in blocks.iter_mut().zip(x.chunks_exact(len)) {
            *block = row;
        }
        return OfBlocks { blocks, centered }.run();
    }
    let mut moments = [Moments::default(); SIDE_BY_SIDE];
    for (moments, row) in moments.iter_mut().zip(x.chunks_exact(len)) {
        if len <= BLOCK {
            let blocks = [row];
            [*moments] = OfBlocks { blocks, centered }.run();
        } else {
            *moments = Moments::of(row, centered);
        }
    }
    moments
}

/// A row that is normalized, then scaled and shifted plane by plane of `inner` elements.
struct Row<'a, T> {
    out: &'a mut [T],
    x: &'a [T],
    inner: usize,
    mean: (T, T),
    scale: T,
    weight: &'a [T],
    bias: &'a [T],
}

impl<T: Float> Row<'_, T> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self { out, x, inner, .. } = self;
        let (high, low) = self.mean;
        if inner == 1 {
            let len = out.len();
            let (x, weight, bias) = (&x[..len], &self.weight[..len], &self.bias[..len]);
            // By index, because rows may be short: see `zip`.
            for i in 0..len {
                let normal = x[i].minus(high).minus(low).times(self.scale);
                out[i] = normal.times(weight[i]).plus(bias[i]);
            }
            return;
        }
        let planes = out.chunks_exact_mut(inner).zip(x.chunks_exact(inner));
        for ((out, x), (&weight, &bias)) in planes.zip(zip(self.weight, self.bias)) {
            // What is left of the mean is in the shift.
            let scale = self.scale.times(weight);
            let shift = bias.minus(low.times(scale));
            let f = |x: T| x.minus(high).times(scale).plus(shift);
            match inner < LONG {
                true => map_short(out, x, f),
                false => map(out, x, f),
            }
        }
    }
}
