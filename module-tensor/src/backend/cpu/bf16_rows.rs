//! A matrix of `bf16` by a vector of `f32`.
//!
//! A `bf16` is the upper half of an `f32`, so that two neighbors, read as one number of 32 bits, become `f32` by a shift and
//! by a mask. The elements of even and of odd index are therefore added up separately.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use half::bf16;
use half::slice::HalfFloatSliceExt;

use super::half_precision::Half;
use super::matrix_vector::by_length;
use super::memory::scratch;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use crate::Result;
use crate::zip::{zip, zip_mut};

/// The elements of a row that are multiplied side by side.
const WIDTH: usize = 2 * PAIRS;

/// A register of AVX-512, read as pairs.
const PAIRS: usize = 16;

/// Numbers for the elements of even index, then for those of odd index.
type EvenAndOdd = [[f32; PAIRS]; 2];

/// Adds the product of each row with the vector to an element of `out`; rows start `step` elements after each other.
pub(super) fn add_bf16_rows_by_vector(
    rows: &[bf16],
    step: usize,
    vector: &[f32],
    out: &mut [f32],
) -> Result<()> {
    let (chunks, rest) = vector.as_chunks::<WIDTH>();
    let mut factors = scratch(WIDTH * chunks.len())?;
    let (factors, _) = factors.as_chunks_mut::<PAIRS>();
    let (factors, _) = factors.as_chunks_mut::<2>();
    for ([even, odd], chunk) in factors.iter_mut().zip(chunks) {
        for (i, &[first, second]) in chunk.as_chunks().0.iter().enumerate() {
            (even[i], odd[i]) = (first, second);
        }
    }
    let (len, factors) = (vector.len(), &*factors);
    parallel_for(out.len(), len / 16, Items(out, 1), &|range, out| {
        run_at_best_level(Rows {
            rows: rows.get(range.start * step..).unwrap_or_default(),
            step,
            len,
            factors,
            rest,
            out: out.0,
        });
        Ok(())
    })
}

struct Rows<'a> {
    rows: &'a [bf16],
    step: usize,
    len: usize,
    factors: &'a [EvenAndOdd],
    /// The factors of the last elements.
    rest: &'a [f32],
    out: &'a mut [f32],
}

impl Loop for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let row = |i: usize| &self.rows[i * self.step..][..self.len];
        let (groups, single) = by_length(self.out, size_of::<bf16>() * self.len);
        for (i, out) in groups.iter_mut().enumerate() {
            let rows = std::array::from_fn(|k| row(i * out.len() + k));
            add_dots(rows, (self.factors, self.rest), out);
        }
        let first = groups.as_flattened().len();
        for (i, out) in single.iter_mut().enumerate() {
            let out = std::array::from_mut(out);
            add_dots([row(first + i)], (self.factors, self.rest), out);
        }
    }
}

/// Adds the products of rows with the vector.
#[inline(always)]
fn add_dots<const ROWS: usize>(
    rows: [&[bf16]; ROWS],
    (factors, rest): (&[EvenAndOdd], &[f32]),
    out: &mut [f32; ROWS],
) {
    for ((out, sums), row) in out.iter_mut().zip(&sums(rows, factors)).zip(rows) {
        *out += total(sums, &row[row.len() - rest.len()..], rest);
    }
}

/// The sums of the products of rows with the vector, but for the last elements.
#[inline(always)]
fn sums<const ROWS: usize>(rows: [&[bf16]; ROWS], factors: &[EvenAndOdd]) -> [EvenAndOdd; ROWS] {
    let rows = rows.map(|row| &row.as_chunks::<WIDTH>().0[..factors.len()]);
    let mut sums = [[[0.0; PAIRS]; 2]; ROWS];
    for (i, factors) in factors.iter().enumerate() {
        for k in 0..ROWS {
            add_products(&mut sums[k], &rows[k][i], factors);
        }
    }
    sums
}

/// The sum of sums, by halves, and of the products of the last elements.
///
/// It is not part of the loop: its registers would be those of the loop.
#[inline(never)]
fn total(sums: &EvenAndOdd, row: &[bf16], factors: &[f32]) -> f32 {
    let [mut sums, odd] = *sums;
    for (sum, odd) in zip_mut(&mut sums, &odd) {
        *sum += odd;
    }
    let mut half = PAIRS / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    let rest = zip(row, factors).fold(0.0, |sum, (a, &v)| sum + a.single() * v);
    rest + sums[0]
}

#[inline(always)]
fn add_products(sums: &mut EvenAndOdd, row: &[bf16; WIDTH], factors: &EvenAndOdd) {
    let bits: [u16; WIDTH] = *row.reinterpret_cast().as_array().unwrap_or(&[0; WIDTH]);
    let pairs: [u32; PAIRS] = bytemuck::cast(bits);
    let [even, odd] = sums;
    for i in 0..PAIRS {
        even[i] += f32::from_bits(first_of(pairs[i])) * factors[0][i];
    }
    for i in 0..PAIRS {
        odd[i] += f32::from_bits(second_of(pairs[i])) * factors[1][i];
    }
}

/// The bits of the number that comes first in memory, as an `f32`.
#[inline(always)]
fn first_of(pair: u32) -> u32 {
    match cfg!(target_endian = "little") {
        true => pair << 16,
        false => pair & 0xffff_0000,
    }
}

/// The bits of the number that comes second in memory, as an `f32`.
#[inline(always)]
fn second_of(pair: u32) -> u32 {
    match cfg!(target_endian = "little") {
        true => pair & 0xffff_0000,
        false => pair << 16,
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::{PAIRS, WIDTH, add_bf16_rows_by_vector};
    use crate::set_num_threads;

    fn numbers(count: usize, seed: usize) -> Vec<f32> {
        let number = |i: usize| ((i * 7919 + seed * 104_729) % 1013) as f32 / 512.0 - 1.0;
        (0..count).map(number).collect()
    }

    /// The product of a row with the vector as the sums are defined.
    fn dot(row: &[bf16], vector: &[f32]) -> f32 {
        let (mut sums, mut rest) = ([0.0; WIDTH], 0.0);
        let whole = row.len() / WIDTH * WIDTH;
        for (i, (a, b)) in row.iter().zip(vector).enumerate() {
            let lane = i % WIDTH;
            *if i < whole {
                &mut sums[lane / 2 + lane % 2 * PAIRS]
            } else {
                &mut rest
            } += a.to_f32() * b;
        }
        let mut sums = sums.to_vec();
        while sums.len() > 1 {
            let high = sums.split_off(sums.len() / 2);
            sums = sums.iter().zip(high).map(|(a, b)| a + b).collect();
        }
        rest + sums[0]
    }

    #[test]
    fn rows_are_multiplied_in_one_order() {
        for threads in [1, 3] {
            set_num_threads(threads);
            for (rows, depth) in [
                (1, 1),
                (2, 63),
                (3, 64),
                (5, 65),
                (8, 200),
                (301, 1000),
                (11, 9001),
            ] {
                let step = depth + 3;
                let matrix = numbers(rows * step, 1).into_iter().map(bf16::from_f32);
                let (matrix, vector) = (matrix.collect::<Vec<_>>(), numbers(depth, 2));
                let start = numbers(rows, 3);
                let mut out = start.clone();
                add_bf16_rows_by_vector(&matrix, step, &vector, &mut out).unwrap();
                for r in 0..rows {
                    let sum = start[r] + dot(&matrix[r * step..][..depth], &vector);
                    assert_eq!(out[r].to_bits(), sum.to_bits(), "{rows} {depth} {r}");
                }
            }
        }
    }
}
