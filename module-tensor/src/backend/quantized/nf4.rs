// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

mod dynamic_map;

use std::ops::Range;

use super::super::{CodeOrder, CodeTables, CodedRows, Device, PackedRuns};
use super::shared::{HostPacked, check_dtype, check_finite, check_len};
use crate::simd::{Loop, run_at_best_level};
use crate::zip::zip_mut;
use crate::{DType, Error, Result};

/// Codes of the 16 values of `NormalFloat4`, with the maximum absolute value of each block: `absmax · value[code]`. With
/// the values of `fp4`, which bitsandbytes also has, the scheme is `fp4`.
///
/// The maximum absolute values are numbers, or are themselves rounded to 8-bit codes, in blocks with their own maximum,
/// after subtracting their mean (double quantization). Of two codes in a byte, the first is in the upper half. Blocks
/// follow the elements in row-major order and may extend over several rows.
///
/// Source: Dettmers, Pagnoni, Holtzman and Zettlemoyer, *QLoRA: Efficient Finetuning of Quantized LLMs* (2023);
/// values, bytes and their order are those of bitsandbytes.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{Nf4Absmax, Nf4Parts, Nf4Storage, Storage};
/// use module_tensor::{DType, Layout, Tensor};
///
/// let parts = Nf4Parts::quantize(&[4.0, -4.0, 0.0, 1.0], 4, false, DType::F32)?;
/// let storage = Nf4Storage::new(parts)?;
/// let parts = storage.parts();
/// assert!(matches!(&parts.absmax, Nf4Absmax::Plain(greatest) if greatest[..] == [4.0]));
/// assert!(!parts.is_fp4());
/// assert_eq!(parts.codes, [0xf0, 0x7a]); // The codes 15, 0, 7 and 10.
/// let x = Tensor::from_storage(Storage::new(storage), Layout::contiguous(4.into()));
/// let quarter = 4.0 * Nf4Parts::VALUES[10];
/// assert_eq!(x.unpack()?.to_vec::<f32>()?, [4.0, -4.0, 0.0, quarter]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Nf4Storage {
    parts: Nf4Parts,
    /// One for each block.
    absmax: Vec<f32>,
    /// The two values of each byte.
    pairs: Vec<[f32; 2]>,
    device: Device,
}

/// The parts of an [`Nf4Storage`].
#[derive(Clone, Debug)]
pub struct Nf4Parts {
    /// Two codes in each byte; the last one is half used if the number of elements is odd.
    pub codes: Vec<u8>,
    /// The number of elements.
    pub numel: usize,
    /// The value of each code.
    pub values: [f32; 16],
    /// The number of elements in a block.
    pub block_size: usize,
    /// The maximum absolute values of blocks.
    pub absmax: Nf4Absmax,
    /// The dtype of unpacked elements.
    pub dtype: DType,
}

/// The maximum absolute values of blocks.
#[derive(Clone, Debug)]
pub enum Nf4Absmax {
    /// One number for each block.
    Plain(Vec<f32>),
    /// A code for each block: `offset + absmax[block] · values[code]`.
    Nested {
        /// One for each block of elements.
        codes: Vec<u8>,
        /// The value of each code.
        values: Vec<f32>,
        /// The maximum absolute value of each block of codes.
        absmax: Vec<f32>,
        /// The number of codes in a block.
        block_size: usize,
        /// The mean that was subtracted.
        offset: f32,
    },
}

/// The name in errors.
const NAME: &str = "nf4";

/// The divisor of a block of zeros.
const LEAST: f32 = 1e-38;

impl Nf4Parts {
    /// The values of `NormalFloat4`: quantiles of the normal distribution, scaled to [-1, 1], with an exact zero.
    pub const VALUES: [f32; 16] = [
        -1.0,
        -0.696_192_8,
        -0.525_073_05,
        -0.394_917_5,
        -0.284_441_38,
        -0.184_773_43,
        -0.091_050_036,
        0.0,
        0.079_580_3,
        0.160_930_2,
        0.246_112_3,
        0.337_915_24,
        0.440_709_83,
        0.562_617,
        0.722_956_84,
        1.0,
    ];

