//! The cells: the next state of one sequence, and the gradients back to its sums.

use super::super::float::Float;
use crate::zip::{zip_mut, zip_mut2, zip_mut3};

/// Three or four parts of one length.
#[inline(always)]
fn parts<T, const N: usize>(x: &[T], length: usize) -> [&[T]; N] {
    std::array::from_fn(|i| &x[i * length..][..length])
}

#[inline(always)]
fn parts_mut<T, const N: usize>(mut x: &mut [T], length: usize) -> [&mut [T]; N] {
    std::array::from_fn(|_| {
        let (first, rest) = std::mem::take(&mut x).split_at_mut(length);
        x = rest;
        first
    })
}

#[inline(always)]
fn each<T: Float>(x: &[T], out: &mut [T], f: impl Fn(T) -> T) {
    for (out, &x) in zip_mut(out, x) {
        *out = f(x);
    }
}

#[inline(always)]
pub(super) fn tanh<T: Float>(sums: &[T], h: &mut [T]) {
    each(sums, h, T::tanh);
}

#[inline(always)]
pub(super) fn relu<T: Float>(sums: &[T], h: &mut [T]) {
    each(sums, h, |sum| sum.greater(T::zero()));
}

/// Keeps the gates.
#[inline(always)]
pub(super) fn lstm<T: Float>(sums: &[T], c: &mut [T], h: &mut [T], kept: &mut [T]) {
    let length = c.len();
    let sums: [&[T]; 4] = parts(sums, length);
    let [i, f, g, o] = parts_mut(kept, length);
    for (k, gate) in [(0, &mut *i), (1, &mut *f), (3, &mut *o)] {
        each(sums[k], gate, T::sigmoid);
    }
    each(sums[2], g, T::tanh);
    for (c, &i, &f, &g) in zip_mut3(c, i, f, g) {
        *c = f.times(*c).plus(i.times(g));
    }
    for (h, &c, &o) in zip_mut2(h, c, o) {
        *h = o.times(c.tanh());
    }
}

/// Keeps `r`, `z` and `n`, and what `r` multiplies.
#[inline(always)]
pub(super) fn gru<T: Float>(input: &[T], sums: &[T], h: &mut [T], kept: &mut [T]) {
    let length = h.len();
    let (input, sums): ([&[T]; 3], [&[T]; 3]) = (parts(input, length), parts(sums, length));
    let [r, z, n, s] = parts_mut(kept, length);
    for (k, gate) in [&mut *r, &mut *z].into_iter().enumerate() {
        for (gate, &x, &s) in zip_mut2(gate, input[k], sums[k]) {
            *gate = x.plus(s).sigmoid();
        }
    }
    s.copy_from_slice(sums[2]);
    for (n, &x, &s, &r) in zip_mut3(n, input[2], s, r) {
        *n = x.plus(r.times(s)).tanh();
    }
    for (h, &n, &z) in zip_mut2(h, n, z) {
        *h = T::one().minus(z).times(n).plus(z.times(*h));
    }
}

#[inline(always)]
pub(super) fn tanh_slopes<T: Float>(h: &[T], dh: &[T], slopes: &mut [T]) {
    for (slope, &h, &dh) in zip_mut2(slopes, h, dh) {
        *slope = dh.times(T::one().minus(h.times(h)));
    }
}

#[inline(always)]
pub(super) fn relu_slopes<T: Float>(h: &[T], dh: &[T], slopes: &mut [T]) {
    for (slope, &h, &dh) in zip_mut2(slopes, h, dh) {
        // As `relu`: NaN passes its gradient on.
        *slope = if h <= T::zero() { T::zero() } else { dh };
    }
}

/// From the gradients of `h` and of `c`, which becomes that of the `c` before.
#[inline(always)]
pub(super) fn lstm_slopes<T: Float>(
    kept: &[T],
    [before, c]: [&[T]; 2],
    dh: &[T],
    dc: &mut [T],
    slopes: &mut [T],
) {
    let length = dc.len();
    let [i, f, g, o] = parts(kept, length);
    let [di, df, dg, d_o] = parts_mut(slopes, length);
    let one = T::one();
    let sigmoid = |y: T| y.times(one.minus(y));
    each(c, d_o, T::tanh);
    for (dc, &dh, &o, &t) in zip_mut3(dc, dh, o, d_o) {
        *dc = dc.plus(dh.times(o).times(one.minus(t.times(t))));
    }
    for (d_o, &dh, &o) in zip_mut2(d_o, dh, o) {
        *d_o = dh.times(*d_o).times(sigmoid(o));
    }
    for (di, &dc, &g, &i) in zip_mut3(di, dc, g, i) {
        *di = dc.times(g).times(sigmoid(i));
    }
    for (df, &dc, &before, &f) in zip_mut3(df, dc, before, f) {
        *df = dc.times(before).times(sigmoid(f));
    }
    for (dg, &dc, &i, &g) in zip_mut3(dg, dc, i, g) {
        *dg = dc.times(i).times(one.minus(g.times(g)));
    }
    for (dc, &f) in zip_mut(dc, f) {
        *dc = dc.times(f);
    }
}

/// From the gradient of `h`, which becomes the part of that of the `h` before that goes by no sum; the
/// slopes of the sums of the input and of the state differ in `n`.
#[inline(always)]
pub(super) fn gru_slopes<T: Float>(
    kept: &[T],
    before: &[T],
    dh: &mut [T],
    slopes: &mut [T],
    sums: &mut [T],
) {
    let length = dh.len();
    let [r, z, n, s] = parts(kept, length);
    let [dr, dz, dn] = parts_mut(slopes, length);
    let one = T::one();
    let sigmoid = |y: T| y.times(one.minus(y));
    for (dn, &dh, &z, &n) in zip_mut3(dn, dh, z, n) {
        *dn = dh.times(one.minus(z)).times(one.minus(n.times(n)));
    }
    for (dz, &dh, &h, &n) in zip_mut3(dz, dh, before, n) {
        *dz = dh.times(h.minus(n));
    }
    for (dz, &z) in zip_mut(dz, z) {
        *dz = dz.times(sigmoid(z));
    }
    for (dh, &z) in zip_mut(dh, z) {
        *dh = dh.times(z);
    }
    let [sr, sz, sn] = parts_mut(sums, length);
    for (dr, &dn, &s, &r) in zip_mut3(dr, dn, s, r) {
        *dr = dn.times(s).times(sigmoid(r));
    }
    for (sn, &dn, &r) in zip_mut2(sn, dn, r) {
        *sn = dn.times(r);
    }
    sr.copy_from_slice(dr);
    sz.copy_from_slice(dz);
}
