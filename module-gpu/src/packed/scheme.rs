//! The schemes whose elements kernels unpack, and their storages in host memory.

use module_tensor::backend::{
    BlockFormat, BlockStorage, Int4Parts, Int4Storage, Int8Parts, Int8Storage, Nf4Absmax, Nf4Parts,
    Nf4Storage, SharedBytes, Storage,
};
use module_tensor::{DType, Result};

use super::parts::Parts;

/// How elements are packed; the comments list the parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scheme {
    /// Codes, scales.
    Int8 {
        group_size: usize,
        rounds_inputs: bool,
    },
    /// Codes, scales, zero points.
    Int4 { group_size: usize },
    /// Codes, the values of codes, and the maximum of each block; or, if these are nested, their codes, the values of those
    /// codes, and the maximum of each block of them.
    FourBit {
        name: &'static str,
        block_size: usize,
        nested: Option<Nested>,
    },
    /// Blocks of ggml.
    Blocks(BlockFormat),
}

/// Maxima of blocks that are themselves packed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Nested {
    pub(super) block_size: usize,
    pub(super) offset: f32,
}

/// The values of the codes of nested maxima.
const NESTED_VALUES: usize = 256;

impl Scheme {
    /// The scheme of a storage in host memory, and its parts; `None` for schemes without a kernel.
    pub(super) fn of(storage: &Storage) -> Option<(Self, Parts<'_>)> {
        if let Some(int8) = storage.downcast_ref::<Int8Storage>() {
            return Some(of_int8(int8.parts()));
        }
        if let Some(int4) = storage.downcast_ref::<Int4Storage>() {
            return Some(of_int4(int4.parts()));
        }
        if let Some(nf4) = storage.downcast_ref::<Nf4Storage>() {
            let name = storage.packed().map_or("nf4", |packed| packed.scheme());
            return Some(of_four_bit(name, nf4.parts()));
        }
        let blocks: &BlockStorage = storage.downcast_ref()?;
        let format = blocks.format();
        let is_known = matches!(
            format,
            BlockFormat::Q8_0 | BlockFormat::Q4_0 | BlockFormat::Q4K | BlockFormat::Q6K
        );
        is_known.then(|| (Self::Blocks(format), Parts::one(blocks.bytes())))
    }

    /// The name of the scheme, as in host memory.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Int8 {
                rounds_inputs: true,
                ..
            } => "int8_dynamic",
            Self::Int8 { .. } => "int8",
            Self::Int4 { .. } => "int4",
            Self::FourBit { name, .. } => name,
            Self::Blocks(format) => format.name(),
        }
    }

    /// The storage in host memory with these parts.
    pub(super) fn host_storage(
        self,
        mut parts: Parts<'_>,
        numel: usize,
        dtype: DType,
    ) -> Result<Storage> {
        Ok(match self {
            Self::Int8 {
                group_size,
                rounds_inputs,
            } => Storage::new(Int8Storage::new(Int8Parts {
                codes: parts.take(numel).iter().map(|&code| code as i8).collect(),
                scales: parts.take_numbers(numel / group_size),
                group_size,
                rounds_inputs,
                dtype,
            })?),
            Self::Int4 { group_size } => Storage::new(Int4Storage::new(Int4Parts {
                codes: parts.take(numel / 2).to_vec(),
                scales: parts.take_numbers(numel / group_size),
                zero_points: parts.take(numel / group_size).to_vec(),
                group_size,
                dtype,
            })?),
            Self::FourBit {
                block_size, nested, ..
            } => {
                let codes = parts.take(numel.div_ceil(2)).to_vec();
                let mut values = [0.0; 16];
                for (value, taken) in values.iter_mut().zip(parts.take_numbers(16)) {
                    *value = taken;
                }
                let blocks = numel.div_ceil(block_size);
                let absmax = match nested {
                    None => Nf4Absmax::Plain(parts.take_numbers(blocks)),
                    Some(Nested { block_size, offset }) => Nf4Absmax::Nested {
                        codes: parts.take(blocks).to_vec(),
                        values: parts.take_numbers(NESTED_VALUES),
                        absmax: parts.take_numbers(blocks.div_ceil(block_size)),
                        block_size,
                        offset,
                    },
                };
                Storage::new(Nf4Storage::new(Nf4Parts {
                    codes,
                    numel,
                    values,
                    block_size,
                    absmax,
                    dtype,
                })?)
            }
            Self::Blocks(format) => {
                let bytes = numel / format.numel() * format.size_in_bytes();
                let bytes = SharedBytes::new(parts.take(bytes).to_vec());
                Storage::new(BlockStorage::new(format, bytes))
            }
        })
    }
}

fn of_int8(int8: &Int8Parts) -> (Scheme, Parts<'static>) {
    let mut parts = Parts::default();
    parts.push(int8.codes.iter().map(|&code| code as u8));
    parts.push_numbers(&int8.scales);
    let scheme = Scheme::Int8 {
        group_size: int8.group_size,
        rounds_inputs: int8.rounds_inputs,
    };
    (scheme, parts)
}

fn of_int4(int4: &Int4Parts) -> (Scheme, Parts<'static>) {
    let mut parts = Parts::default();
    parts.push(int4.codes.iter().copied());
    parts.push_numbers(&int4.scales);
    parts.push(int4.zero_points.iter().copied());
    let group_size = int4.group_size;
    (Scheme::Int4 { group_size }, parts)
}

fn of_four_bit(name: &'static str, four_bit: &Nf4Parts) -> (Scheme, Parts<'static>) {
    let mut parts = Parts::default();
    parts.push(four_bit.codes.iter().copied());
    parts.push_numbers(&four_bit.values);
    let nested = match &four_bit.absmax {
        Nf4Absmax::Plain(absmax) => {
            parts.push_numbers(absmax);
            None
        }
        Nf4Absmax::Nested {
            codes,
            values,
            absmax,
            block_size,
            offset,
        } => {
            parts.push(codes.iter().copied());
            parts.push_numbers(values);
            parts.push_numbers(absmax);
            Some(Nested {
                block_size: *block_size,
                offset: *offset,
            })
        }
    };
    let scheme = Scheme::FourBit {
        name,
        block_size: four_bit.block_size,
        nested,
    };
    (scheme, parts)
}