    /// The values of `fp4` by their codes: a sign, two exponent bits and one fraction bit, divided by the largest value.
    /// bitsandbytes files may contain them; nothing is packed with them here.
    pub const FP4_VALUES: [f32; 16] = [
        0.0,
        5.208_333_5e-3,
        0.666_666_7,
        1.0,
        0.333_333_34,
        0.5,
        0.166_666_67,
        0.25,
        0.0,
        -5.208_333_5e-3,
        -0.666_666_7,
        -1.0,
        -0.333_333_34,
        -0.5,
        -0.166_666_67,
        -0.25,
    ];

    /// Whether the values are those of `fp4`.
    pub fn is_fp4(&self) -> bool {
        self.values == Self::FP4_VALUES
    }

    /// The block size of double quantization.
    const NESTED_BLOCK: usize = 256;

    /// Rounds blocks of elements and, with `double`, also the maximum absolute values of blocks.
    ///
    /// # Errors
    ///
    /// Elements that are not finite, blocks of an odd number of elements.
    pub fn quantize(values: &[f32], block_size: usize, double: bool, dtype: DType) -> Result<Self> {
        check_finite(NAME, values)?;
        check_block_size(block_size)?;
        let mut codes = Vec::with_capacity(values.len().div_ceil(2));
        let mut absmax = Vec::with_capacity(values.len().div_ceil(block_size));
        let mut of_block = vec![0; block_size];
        for block in values.chunks(block_size) {
            let greatest = block.iter().fold(0.0_f32, |most, v| most.max(v.abs()));
            absmax.push(greatest);
            // The last byte is padded with a zero.
            of_block.fill(7);
            run_at_best_level(Round(block, greatest, &mut of_block));
            let pairs = of_block[..block.len().next_multiple_of(2)]
                .as_chunks::<2>()
                .0;
            codes.extend(pairs.iter().map(|[first, second]| first << 4 | second));
        }
        Ok(Self {
            codes,
            numel: values.len(),
            values: Self::VALUES,
            block_size,
            absmax: match double {
                true => Nf4Absmax::nested(&absmax, Self::NESTED_BLOCK),
                false => Nf4Absmax::Plain(absmax),
            },
            dtype,
        })
    }
}

fn check_block_size(size: usize) -> Result<()> {
    if size > 0 && size.is_multiple_of(2) {
        return Ok(());
    }
    Err(Error::argument(
        NAME,
        "block_size",
        size,
        "must be even and at least 2",
    ))
}

/// Rounds a block: each element divided by the maximum absolute value to the nearest of the values.
struct Round<'a>(&'a [f32], f32, &'a mut [u8]);

impl Loop for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self(block, absmax, codes) = self;
        let inverse = 1.0 / absmax.max(LEAST);
        let mut bounds = [0.0; 15];
        for (i, bound) in bounds.iter_mut().enumerate() {
            *bound = f32::midpoint(Nf4Parts::VALUES[i], Nf4Parts::VALUES[i + 1]);
        }
        for (code, v) in zip_mut(codes, block) {
            let v = v * inverse;
            *code = bounds.iter().map(|&bound| u8::from(v > bound)).sum();
        }
    }
}

impl Nf4Absmax {
    /// Rounds numbers to the values of bitsandbytes' dynamic map, after subtracting their mean.
    fn nested(absmax: &[f32], block_size: usize) -> Self {
        let sum: f64 = absmax.iter().copied().map(f64::from).sum();
        let offset = (sum / absmax.len().max(1) as f64) as f32;
        let values = dynamic_map::values();
        let (mut codes, mut greatest_of_blocks) = (Vec::with_capacity(absmax.len()), Vec::new());
        for block in absmax.chunks(block_size) {
            let greatest = block
                .iter()
                .fold(0.0_f32, |most, v| most.max((v - offset).abs()));
            greatest_of_blocks.push(greatest);
            let divisor = greatest.max(LEAST);
            let code = |v: &f32| dynamic_map::nearest(&values, (v - offset) / divisor);
            codes.extend(block.iter().map(code));
        }
        Self::Nested {
            codes,
            values,
            absmax: greatest_of_blocks,
            block_size,
            offset,
        }
    }

