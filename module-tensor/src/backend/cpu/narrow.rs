//! Types that are computed with in a wider one.

use half::{bf16, f16};

use super::Element;
use super::half_precision::{narrow_to_bf16, narrow_to_f16, widen};
use super::simd::{Loop, run_at_best_level};
use crate::zip::zip_mut;

/// A type whose numbers are widened, computed with, and narrowed again.
pub(super) trait Narrow: Element {
    type Wide: Element;

    /// Converts each number, up to the length of the shorter slice; this loses nothing.
    fn widen(from: &[Self], to: &mut [Self::Wide]);

    /// Rounds each number to nearest, or wraps it, up to the length of the shorter slice.
    fn narrow(from: &[Self::Wide], to: &mut [Self]);
}

impl Narrow for f16 {
    type Wide = f32;

    fn widen(from: &[Self], to: &mut [f32]) {
        widen(from, to);
    }

    fn narrow(from: &[f32], to: &mut [Self]) {
        narrow_to_f16(from, to);
    }
}

impl Narrow for bf16 {
    type Wide = f32;

    fn widen(from: &[Self], to: &mut [f32]) {
        widen(from, to);
    }

    fn narrow(from: &[f32], to: &mut [Self]) {
        narrow_to_bf16(from, to);
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Narrow for $type {
            type Wide = i64;

            fn widen(from: &[Self], to: &mut [i64]) {
                run_at_best_level(Each(from, to, |v: Self| i64::from(v)));
            }

            fn narrow(from: &[i64], to: &mut [Self]) {
                run_at_best_level(Each(from, to, |v: i64| v as Self));
            }
        }
    )*};
}

integers!(i32, u8);

struct Each<'a, A, B, F>(&'a [A], &'a mut [B], F);

impl<A: Copy, B, F: Fn(A) -> B> Loop for Each<'_, A, B, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (to, &from) in zip_mut(self.1, self.0) {
            *to = (self.2)(from);
        }
    }
}
