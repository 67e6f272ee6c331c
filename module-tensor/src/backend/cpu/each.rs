//! Functions of each number of operands, wherever they lie.
//!
//! Operands of a narrower type than that of the function are widened piece by piece, and so are results rounded
//! (`narrow.rs`).

use super::number::Number;
use super::repeated::{EachLine, Lines, are_lines_and_numbers, each_line};
use super::runs::{Each, EachPair, OfRuns, PIECE};
use super::simd::{Loop, run_at_best_level};
use super::{CpuStorage, Operand, Storage};
use crate::Result;
use crate::zip::{zip_mut, zip_mut2};

/// The operand of an elementwise function.
pub(super) struct Input<'a> {
    x: &'a mut Operand,
    /// The factor of its results, of the same shape and dtype.
    factor: Option<&'a mut Operand>,
}

impl<'a> Input<'a> {
    pub(super) fn of(x: &'a mut Operand) -> Self {
        Self { x, factor: None }
    }

    pub(super) fn times(self, factor: &'a mut Operand) -> Self {
        Self {
            factor: Some(factor),
            ..self
        }
    }

    /// What `f` makes of the elements, which take so many nanoseconds each.
    fn each<T: Number>(self, ns: usize, f: OfRuns<'_, T, T, 1>) -> Result<Storage> {
        let Some(factor) = self.factor else {
            return T::each([self.x], ns, f);
        };
        T::each([self.x, factor], ns + 1, &|[x, factor], out| {
            let pieces = x.chunks(PIECE).zip(factor.chunks(PIECE));
            for ((x, factor), out) in pieces.zip(out.chunks_mut(PIECE)) {
                f([x], out);
                run_at_best_level(Multiply { out, factor });
            }
        })
    }
}

/// The products of elements and factors, in place of the elements.
struct Multiply<'a, T> {
    out: &'a mut [T],
    factor: &'a [T],
}

impl<T: Number> Loop for Multiply<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (out, &factor) in zip_mut(self.out, self.factor) {
            *out = factor.times(*out);
        }
    }
}

/// `f` of each element, in row-major order.
pub(super) fn map1<T: Number>(x: Input<'_>, f: impl Fn(T) -> T + Copy + Sync) -> Result<Storage> {
    x.each(1, &|[x], out| {
        // A copy of what the function has captured cannot be changed by a write to `out`.
        let own = f;
        for (out, &v) in zip_mut(out, x) {
            *out = own(v);
        }
    })
}

/// [`map1`] with all the vector instructions that the processor has, for functions of many steps.
pub(super) fn map1_wide<T: Number>(
    x: Input<'_>,
    f: impl Fn(T) -> T + Copy + Sync,
) -> Result<Storage> {
    x.each(2, &|[x], out| run_at_best_level(Each { x, out, f }))
}

/// [`map1_wide`] of a function that is also given a number.
pub(super) fn map1_with<T: Number>(
    x: &mut Operand,
    number: T,
    f: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<Storage> {
    T::each([x], 2, &|[x], out| {
        run_at_best_level(EachLine {
            lines: Lines::one(x),
            numbers: &[number],
            out,
            f,
        });
    })
}

/// A function too large for the compiler to inline as a closure; a call for each element costs a hundred
/// times more.
pub(super) trait Steps<T, U = T>: Copy + Sync {
    /// To be marked `#[inline(always)]`.
    fn of(self, v: T) -> U;
}

/// [`map1_wide`] of such a function.
pub(super) fn map1_steps<T: Number>(x: Input<'_>, steps: impl Steps<T>) -> Result<Storage> {
    x.each(2, &|[x], out| run_at_best_level(EachOf { x, out, steps }))
}

struct EachOf<'a, T, S> {
    x: &'a [T],
    out: &'a mut [T],
    steps: S,
}

impl<T: Number, S: Steps<T>> Loop for EachOf<'_, T, S> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (out, &v) in zip_mut(self.out, self.x) {
            *out = self.steps.of(v);
        }
    }
}

/// [`map1_wide`] of a function of numbers whose magnitude is at most `most`; `beyond` is that of larger ones, which are
/// few.
pub(super) fn map1_within<T: Number>(
    x: Input<'_>,
    f: impl Fn(T) -> T + Copy + Sync,
    most: T,
    beyond: fn(T) -> T,
) -> Result<Storage> {
    let exceeds = move |v: T| v.magnitude() > most;
    map1_unless(x, Function(f), exceeds, beyond)
}

/// A function as steps, which is small enough to be inlined.
#[derive(Clone, Copy)]
struct Function<F>(F);

