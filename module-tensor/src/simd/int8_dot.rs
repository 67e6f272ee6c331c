//! Sums of products of whole numbers of 8 bits.

use super::{Instructions, Level};
use crate::zip::zip;

/// The greatest first factor: two products then fit into 16 bits.
pub(crate) const MOST: u8 = 127;

/// The elements whose products are added in 32 bits, which cannot overflow.
const PART: usize = 1 << 16;

/// `Σ aᵢ bᵢ`, exactly; no `aᵢ` is above [`MOST`].
pub(crate) fn int8_dot(level: Level, a: &[u8], b: &[i8]) -> i64 {
    let parts = a.chunks(PART).zip(b.chunks(PART));
    let of_part = |(a, b): (&[u8], &[i8])| match level.0 {
        // SAFETY: a level is only made where the processor has what the function was compiled for.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => unsafe { dot_avx512(a, b) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 => unsafe { dot_avx2(a, b) },
        Instructions::Baseline => dot(a, b),
    };
    parts.map(of_part).map(i64::from).sum()
}

fn dot(a: &[u8], b: &[i8]) -> i32 {
    let products = zip(a, b).map(|(&a, &b)| i32::from(a) * i32::from(b));
    products.fold(0, i32::wrapping_add)
}

/// A function that is [`dot`], with registers of `$width` bytes: four sums, to each of which the products of pairs of
/// neighbors are added in pairs.
#[cfg(target_arch = "x86_64")]
macro_rules! dot_by_registers {
    ($name:ident, $features:literal, $width:literal, $register:ident, $multiply_pairs:ident, $add_pairs:ident, $add:ident) => {
        #[target_feature(enable = $features)]
        fn $name(a: &[u8], b: &[i8]) -> i32 {
            use std::arch::x86_64::{
                $add as add, $add_pairs as add_pairs, $multiply_pairs as multiply_pairs,
                $register as Register,
            };
            let ones: Register = bytemuck::cast([1_i16; $width / 2]);
            let mut sums: [Register; 4] = [bytemuck::cast([0_i32; $width / 4]); 4];
            let (a, a_rest) = a.as_chunks::<$width>();
            let (b, b_rest) = b.as_chunks::<$width>();
            let (a_fours, a_few) = a.as_chunks::<4>();
            let (b_fours, b_few) = b.as_chunks::<4>();
            let add_products = |sum: &mut Register, a: &[u8; $width], b: &[i8; $width]| {
                let products = multiply_pairs(bytemuck::cast(*a), bytemuck::cast(*b));
                *sum = add(*sum, add_pairs(products, ones));
            };
            for (a, b) in zip(a_fours, b_fours) {
                for i in 0..4 {
                    add_products(&mut sums[i], &a[i], &b[i]);
                }
            }
            for (a, b) in zip(a_few, b_few) {
                add_products(&mut sums[0], a, b);
            }
            let lanes: [i32; $width] = bytemuck::cast(sums);
            lanes
                .iter()
                .fold(dot(a_rest, b_rest), |sum, &lane| sum.wrapping_add(lane))
        }
    };
}

#[cfg(target_arch = "x86_64")]
dot_by_registers!(
    dot_avx512,
    "avx512f,avx512bw",
    64,
    __m512i,
    _mm512_maddubs_epi16,
    _mm512_madd_epi16,
    _mm512_add_epi32
);
#[cfg(target_arch = "x86_64")]
dot_by_registers!(
    dot_avx2,
    "avx2",
    32,
    __m256i,
    _mm256_maddubs_epi16,
    _mm256_madd_epi16,
    _mm256_add_epi32
);

#[cfg(test)]
mod tests {
    use super::{MOST, PART, int8_dot};
    use crate::simd::Level;

    #[test]
    fn every_level_adds_the_same_products() {
        for len in [
            0,
            1,
            31,
            32,
            63,
            64,
            100,
            255,
            256,
            257,
            1000,
            3 * PART + 77,
        ] {
            let a: Vec<u8> = (0..len).map(|i| (i * 31 % 128) as u8).collect();
            let b: Vec<i8> = (0..len).map(|i| (i * 77 % 256) as u8 as i8).collect();
            let exact = a.iter().zip(&b).map(|(&a, &b)| i64::from(a) * i64::from(b));
            let exact: i64 = exact.sum();
            for level in Level::all() {
                assert_eq!(int8_dot(level, &a, &b), exact, "{level:?} {len}");
            }
        }
        let (a, b) = (vec![MOST; 2 * PART], vec![i8::MIN; 2 * PART]);
        for level in Level::all() {
            assert_eq!(int8_dot(level, &a, &b), -127 * 128 * 2 * PART as i64);
        }
    }
}
