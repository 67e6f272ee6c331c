//! Products of 8-bit integers with numbers that are not rounded.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::lanes::{WIDE_LANES, sum_of_lanes};
use super::simd::{Loop, run_at_best_level};
use crate::zip::zip;

/// Groups of numbers `scale · code`, and an input for each.
pub(crate) struct Int8Groups<'a> {
    pub(crate) codes: &'a [i8],
    pub(crate) scales: &'a [f32],
    pub(crate) group_size: usize,
    pub(crate) inputs: &'a [f32],
}

/// `Σ scale · Σ code · input`
pub(crate) fn int8_dot(groups: Int8Groups<'_>) -> f32 {
    run_at_best_level(groups)
}

impl Loop for Int8Groups<'_> {
    type Output = f32;

    // By index, so that the sums are in registers.
    #[inline(always)]
    fn run(self) -> f32 {
        let (mut sums, mut rest) = ([0.0; WIDE_LANES], 0.0);
        let codes = self.codes.chunks_exact(self.group_size);
        let inputs = self.inputs.chunks_exact(self.group_size);
        for ((codes, inputs), &scale) in codes.zip(inputs).zip(self.scales) {
            let (codes, last_codes) = codes.as_chunks();
            let (inputs, last_inputs) = inputs.as_chunks();
            let of_group = sums_of_products(codes, inputs);
            for i in 0..WIDE_LANES {
                sums[i] += of_group[i] * scale;
            }
            let last = zip(last_codes, last_inputs);
            rest += last.fold(0.0, |sum, (&code, &v)| sum + f32::from(code) * v) * scale;
        }
        rest + sum_of_lanes(sums)
    }
}

#[inline(always)]
fn sums_of_products(codes: &[[i8; WIDE_LANES]], inputs: &[[f32; WIDE_LANES]]) -> [f32; WIDE_LANES] {
    let mut sums = [0.0; WIDE_LANES];
    for (codes, inputs) in zip(codes, inputs) {
        for i in 0..WIDE_LANES {
            sums[i] += f32::from(codes[i]) * inputs[i];
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::{Int8Groups, int8_dot};

    #[test]
    fn products_of_groups_are_scaled_and_added() {
        for (group_size, count) in [(64, 1), (64, 3), (100, 2), (640, 2), (1, 5)] {
            let len = group_size * count;
            let codes: Vec<i8> = (0..len).map(|i| (i * 77 % 256) as u8 as i8).collect();
            let inputs: Vec<f32> = (0..len).map(|i| (i * 31 % 17) as f32 - 8.0).collect();
            let scales: Vec<f32> = (0..count).map(|i| 0.25 * (i + 1) as f32).collect();
            // Small integers and powers of two: exact in any order.
            let exact = (0..len).map(|i| scales[i / group_size] * f32::from(codes[i]) * inputs[i]);
            let groups = Int8Groups {
                codes: &codes,
                scales: &scales,
                group_size,
                inputs: &inputs,
            };
            assert_eq!(int8_dot(groups), exact.sum::<f32>(), "{group_size} {count}");
        }
    }
}
