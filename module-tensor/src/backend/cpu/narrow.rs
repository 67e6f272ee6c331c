//! Types that are computed with in a wider one.

use half::{bf16, f16};

use super::Element;
use super::half_precision::{narrow_to_bf16, narrow_to_f16, widen};
use crate::zip::zip_mut;

/// A type whose numbers are widened, computed with, and narrowed again.
pub(super) trait Narrow: Element {
    type Wide: Element;

    /// Converts each number, which loses nothing; the slices have one length.
    fn widen(from: &[Self], to: &mut [Self::Wide]);

    /// Rounds each number to nearest, or wraps it; the slices have one length.
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
                for (to, &from) in zip_mut(to, from) {
                    *to = i64::from(from);
                }
            }

            fn narrow(from: &[i64], to: &mut [Self]) {
                for (to, &from) in zip_mut(to, from) {
                    *to = from as Self;
                }
            }
        }
    )*};
}

integers!(i32, u8);
