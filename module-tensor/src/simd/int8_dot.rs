//! Sums of products of whole numbers of 8 bits.

use super::{Instructions, Level};
use crate::zip::{zip, zip_mut};

/// The greatest first factor: two products then fit into 16 bits.
pub(crate) const MOST: u8 = 127;

/// The elements whose products are added in 32 bits, which cannot overflow.
const PART: usize = 1 << 16;

/// `Σ aᵢ bᵢ` for each line `b`, all of them as long as `a`, exactly; no `aᵢ` is above [`MOST`].
pub(crate) fn int8_dots<const LINES: usize>(
    level: Level,
    a: &[u8],
    b: [&[i8]; LINES],
) -> [i64; LINES] {
    let mut sums = [0; LINES];
    for start in (0..a.len()).step_by(PART) {
        let part = start..a.len().min(start + PART);
        let (a, b) = (&a[part.clone()], b.map(|b| &b[part.clone()]));
        let products = match level.0 {
            // SAFETY: a level is only made where the processor has what the function was compiled for.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { dots_avx512(a, b) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { dots_avx2(a, b) },
            Instructions::Baseline => b.map(|b| dot(a, b)),
        };
        for (sum, products) in zip_mut(&mut sums, &products) {
            *sum += i64::from(*products);
        }
    }
    sums
}

fn dot(a: &[u8], b: &[i8]) -> i32 {
    let products = zip(a, b).map(|(&a, &b)| i32::from(a) * i32::from(b));
    products.fold(0, i32::wrapping_add)
}

/// A function that is [`dot`] of each line, with registers of `$width` bytes: to the sums of a line the products of pairs of
/// neighbors are added in pairs.
#[cfg(target_arch = "x86_64")]
macro_rules! dots_by_registers {
    ($name:ident, $features:literal, $width:literal, $register:ident, $multiply_pairs:ident, $add_pairs:ident, $add:ident) => {
        #[target_feature(enable = $features)]
        fn $name<const LINES: usize>(a: &[u8], b: [&[i8]; LINES]) -> [i32; LINES] {
            use std::arch::x86_64::{
                $add as add, $add_pairs as add_pairs, $multiply_pairs as multiply_pairs,
                $register as Register,
            };
            let ones: Register = bytemuck::cast([1_i16; $width / 2]);
            let mut sums: [Register; LINES] = [bytemuck::cast([0_i32; $width / 4]); LINES];
            let (blocks, rest) = a.as_chunks::<$width>();
            // One length for all, so that it is checked once.
            let lines = b.map(|b| &b.as_chunks::<$width>().0[..blocks.len()]);
            for (i, block) in blocks.iter().enumerate() {
                for (sum, line) in zip_mut(&mut sums, &lines) {
                    let products = multiply_pairs(bytemuck::cast(*block), bytemuck::cast(line[i]));
                    *sum = add(*sum, add_pairs(products, ones));
                }
            }
            // Loops, because a closure would not be compiled for these registers.
            let mut all = [0; LINES];
            for (i, all) in all.iter_mut().enumerate() {
                let lanes: [i32; $width / 4] = bytemuck::cast(sums[i]);
                *all = dot(rest, &b[i][a.len() - rest.len()..]);
                for lane in lanes {
                    *all = all.wrapping_add(lane);
                }
            }
            all
        }
    };
}

#[cfg(target_arch = "x86_64")]
dots_by_registers!(
    dots_avx512,
    "avx512f,avx512bw",
    64,
    __m512i,
    _mm512_maddubs_epi16,
    _mm512_madd_epi16,
    _mm512_add_epi32
);
#[cfg(target_arch = "x86_64")]
dots_by_registers!(
    dots_avx2,
    "avx2",
    32,
    __m256i,
    _mm256_maddubs_epi16,
    _mm256_madd_epi16,
    _mm256_add_epi32
);

#[cfg(test)]
mod tests {
    use super::{MOST, PART, int8_dots};
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
            let lines = [77, 51, 3].map(|factor| -> Vec<i8> {
                (0..len).map(|i| (i * factor % 256) as u8 as i8).collect()
            });
            let lines = lines.each_ref().map(Vec::as_slice);
            let exact = |b: &[i8]| -> i64 {
                let products = a.iter().zip(b).map(|(&a, &b)| i64::from(a) * i64::from(b));
                products.sum()
            };
            for level in Level::all() {
                let sums = int8_dots(level, &a, lines);
                assert_eq!(sums, lines.map(exact), "{level:?} {len}");
                assert_eq!(
                    int8_dots(level, &a, [lines[1]]),
                    [sums[1]],
                    "{level:?} {len}"
                );
            }
        }
        let (a, b) = (vec![MOST; 2 * PART], vec![i8::MIN; 2 * PART]);
        for level in Level::all() {
            let least = -127 * 128 * 2 * PART as i64;
            assert_eq!(int8_dots(level, &a, [&b, &b]), [least; 2]);
        }
    }
}
