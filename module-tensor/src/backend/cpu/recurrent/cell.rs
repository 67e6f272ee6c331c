//! The cells: the next state of one sequence, and the gradients back to its sums.

use super::super::float::Float;

/// Three or four parts of one length.
#[inline(always)]
fn parts<T, const N: usize>(x: &[T], length: usize) -> [&[T]; N] {
    std::array::from_fn(|i| &x[i * length..][..length])
}

/// The rows of some gates, of one length.
#[inline(always)]
fn gates_mut<'b, T, const N: usize>(gates: &'b mut [&mut [T]], length: usize) -> [&'b mut [T]; N] {
    let mut gates = gates.iter_mut();
    std::array::from_fn(|_| match gates.next() {
        Some(gate) => &mut gate[..length],
        None => &mut [],
    })
}

// Loops over indices, because rows are short: those of iterators side by side would take the last elements one by one.

/// `outᵢ = f(xᵢ)`
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn each<T: Float>(out: &mut [T], x: &[T], f: impl Fn(T) -> T) {
    let count = out.len();
    let x = &x[..count];
    for i in 0..count {
        out[i] = f(x[i]);
    }
}

/// `outᵢ = f(outᵢ, aᵢ)`
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) fn update1<T: Float>(out: &mut [T], a: &[T], f: impl Fn(T, T) -> T) {
    let count = out.len();
    let a = &a[..count];
    for i in 0..count {
        out[i] = f(out[i], a[i]);
    }
}

/// `outᵢ = f(outᵢ, aᵢ, bᵢ)`
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) fn update2<T: Float>(out: &mut [T], a: &[T], b: &[T], f: impl Fn(T, T, T) -> T) {
    let count = out.len();
    let (a, b) = (&a[..count], &b[..count]);
    for i in 0..count {
        out[i] = f(out[i], a[i], b[i]);
    }
}

/// `outᵢ = f(outᵢ, aᵢ, bᵢ, cᵢ)`
#[inline(always)]
#[allow(clippy::needless_range_loop)]
fn update3<T: Float>(out: &mut [T], a: &[T], b: &[T], c: &[T], f: impl Fn(T, T, T, T) -> T) {
    let count = out.len();
    let (a, b, c) = (&a[..count], &b[..count], &c[..count]);
    for i in 0..count {
        out[i] = f(out[i], a[i], b[i], c[i]);
    }
}

#[inline(always)]
pub(super) fn tanh<T: Float>(sums: &[T], h: &mut [T]) {
    each(h, sums, T::tanh);
}

#[inline(always)]
pub(super) fn relu<T: Float>(sums: &[T], h: &mut [T]) {
    each(h, sums, |sum| sum.greater(T::zero()));
}

/// Keeps the gates.
#[inline(always)]
pub(super) fn lstm<T: Float>(sums: &[T], c: &mut [T], h: &mut [T], kept: &mut [&mut [T]]) {
    let length = c.len();
    let sums: [&[T]; 4] = parts(sums, length);
    let [i, f, g, o] = gates_mut(kept, length);
    for (k, gate) in [(0, &mut *i), (1, &mut *f), (3, &mut *o)] {
        each(gate, sums[k], T::sigmoid);
    }
    each(g, sums[2], T::tanh);
    update3(c, i, f, g, |c, i, f, g| f.times(c).plus(i.times(g)));
    update2(h, c, o, |_, c, o| o.times(c.tanh()));
}

/// Keeps `r`, `z` and `n`, and what `r` multiplies.
#[inline(always)]
pub(super) fn gru<T: Float>(input: [&[T]; 3], sums: &[T], h: &mut [T], kept: &mut [&mut [T]]) {
    let length = h.len();
    let sums: [&[T]; 3] = parts(sums, length);
    let [r, z, n, s] = gates_mut(kept, length);
    for (k, gate) in [&mut *r, &mut *z].into_iter().enumerate() {
        update2(gate, input[k], sums[k], |_, x, s| x.plus(s).sigmoid());
    }
    s.copy_from_slice(sums[2]);
    update3(n, input[2], s, r, |_, x, s, r| x.plus(r.times(s)).tanh());
    update2(h, n, z, |h, n, z| {
        T::one().minus(z).times(n).plus(z.times(h))
    });
}

#[inline(always)]
pub(super) fn tanh_slopes<T: Float>(h: &[T], dh: &[T], slopes: &mut [T]) {
    update2(slopes, h, dh, |_, h, dh| {
        dh.times(T::one().minus(h.times(h)))
    });
}

#[inline(always)]
pub(super) fn relu_slopes<T: Float>(h: &[T], dh: &[T], slopes: &mut [T]) {
    update2(slopes, h, dh, |_, h, dh| {
        // As `relu`: NaN passes its gradient on.
        if h <= T::zero() { T::zero() } else { dh }
    });
}

/// From the gradients of `h` and of `c`, which becomes that of the `c` before.
#[inline(always)]
pub(super) fn lstm_slopes<T: Float>(
    [i, f, g, o]: [&[T]; 4],
    [before, c]: [&[T]; 2],
    dh: &[T],
    dc: &mut [T],
    slopes: &mut [&mut [T]],
) {
    let [di, df, dg, d_o] = gates_mut(slopes, dc.len());
    let one = T::one();
    let sigmoid = |y: T| y.times(one.minus(y));
    each(d_o, c, T::tanh);
    update3(dc, dh, o, d_o, |dc, dh, o, t| {
        dc.plus(dh.times(o).times(one.minus(t.times(t))))
    });
    update2(d_o, dh, o, |t, dh, o| dh.times(t).times(sigmoid(o)));
    update3(di, dc, g, i, |_, dc, g, i| dc.times(g).times(sigmoid(i)));
    update3(df, dc, before, f, |_, dc, before, f| {
        dc.times(before).times(sigmoid(f))
    });
    update3(dg, dc, i, g, |_, dc, i, g| {
        dc.times(i).times(one.minus(g.times(g)))
    });
    update1(dc, f, |dc, f| dc.times(f));
}

/// From the gradient of `h`, which becomes the part of that of the `h` before that goes by no sum; the
/// slopes of the sums of the input and of the state differ in `n`.
#[inline(always)]
pub(super) fn gru_slopes<T: Float>(
    [r, z, n, s]: [&[T]; 4],
    before: &[T],
    dh: &mut [T],
    slopes: &mut [&mut [T]],
    sums: &mut [&mut [T]],
) {
    let length = dh.len();
    let [dr, dz, dn] = gates_mut(slopes, length);
    let one = T::one();
    let sigmoid = |y: T| y.times(one.minus(y));
    update3(dn, dh, z, n, |_, dh, z, n| {
        dh.times(one.minus(z)).times(one.minus(n.times(n)))
    });
    update3(dz, dh, before, n, |_, dh, h, n| dh.times(h.minus(n)));
    update1(dz, z, |dz, z| dz.times(sigmoid(z)));
    update1(dh, z, |dh, z| dh.times(z));
    let [sr, sz, sn] = gates_mut(sums, length);
    update3(dr, dn, s, r, |_, dn, s, r| dn.times(s).times(sigmoid(r)));
    update2(sn, dn, r, |_, dn, r| dn.times(r));
    sr.copy_from_slice(dr);
    sz.copy_from_slice(dz);
}
