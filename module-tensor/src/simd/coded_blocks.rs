//! Products of numbers that are codes of 4 bits with inputs, computed from the codes.

use super::{Instructions, Level};
use crate::zip::{zip, zip_mut, zip_mut2};

/// The codes that are looked up together: two in each byte.
pub(crate) const BYTES: usize = 16;

/// The inputs of [`BYTES`] bytes: those of the lower halves, then those of the upper ones.
pub(crate) type Inputs = [[f32; BYTES]; 2];

/// Numbers `scale · table[code]`, with a scale and a table for each block.
#[derive(Clone, Copy)]
pub(crate) struct CodedBlocks<'a> {
    /// The codes of all blocks.
    pub(crate) codes: &'a [u8],
    /// The bytes of a block; see [`has_loop`].
    pub(crate) block: usize,
    /// One for each block.
    pub(crate) scales: &'a [f32],
    pub(crate) tables: CodeTables<'a>,
}

/// The values of codes of 4 bits.
#[derive(Clone, Copy, Debug)]
pub enum CodeTables<'a> {
    /// The same for all blocks.
    Same(&'a [f32; 16]),
    /// One of 16 for each block, whose lower half of a byte says which.
    OfBlock(&'a [[f32; 16]; 16], &'a [u8]),
}

impl CodeTables<'_> {
    /// Those of the blocks after the first few.
    pub(crate) fn skip_blocks(self, first: usize) -> Self {
        match self {
            Self::Same(_) => self,
            Self::OfBlock(tables, of_block) => {
                Self::OfBlock(tables, of_block.get(first..).unwrap_or_default())
            }
        }
    }
}

/// Whether there is a loop for blocks of so many bytes.
pub(crate) fn has_loop(block: usize) -> bool {
    [16, 32, 64, 128].contains(&block)
}

