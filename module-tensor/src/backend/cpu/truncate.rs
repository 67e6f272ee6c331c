//! Floating-point numbers rounded toward 0, as `i64`.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::float::Float;
use super::simd::{Level, Loop, PerLevel, run_at_best_level};
use crate::zip::zip_mut;

/// The numbers that are tested together whether all are small.
const BLOCK: usize = 256;

/// From here on, neighbors in `f64` are 1 apart.
const WHOLE: f64 = (1_u64 << 52) as f64;

/// Converts each number as the language does: those out of range to the nearest `i64`, NaN to 0.
pub(super) fn truncate<T: Float>(from: &[T], to: &mut [i64]) {
    // Without vectors of four numbers, the language's conversion of one at a time is faster.
    let has_vectors = Level::highest().pick(PerLevel {
        avx512: true,
        avx2: true,
        baseline: false,
    });
    match has_vectors {
        true => run_at_best_level(Truncate(from, to)),
        false => truncate_each(from, to),
    }
}

fn truncate_each<T: Float>(from: &[T], to: &mut [i64]) {
    for (to, from) in zip_mut(to, from) {
        *to = from.to_i64();
    }
}

struct Truncate<'a, T>(&'a [T], &'a mut [i64]);

impl<T: Float> Loop for Truncate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (to, from) in self.1.chunks_mut(BLOCK).zip(self.0.chunks(BLOCK)) {
            let mut all_small = true;
            for &v in from {
                all_small &= v.to_f64().abs() < WHOLE;
            }
            if !all_small {
                truncate_each(from, to);
                continue;
            }
            for (to, from) in zip_mut(to, from) {
                *to = truncate_small(from.to_f64());
            }
        }
    }
}

/// A number below [`WHOLE`], by steps that vectors have: no instruction before AVX-512 makes an `i64` of an `f64` in a
/// vector, and what the language does in addition is none either.
#[inline(always)]
fn truncate_small(v: f64) -> i64 {
    let magnitude = v.abs();
    // Rounded to the nearest integer by the sum, and then down.
    let nearest = (magnitude + WHOLE) - WHOLE;
    let floor = if nearest > magnitude {
        nearest - 1.0
    } else {
        nearest
    };
    // The integer is in the lowest bits of this sum.
    let integer = (floor + WHOLE).to_bits() as i64 - WHOLE.to_bits() as i64;
    if v < 0.0 { -integer } else { integer }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, WHOLE, truncate};

    fn check(values: &[f64]) {
        let mut out = vec![7; values.len()];
        truncate(values, &mut out);
        let want: Vec<i64> = values.iter().map(|&v| v as i64).collect();
        assert_eq!(out, want);
        let singles: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        truncate(&singles, &mut out);
        let want: Vec<i64> = singles.iter().map(|&v| v as i64).collect();
        assert_eq!(out, want);
    }

    #[test]
    fn small_and_large_numbers_are_converted_as_by_the_language() {
        let edges = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            0.999_999_999_999,
            1.5,
            -1.5,
            2.5,
            -2.5,
            1e-310,
            -1e-40,
            3e9,
            -3e9,
        ];
        let below = [
            WHOLE.next_down(),
            -WHOLE.next_down(),
            WHOLE / 2.0 + 0.5,
            WHOLE / 4.0 - 0.25,
        ];
        let small: Vec<f64> = edges.into_iter().chain(below).collect();
        check(&small);
        for large in [
            WHOLE,
            -WHOLE,
            1e18,
            -1e19,
            9.3e18,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ] {
            let mut all = small.clone();
            all.push(large);
            check(&all);
        }
        for len in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 5] {
            let mut values: Vec<f64> = (0..len).map(|i| i as f64 * 1234.567 - 1e5).collect();
            check(&values);
            if let Some(last) = values.last_mut() {
                *last = f64::NAN;
            }
            check(&values);
        }
    }
}