    /// One number for each of this many blocks.
    fn numbers(&self, blocks: usize) -> Result<Vec<f32>> {
        match self {
            Self::Plain(absmax) => {
                check_len(NAME, "absmax", absmax.len(), blocks)?;
                Ok(absmax.clone())
            }
            Self::Nested {
                codes,
                values,
                absmax,
                block_size,
                offset,
            } => {
                check_len(NAME, "absmax", codes.len(), blocks)?;
                check_len(NAME, "nested_quant_map", values.len(), 256)?;
                check_block_size(*block_size)?;
                let needed = blocks.div_ceil(*block_size);
                check_len(NAME, "nested_absmax", absmax.len(), needed)?;
                let number = |(i, code): (usize, &u8)| {
                    values[usize::from(*code)] * absmax[i / block_size] + offset
                };
                Ok(codes.iter().enumerate().map(number).collect())
            }
        }
    }

    fn size_in_bytes(&self) -> usize {
        match self {
            Self::Plain(absmax) => size_of_val(&**absmax),
            Self::Nested { codes, absmax, .. } => codes.len() + size_of_val(&**absmax),
        }
    }
}

impl Nf4Storage {
    /// A storage of these parts.
    ///
    /// # Errors
    ///
    /// A number of codes that does not match the elements, or of absolute values that does not match the blocks; blocks
    /// with an odd number of elements; a dtype other than `F32`, `F16` and `BF16`.
    pub fn new(parts: Nf4Parts) -> Result<Self> {
        check_dtype(NAME, parts.dtype)?;
        check_block_size(parts.block_size)?;
        check_len(NAME, "codes", parts.codes.len(), parts.numel.div_ceil(2))?;
        let absmax = parts
            .absmax
            .numbers(parts.numel.div_ceil(parts.block_size))?;
        let value = |code: usize| parts.values[code];
        let pairs = (0..256).map(|byte| [value(byte >> 4), value(byte & 15)]);
        let (pairs, device) = (pairs.collect(), Device::cpu());
        Ok(Self {
            parts,
            absmax,
            pairs,
            device,
        })
    }

    /// Its parts.
    pub fn parts(&self) -> &Nf4Parts {
        &self.parts
    }
}

impl HostPacked for Nf4Storage {
    fn scheme(&self) -> &'static str {
        match self.parts.is_fp4() {
            true => "fp4",
            false => NAME,
        }
    }

    fn numel(&self) -> usize {
        self.parts.numel
    }

    fn size_in_bytes(&self) -> usize {
        self.parts.codes.len() + self.parts.absmax.size_in_bytes()
    }

    fn dtype(&self) -> DType {
        self.parts.dtype
    }

    fn device(&self) -> Device {
        self.device
    }

    fn on(&self, device: Device) -> Self {
        Self {
            device,
            ..self.clone()
        }
    }
}

impl PackedRuns for Nf4Storage {
    fn group(&self) -> usize {
        self.parts.block_size
    }

    fn coded_rows(&self) -> Option<CodedRows<'_>> {
        Some(CodedRows {
            codes: &self.parts.codes,
            order: CodeOrder::UpperFirst,
            block_size: self.parts.block_size,
            scales: &self.absmax,
            tables: CodeTables::Same(&self.parts.values),
        })
    }

    fn unpack_run(&self, run: Range<usize>, out: &mut [f32]) {
        let size = self.parts.block_size;
        run_at_best_level(Unpack {
            codes: &self.parts.codes[run.start / 2..run.end.div_ceil(2)],
            absmax: &self.absmax[run.start / size..run.end.div_ceil(size)],
            pairs: &self.pairs,
            size,
            out,
        });
    }
}

/// Unpacks blocks, the last of which may be incomplete.
struct Unpack<'a> {
    codes: &'a [u8],
    absmax: &'a [f32],
    pairs: &'a [[f32; 2]],
    size: usize,
    out: &'a mut [f32],
}

impl Loop for Unpack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // A table whose length needs no bounds check.
        let Some(table) = self.pairs.first_chunk::<256>() else {
            return;
        };
        let blocks = self.codes.chunks(self.size / 2).zip(self.absmax);
        for ((codes, &absmax), out) in blocks.zip(self.out.chunks_mut(self.size)) {
            let (pairs, last) = out.as_chunks_mut::<2>();
            for (pair, &code) in zip_mut(pairs, codes) {
                *pair = table[usize::from(code)];
            }
            if let ([last], Some(&code)) = (last, codes.last()) {
                [*last, _] = table[usize::from(code)];
            }
            out.iter_mut().for_each(|out| *out *= absmax);
        }
    }
}
