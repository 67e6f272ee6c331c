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

impl<'a> CodedBlocks<'a> {
    /// `Σ number · input`. Products are added in 16 lanes over a block, then blocks in lanes, then lanes.
    pub(crate) fn dot(self, level: Level, inputs: &[Inputs]) -> f32 {
        match level.0 {
            // SAFETY: a level is only made where the processor has what the function was compiled for.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { dot_avx512(self, inputs) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { dot_avx2(self, inputs) },
            Instructions::Baseline => {
                self.dot_by(inputs, (as_it_is, look_up_one_by_one, baseline_fused))
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn dot_by<P>(
        self,
        inputs: &[Inputs],
        by: (impl Prepare<'a, P>, impl LookUp<P>, impl Fused),
    ) -> f32 {
        match self.block {
            16 => self.dot_of_blocks::<P, 1>(inputs, by),
            32 => self.dot_of_blocks::<P, 2>(inputs, by),
            64 => self.dot_of_blocks::<P, 4>(inputs, by),
            _ => self.dot_of_blocks::<P, 8>(inputs, by),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn dot_of_blocks<P, const PARTS: usize>(
        self,
        inputs: &[Inputs],
        (prepare, look_up, fused): (impl Prepare<'a, P>, impl LookUp<P>, impl Fused),
    ) -> f32 {
        match self.tables {
            CodeTables::Same(table) => {
                let table = prepare(table);
                let tables = std::iter::repeat(&table);
                self.dot_with::<P, PARTS>(inputs, tables, (look_up, fused))
            }
            CodeTables::OfBlock(tables, of_block) => {
                let tables: [P; 16] = std::array::from_fn(|i| prepare(&tables[i]));
                let tables = of_block.iter().map(|&t| &tables[usize::from(t & 15)]);
                self.dot_with::<P, PARTS>(inputs, tables, (look_up, fused))
            }
        }
    }

    /// With the table of each block.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn dot_with<'t, P: 't, const PARTS: usize>(
        self,
        inputs: &[Inputs],
        tables: impl Iterator<Item = &'t P>,
        (look_up, fused): (impl LookUp<P>, impl Fused),
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

/// A table in the form in which it is looked up.
trait Prepare<'a, P>: Fn(&'a [f32; 16]) -> P + Copy {}

impl<'a, P, F: Fn(&'a [f32; 16]) -> P + Copy> Prepare<'a, P> for F {}

fn as_it_is(table: &[f32; 16]) -> &[f32; 16] {
    table
}

/// The numbers that the codes of bytes are: those of the lower halves, then those of the upper ones.
trait LookUp<P>: Fn(&P, &[u8; BYTES]) -> Inputs + Copy {}

impl<P, F: Fn(&P, &[u8; BYTES]) -> Inputs + Copy> LookUp<P> for F {}

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

fn look_up_one_by_one(table: &&[f32; 16], codes: &[u8; BYTES]) -> Inputs {
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
    let number_of = |table: &&[f32; 16], codes: &[u8; BYTES]| {
        let table: __m512 = bytemuck::cast(**table);
        let codes = widen(bytemuck::cast::<_, __m128i>(*codes));
        // The lowest four bits are what is looked up.
        let [low, high] = [
            look_up(codes, table),
            look_up(shift_right::<4>(codes), table),
        ];
        [bytemuck::cast(low), bytemuck::cast(high)]
    };
    blocks.dot_by(inputs, (as_it_is, number_of, f32::mul_add))
}

/// The numbers are looked up byte by byte: of 32 codes the first bytes, the second ones and so on, which are then
/// interleaved.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn dot_avx2(blocks: CodedBlocks<'_>, inputs: &[Inputs]) -> f32 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_setr_epi8 as bytes, _mm_shuffle_epi8 as pick,
        _mm_unpackhi_epi32 as join_last, _mm_unpackhi_epi64 as last_halves,
        _mm_unpacklo_epi32 as join_first, _mm_unpacklo_epi64 as first_halves,
        _mm256_and_si256 as and, _mm256_broadcastsi128_si256 as twice, _mm256_set1_epi8 as all,
        _mm256_setr_epi32 as numbers, _mm256_setr_m128i as pair, _mm256_shuffle_epi8 as look_up,
        _mm256_srlv_epi32 as shift_right, _mm256_unpackhi_epi8 as join_last_bytes,
        _mm256_unpackhi_epi16 as join_last_pairs, _mm256_unpacklo_epi8 as join_first_bytes,
        _mm256_unpacklo_epi16 as join_first_pairs,
    };
    // The bytes of each of four numbers, side by side.
    let by_byte = bytes(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    let prepare = |table: &[f32; 16]| {
        let numbers: [__m128i; 4] = bytemuck::cast(*table);
        let [a, b, c, d] = numbers.map(|numbers| pick(numbers, by_byte));
        let (first, last) = (
            [join_first(a, b), join_first(c, d)],
            [join_last(a, b), join_last(c, d)],
        );
        [
            first_halves(first[0], first[1]),
            last_halves(first[0], first[1]),
            first_halves(last[0], last[1]),
            last_halves(last[0], last[1]),
        ]
    };
    // Interleaved, groups of four codes become one register after the other, half of it in each half.
    let order = pair(
        bytes(0, 1, 2, 3, 8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11),
        bytes(4, 5, 6, 7, 12, 13, 14, 15, 4, 5, 6, 7, 12, 13, 14, 15),
    );
    let (halves, mask) = (numbers(0, 0, 4, 4, 0, 0, 4, 4), all(15));
    let number_of = |table: &[__m128i; 4], codes: &[u8; BYTES]| {
        let codes = look_up(twice(bytemuck::cast(*codes)), order);
        let codes = and(shift_right(codes, halves), mask);
        let [a, b, c, d] = table.map(|bytes| look_up(twice(bytes), codes));
        let low = [join_first_bytes(a, b), join_first_bytes(c, d)];
        let high = [join_last_bytes(a, b), join_last_bytes(c, d)];
        let numbers =
            |[a, b]: [__m256i; 2]| bytemuck::cast([join_first_pairs(a, b), join_last_pairs(a, b)]);
        [numbers(low), numbers(high)]
    };
    blocks.dot_by(inputs, (prepare, number_of, f32::mul_add))
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
