//! Slices side by side, as [`Iterator::zip`] of their iterators.
//!
//! The standard library leaves to the optimizer whether the constructor of its `Zip` is inlined. Where a
//! program is built without link-time optimization it is not, and a loop over eight numbers begins with a
//! call. These are always inlined, and are less to compile.
//!
//! A loop over three slices or more may end at each of them, for all that the optimizer knows: it leaves the last elements, as
//! many as one to all of its vectors hold, to a loop without vectors. Loops over many short rows therefore go by index. An
//! iterator that ends at one place was tried: loops over a fixed number of lanes then lost their vectors.
#![allow(clippy::inline_always)]

/// The pairs of two slices, up to the length of the shorter one.
#[inline(always)]
pub(crate) fn zip<'a, A, B>(a: &'a [A], b: &'a [B]) -> impl Iterator<Item = (&'a A, &'a B)> {
    let len = a.len().min(b.len());
    let (a, b) = (&a[..len], &b[..len]);
    (0..len).map(move |i| (&a[i], &b[i]))
}

/// [`zip`] with a mutable first slice.
#[inline(always)]
pub(crate) fn zip_mut<'a, A, B>(
    a: &'a mut [A],
    b: &'a [B],
) -> impl Iterator<Item = (&'a mut A, &'a B)> {
    let len = a.len().min(b.len());
    let (mut a, mut b) = (a[..len].iter_mut(), b[..len].iter());
    std::iter::from_fn(move || Some((a.next()?, b.next()?)))
}

/// [`zip_mut`] of three slices.
#[inline(always)]
pub(crate) fn zip_mut2<'a, A, B, C>(
    a: &'a mut [A],
    b: &'a [B],
    c: &'a [C],
) -> impl Iterator<Item = (&'a mut A, &'a B, &'a C)> {
    let len = a.len().min(b.len()).min(c.len());
    let (mut a, mut b) = (a[..len].iter_mut(), b[..len].iter());
    let mut c = c[..len].iter();
    std::iter::from_fn(move || Some((a.next()?, b.next()?, c.next()?)))
}

/// [`zip_mut`] of four slices.
#[inline(always)]
pub(crate) fn zip_mut3<'a, A, B, C, D>(
    a: &'a mut [A],
    b: &'a [B],
    c: &'a [C],
    d: &'a [D],
) -> impl Iterator<Item = (&'a mut A, &'a B, &'a C, &'a D)> {
    let len = a.len().min(b.len()).min(c.len()).min(d.len());
    let (mut a, mut b) = (a[..len].iter_mut(), b[..len].iter());
    let (mut c, mut d) = (c[..len].iter(), d[..len].iter());
    std::iter::from_fn(move || Some((a.next()?, b.next()?, c.next()?, d.next()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_go_side_by_side_up_to_the_shortest() {
        let (mut a, b, c, d) = ([1, 2, 3], [10, 20], [100, 200, 300], [5, 6, 7, 8]);
        assert!(zip(&a, &b).eq([(&1, &10), (&2, &20)]));
        zip_mut(&mut a, &b).for_each(|(a, b)| *a += b);
        assert_eq!(a, [11, 22, 3]);
        zip_mut2(&mut a, &c, &b).for_each(|(a, c, b)| *a += c - b);
        assert_eq!(a, [101, 202, 3]);
        zip_mut3(&mut a, &c, &d, &[1, 1, 1, 1]).for_each(|(a, c, d, e)| *a -= c + d + e);
        assert_eq!(a, [-5, -5, -305]);
        assert_eq!(zip_mut(&mut a, &[0; 0]).count(), 0);
    }
}
