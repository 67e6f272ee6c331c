//! The cells: the next state of one sequence, and the gradients back to its sums.

use super::super::float::Float;

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
    for (out, &x) in out.iter_mut().zip(x) {
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
    for (((c, &i), &f), &g) in c.iter_mut().zip(&*i).zip(&*f).zip(&*g) {
        *c = f.times(*c).plus(i.times(g));
    }
    for ((h, &c), &o) in h.iter_mut().zip(&*c).zip(&*o) {
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
        for ((gate, &x), &s) in gate.iter_mut().zip(input[k]).zip(sums[k]) {
            *gate = x.plus(s).sigmoid();
        }
    }
    s.copy_from_slice(sums[2]);
    for (((n, &x), &s), &r) in n.iter_mut().zip(input[2]).zip(&*s).zip(&*r) {
        *n = x.plus(r.times(s)).tanh();
    }
    for ((h, &n), &z) in h.iter_mut().zip(&*n).zip(&*z) {
        *h = T::one().minus(z).times(n).plus(z.times(*h));
    }
}

#[inline(always)]
pub(super) fn tanh_slopes<T: Float>(h: &[T], dh: &[T], slopes: &mut [T]) {
    for ((slope, &h), &dh) in slopes.iter_mut().zip(h).zip(dh) {
        *slope = dh.times(T::one().minus(h.times(h)));
    }
}

#[inline(always)]
pub(super) fn relu_slopes<T: Float>(h: &[T], dh: &[T], slopes: &mut [T]) {
    for ((slope, &h), &dh) in slopes.iter_mut().zip(h).zip(dh) {
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
    for ((((d_o, dc), &c), &dh), &o) in d_o.iter_mut().zip(&mut *dc).zip(c).zip(dh).zip(o) {
        let t = c.tanh();
        *d_o = dh.times(t).times(sigmoid(o));
        *dc = dc.plus(dh.times(o).times(one.minus(t.times(t))));
    }
    let gates = i.iter().zip(f).zip(g).zip(before);
    let slopes = di.iter_mut().zip(df).zip(dg);
    for ((((di, df), dg), dc), (((&i, &f), &g), &before)) in slopes.zip(dc).zip(gates) {
        *di = dc.times(g).times(sigmoid(i));
        *df = dc.times(before).times(sigmoid(f));
        *dg = dc.times(i).times(one.minus(g.times(g)));
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
    for (((((dn, dz), dh), &z), &n), &h) in (dn.iter_mut().zip(&mut *dz))
        .zip(&mut *dh)
        .zip(z)
        .zip(n)
        .zip(before)
    {
        *dn = dh.times(one.minus(z)).times(one.minus(n.times(n)));
        *dz = dh.times(h.minus(n)).times(sigmoid(z));
        *dh = dh.times(z);
    }
    let [sr, sz, sn] = parts_mut(sums, length);
    for ((((dr, sn), &dn), &r), &s) in dr.iter_mut().zip(sn).zip(&*dn).zip(r).zip(s) {
        *dr = dn.times(s).times(sigmoid(r));
        *sn = dn.times(r);
    }
    sr.copy_from_slice(dr);
    sz.copy_from_slice(dz);
}