impl<T, F: Fn(T) -> T + Copy + Sync> Steps<T> for Function<F> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn of(self, v: T) -> T {
        (self.0)(v)
    }
}

/// [`map1_steps`], except for numbers that `is_beyond` accepts, which are few: these are given to `beyond`.
pub(super) fn map1_unless<T: Number>(
    x: Input<'_>,
    steps: impl Steps<T>,
    is_beyond: impl Fn(T) -> bool + Copy + Sync,
    beyond: impl Fn(T) -> T + Copy + Sync,
) -> Result<Storage> {
    x.each(2, &|[x], out| {
        // They are looked through while they are in the cache.
        for (x, out) in x.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
            run_at_best_level(EachOf { x, out, steps });
            if run_at_best_level(Any { x, is_beyond }) {
                for (out, &v) in zip_mut(out, x) {
                    if is_beyond(v) {
                        *out = beyond(v);
                    }
                }
            }
        }
    })
}

/// Whether `is_beyond` accepts any number.
struct Any<'a, T, F> {
    x: &'a [T],
    is_beyond: F,
}

impl<T: Number, F: Fn(T) -> bool> Loop for Any<'_, T, F> {
    type Output = bool;

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) -> bool {
        let Self { x, is_beyond } = self;
        x.iter().fold(false, |any, &v| any | is_beyond(v))
    }
}

/// `f` of each pair of elements, in row-major order; the layouts have one shape.
pub(super) fn map2<T: Number>(
    a: &mut Operand,
    b: &mut Operand,
    f: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<Storage> {
    T::each([a, b], 1, &|[a, b], out| {
        // As in `map1`.
        let own = f;
        for (out, &a, &b) in zip_mut2(out, a, b) {
            *out = own(a, b);
        }
    })
}

/// [`map2`] with all the vector instructions that the processor has.
pub(super) fn map2_wide<T: Number>(
    a: &mut Operand,
    b: &mut Operand,
    f: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<Storage> {
    T::each([a, b], 1, &|[a, b], out| {
        run_at_best_level(EachPair { a, b, out, f });
    })
}

/// [`map2_wide`] that reads a number of `b` once where it is repeated along the last dimension.
pub(super) fn map2_or_number<T: Number>(
    a: &mut Operand,
    b: &mut Operand,
    f: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<Storage> {
    if are_lines_and_numbers(&a.layout, &b.layout) && a.storage.dtype() == T::DTYPE {
        return lines_and_numbers(a, b, f);
    }
    map2_wide(a, b, f)
}

/// `f` of each element of `lines` and the number of its line.
pub(super) fn lines_and_numbers<T: Number>(
    lines: &mut Operand,
    numbers: &Operand,
    f: impl Fn(T, T) -> T + Copy + Sync,
) -> Result<Storage> {
    let values = each_line(lines, numbers, &|lines, numbers, out| {
        run_at_best_level(EachLine {
            lines,
            numbers,
            out,
            f,
        });
    })?;
    Ok(CpuStorage::wrap(values))
}

/// [`map2_wide`] of a function that is too large to be inlined as a closure.
pub(super) fn map2_steps<T: Number>(
    a: &mut Operand,
    b: &mut Operand,
    steps: impl Steps<(T, T), T>,
) -> Result<Storage> {
    T::each([a, b], 1, &|[a, b], out| {
        run_at_best_level(EachPairOf { a, b, out, steps });
    })
}

struct EachPairOf<'a, T, S> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    steps: S,
}

impl<T: Number, S: Steps<(T, T), T>> Loop for EachPairOf<'_, T, S> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (out, &a, &b) in zip_mut2(self.out, self.a, self.b) {
            *out = self.steps.of((a, b));
        }
    }
}

/// Whether `f` holds for each element, in row-major order.
pub(super) fn test1<T: Number>(
    x: &Operand,
    f: impl Fn(T) -> bool + Copy + Sync,
) -> Result<Storage> {
    T::each_truth([x], 1, &|[x], out| {
        // As in `map1`.
        let own = f;
        for (out, &v) in zip_mut(out, x) {
            *out = own(v);
        }
    })
}

/// Whether `f` holds for each pair of elements, in row-major order; the layouts have one shape.
pub(super) fn test2<T: Number>(
    a: &Operand,
    b: &Operand,
    f: impl Fn(T, T) -> bool + Copy + Sync,
) -> Result<Storage> {
    T::each_truth([a, b], 1, &|[a, b], out| {
        // As in `map1`.
        let own = f;
        for (out, &a, &b) in zip_mut2(out, a, b) {
            *out = own(a, b);
        }
    })
}
