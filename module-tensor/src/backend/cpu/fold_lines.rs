//! Lines of any length as one element each, in any order.

// Of loops of many steps inside of others, the compiler makes vector instructions only if they go by index.
#![allow(clippy::inline_always, clippy::needless_range_loop)]

use super::number::Number;
use super::simd::Loop;

/// Two elements, or what has been made of some, as one.
pub(super) trait Combine<T>: Fn(T, T) -> T + Copy + Sync {}

impl<T, F: Fn(T, T) -> T + Copy + Sync> Combine<T> for F {}

/// The number of elements from which each line is a loop of its own.
pub(super) const APART: usize = 256;

/// The number of elements of a line that are combined with others side by side, which fill a register or two.
pub(super) const LANES: usize = 16;

/// Lines of `count` elements, at most some hundreds, as one element each, to be run in a loop, where neither order nor repetition
/// changes the result.
#[inline(always)]
pub(super) fn fold_lines<T: Number>(
    values: &[T],
    count: usize,
    combine: impl Combine<T>,
    out: &mut [T],
) {
    match count {
        0..4 => {
            for (out, line) in out.iter_mut().zip(values.chunks_exact(count.max(1))) {
                *out = fold_few(line, combine);
            }
        }
        // Whether the last elements are new does not matter.
        4..LANES => fold_in_lanes::<T, 4>(values, count, |v| v, (T::zero(), [1; 4]), combine, out),
        LANES.. => fold_in_lanes(values, count, |v| v, (T::zero(), [1; LANES]), combine, out),
    }
}

/// The same of what `f` makes of each element, from a number that changes nothing: those of fewer than 16 elements in their
/// order.
#[inline(always)]
pub(super) fn fold_lines_of<T: Number>(
    values: &[T],
    count: usize,
    f: impl Fn(T) -> T,
    neutral: T,
    combine: impl Combine<T>,
    out: &mut [T],
) {
    if count < LANES {
        for (out, line) in out.iter_mut().zip(values.chunks_exact(count.max(1))) {
            *out = line.iter().fold(neutral, |all, &v| combine(f(v), all));
        }
        return;
    }
    let rest = (neutral, are_new(count % LANES));
    fold_in_lanes(values, count, f, rest, combine, out);
}

/// Which of the last elements of a line are new, if so many fill no lanes: 1, or 0 for those that have been before.
///
/// It is not inlined: of what the compiler knows it would make a comparison for each element, instead of one vector.
#[inline(never)]
fn are_new(rest: usize) -> [u32; LANES] {
    std::array::from_fn(|i| u32::from(i + rest >= LANES))
}

/// [`fold_lines_of`] as a loop of its own.
pub(super) struct FoldLinesOf<'a, T, F, C> {
    pub(super) values: &'a [T],
    pub(super) count: usize,
    pub(super) f: F,
    pub(super) neutral: T,
    pub(super) combine: C,
    pub(super) out: &'a mut [T],
}

impl<T: Number, F: Fn(T) -> T, C: Combine<T>> Loop for FoldLinesOf<'_, T, F, C> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (f, combine) = (self.f, self.combine);
        fold_lines_of(self.values, self.count, f, self.neutral, combine, self.out);
    }
}

/// Lines as one element each, made of `N` side by side, if they have as many. For those that fill no lanes the last `N` are
/// combined, with the number of `rest` in place of each for which it says 0.
#[inline(always)]
fn fold_in_lanes<T: Number, const N: usize>(
    values: &[T],
    count: usize,
    f: impl Fn(T) -> T,
    rest: (T, [u32; N]),
    combine: impl Combine<T>,
    out: &mut [T],
) {
    let (neutral, are_new) = rest;
    for (out, line) in out.iter_mut().zip(values.chunks_exact(count)) {
        let (chunks, rest) = line.as_chunks::<N>();
        let (Some((first, chunks)), Some(last)) = (chunks.split_first(), line.last_chunk::<N>())
        else {
            return;
        };
        let mut lanes = *first;
        for i in 0..N {
            lanes[i] = f(first[i]);
        }
        for chunk in chunks {
            lanes = combine_lanes(chunk, &lanes, |v, lane| combine(f(v), lane));
        }
        if !rest.is_empty() {
            let mut others = [neutral; N];
            for i in 0..N {
                let v = f(last[i]);
                others[i] = if are_new[i] == 0 { neutral } else { v };
            }
            lanes = combine_lanes(&others, &lanes, combine);
        }
        *out = fold_lanes(lanes, combine);
    }
}