impl CodedBlocks<'_> {
    /// `Σ number · input`. Products are added in 16 lanes over a block, then blocks in lanes, then lanes.
    pub(crate) fn dot(self, level: Level, inputs: &[Inputs]) -> f32 {
        match level.0 {
            // SAFETY: a level is only made where the processor has what the function was compiled for.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { dot_avx512(self, inputs) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { dot_avx2(self, inputs) },
            Instructions::Baseline => self.dot_by(inputs, (look_up_one_by_one, baseline_fused)),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn dot_by(self, inputs: &[Inputs], (look_up, fused): (impl LookUp, impl Fused)) -> f32 {
        match self.block {
            16 => self.dot_of_blocks::<1>(inputs, (look_up, fused)),
            32 => self.dot_of_blocks::<2>(inputs, (look_up, fused)),
            64 => self.dot_of_blocks::<4>(inputs, (look_up, fused)),
            _ => self.dot_of_blocks::<8>(inputs, (look_up, fused)),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn dot_of_blocks<const PARTS: usize>(
        self,
        inputs: &[Inputs],
        (look_up, fused): (impl LookUp, impl Fused),
    ) -> f32 {
        match self.tables {
            CodeTables::Same(table) => {
                self.dot_with::<PARTS>(inputs, std::iter::repeat(table), (look_up, fused))
            }
            CodeTables::OfBlock(tables, of_block) => {
                let tables = of_block.iter().map(|&t| &tables[usize::from(t & 15)]);
                self.dot_with::<PARTS>(inputs, tables, (look_up, fused))
            }
        }
    }

    /// With the table of each block.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn dot_with<'t, const PARTS: usize>(
        self,
        inputs: &[Inputs],
        tables: impl Iterator<Item = &'t [f32; 16]>,
        (look_up, fused): (impl LookUp, impl Fused),
    ) -> f32 {
        let codes = self.codes.as_chunks::<BYTES>().0.as_chunks::<PARTS>().0;
        let inputs = inputs.as_chunks::<PARTS>().0;
        let mut sums = [0.0; BYTES];
        for (((codes, inputs), &scale), table) in
            codes.iter().zip(inputs).zip(self.scales).zip(tables)
        {
            let mut of_block = [0.0; BYTES];
            for (codes, inputs) in zip(codes, inputs) {
                for (numbers, inputs) in zip(&look_up(table, codes), inputs) {
                    for (sum, number, input) in zip_mut2(&mut of_block, numbers, inputs) {
                        *sum = fused(*number, *input, *sum);
                    }
                }
            }
            for (sum, of_block) in zip_mut(&mut sums, &of_block) {
                *sum = fused(*of_block, scale, *sum);
            }
        }
        sum_of_lanes(&sums)
    }
}

/// The numbers that the codes of bytes are: those of the lower halves, then those of the upper ones.
trait LookUp: Fn(&[f32; 16], &[u8; BYTES]) -> Inputs + Copy {}

impl<F: Fn(&[f32; 16], &[u8; BYTES]) -> Inputs + Copy> LookUp for F {}

/// `a · b + c`, rounded once where there is an instruction for it.
trait Fused: Fn(f32, f32, f32) -> f32 + Copy {}

impl<F: Fn(f32, f32, f32) -> f32 + Copy> Fused for F {}

/// Without the instruction a fused multiply-add is a call.
fn baseline_fused(a: f32, b: f32, c: f32) -> f32 {
    match cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        true => a.mul_add(b, c),
        false => a * b + c,
    }
}

/// The sum of lanes in pairs.
///
/// It is not part of the loop, which is made for it else: of lanes in pairs, not of whole vectors.
#[inline(never)]
fn sum_of_lanes(lanes: &[f32; BYTES]) -> f32 {
    let mut sums = *lanes;
    let mut half = BYTES / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}

fn look_up_one_by_one(table: &[f32; 16], codes: &[u8; BYTES]) -> Inputs {
    let low = codes.map(|code| table[usize::from(code & 15)]);
    let high = codes.map(|code| table[usize::from(code >> 4)]);
    [low, high]
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,fma")]
fn dot_avx512(blocks: CodedBlocks<'_>, inputs: &[Inputs]) -> f32 {
    use std::arch::x86_64::{
        __m128i, __m512, _mm512_cvtepu8_epi32 as widen, _mm512_permutexvar_ps as look_up,
        _mm512_srli_epi32 as shift_right,
    };
    let number_of = |table: &[f32; 16], codes: &[u8; BYTES]| {
        let table: __m512 = bytemuck::cast(*table);
        let codes = widen(bytemuck::cast::<_, __m128i>(*codes));
        // The lowest four bits are what is looked up.
        let [low, high] = [
            look_up(codes, table),
            look_up(shift_right::<4>(codes), table),
        ];
        [bytemuck::cast(low), bytemuck::cast(high)]
    };
    blocks.dot_by(inputs, (number_of, f32::mul_add))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dot_avx2(blocks: CodedBlocks<'_>, inputs: &[Inputs]) -> f32 {
    use std::arch::x86_64::{
        __m128i, __m256, __m256i, _mm_srli_si128 as bytes_from, _mm256_blendv_ps as choose,
        _mm256_castsi256_ps as as_floats, _mm256_cvtepu8_epi32 as widen,
        _mm256_permutevar8x32_ps as look_up, _mm256_slli_epi32 as shift_left,
        _mm256_srli_epi32 as shift_right,
    };
    let number_of = |table: &[f32; 16], codes: &[u8; BYTES]| {
        let [first, last]: [__m256; 2] = bytemuck::cast(*table);
        // Half of the table by the lowest three bits; the fourth, moved to the sign, chooses the half.
        let number = |codes: __m256i| {
            let halves = [look_up(first, codes), look_up(last, codes)];
            choose(halves[0], halves[1], as_floats(shift_left::<28>(codes)))
        };
        let codes: __m128i = bytemuck::cast(*codes);
        let codes = [widen(codes), widen(bytes_from::<8>(codes))];
        let low = codes.map(number);
        let high = codes.map(|codes| number(shift_right::<4>(codes)));
        [bytemuck::cast(low), bytemuck::cast(high)]
    };
    blocks.dot_by(inputs, (number_of, f32::mul_add))
}

#[cfg(test)]
mod tests {
    use super::{BYTES, CodeTables, CodedBlocks, Inputs, has_loop};
    use crate::simd::Level;

    #[test]
    fn every_level_looks_up_every_code() {
        let codes: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        let value = |i: usize| ((i * 7919) % 1013) as f32 / 512.0 - 1.0;
        let tables: [[f32; 16]; 16] =
            std::array::from_fn(|t| std::array::from_fn(|i| value(16 * t + i)));
        let inputs: Vec<Inputs> = (0..codes.len() / BYTES)
            .map(|c| std::array::from_fn(|h| std::array::from_fn(|i| value(32 * c + 16 * h + i))))
            .collect();
        for block in [16, 32, 64, 128] {
            assert!(has_loop(block));
            let count = codes.len() / block;
            let scales: Vec<f32> = (0..count).map(|i| 0.1 + i as f32).collect();
            let of_block: Vec<u8> = (0..count).map(|i| (i * 5 % 16) as u8).collect();
            for is_same in [false, true] {
                let blocks = CodedBlocks {
                    codes: &codes,
                    block,
                    scales: &scales,
                    tables: match is_same {
                        true => CodeTables::Same(&tables[7]),
                        false => CodeTables::OfBlock(&tables, &of_block),
                    },
                };
                let (mut exact, mut magnitude) = (0.0, 0.0);
                for (at, byte) in codes.iter().enumerate() {
                    let table = if is_same { 7 } else { at / block * 5 % 16 };
                    let table = tables[table].map(f64::from);
                    let [low, high] = inputs[at / BYTES].map(|half| f64::from(half[at % BYTES]));
                    let [l, h] = [byte & 15, byte >> 4].map(|code| table[usize::from(code)]);
                    let scale = f64::from(scales[at / block]);
                    exact += scale * (l * low + h * high);
                    magnitude += scale * ((l * low).abs() + (h * high).abs());
                }
                let levels = Level::all().into_iter();
                let mut dots: Vec<f32> = levels.map(|level| blocks.dot(level, &inputs)).collect();
                for dot in &dots {
                    let error = (f64::from(*dot) - exact).abs();
                    assert!(error < 1e-6 * magnitude, "{block} {is_same}: {dot} {exact}");
                }
                // The last is the least, which need not have fused multiply-adds.
                dots.truncate(dots.len().max(2) - 1);
                for dot in &dots {
                    assert_eq!(dot.to_bits(), dots[0].to_bits());
                }
            }
        }
    }
}