/// New lanes, which stay in registers: the old ones, of which some are replaced, would not.
#[inline(always)]
fn combine_lanes<T: Copy, const N: usize>(
    x: &[T; N],
    lanes: &[T; N],
    combine: impl Fn(T, T) -> T,
) -> [T; N] {
    let mut next = *lanes;
    for i in 0..N {
        next[i] = combine(x[i], lanes[i]);
    }
    next
}

/// Lanes, of which there are 4 or 16, as one element: halves of halves, because in order each step waits for the one before.
#[inline(always)]
pub(super) fn fold_lanes<T: Copy, const N: usize>(lanes: [T; N], combine: impl Combine<T>) -> T {
    let mut first = lanes[0];
    if let Some(lanes) = lanes.first_chunk::<LANES>() {
        let (mut eight, mut four) = ([first; 8], [first; 4]);
        for i in 0..8 {
            eight[i] = combine(lanes[i + 8], lanes[i]);
        }
        for i in 0..4 {
            four[i] = combine(eight[i + 4], eight[i]);
        }
        return combine(combine(four[3], four[1]), combine(four[2], four[0]));
    }
    if let &[a, b, c, d] = lanes.as_slice() {
        return combine(combine(d, b), combine(c, a));
    }
    for &v in &lanes[1..] {
        first = combine(v, first);
    }
    first
}

/// A line of many elements as one, and, if `NAN`, whether there is a NaN among them. It is a loop of its own: as part of another
/// one, the lanes would not stay in registers.
pub(super) struct FoldLongLine<'a, T, F, const NAN: bool> {
    pub(super) line: &'a [T],
    pub(super) combine: F,
}

impl<T: Number, F: Combine<T>, const NAN: bool> Loop for FoldLongLine<'_, T, F, NAN> {
    type Output = (T, bool);

    #[inline(always)]
    fn run(self) -> (T, bool) {
        let Self { line, combine } = self;
        let (chunks, rest) = line.as_chunks::<64>();
        let is_nan = |v: &T| NAN && v.is_nan();
        let mut has_nan = rest.iter().fold(false, |any, v| any | is_nan(v));
        let Some((&first, others)) = chunks.split_first() else {
            return (fold_few(line, combine), has_nan);
        };
        has_nan |= first.iter().fold(false, |any, v| any | is_nan(v));
        let mut lanes = first;
        for chunk in others {
            let mut next = [T::zero(); 64];
            let mut any = false;
            for i in 0..64 {
                next[i] = combine(chunk[i], lanes[i]);
                any |= is_nan(&chunk[i]);
            }
            lanes = next;
            has_nan |= any;
        }
        // By halves: products become subnormal numbers, which take long, once and not again and again.
        for half in [32, 16, 8] {
            for i in 0..half {
                lanes[i] = combine(lanes[i + half], lanes[i]);
            }
        }
        let all = fold_few(&lanes[..8], combine);
        let all = rest.iter().fold(all, |all, &v| combine(v, all));
        (all, has_nan)
    }
}

#[inline(always)]
fn fold_few<T: Number>(line: &[T], combine: impl Combine<T>) -> T {
    let first = line.first().copied().unwrap_or_else(T::zero);
    line.iter().skip(1).fold(first, |all, &v| combine(v, all))
}
