use std::ops::Range;

use super::description::{Description, Nested};
use super::{ABSMAX, NESTED_ABSMAX, NESTED_QUANT_MAP, QUANT_MAP};
use crate::backend::{HostData, Packed, PackedRuns, Storage, StorageData};
use crate::{DType, Device, Result, Tensor};

/// The memory of a weight that bitsandbytes quantized to four bits: each element is one of 16 levels times the
/// scale of its block, whose elements follow each other in row-major order.
///
/// [`StateDict::join_bitsandbytes`](crate::StateDict::join_bitsandbytes) makes tensors of it.
pub struct FourBit {
    kind: &'static str,
    dtype: DType,
    device: Device,
    numel: usize,
    block: usize,
    /// Two to a byte, the first in the upper half.
    codes: Tensor,
    levels: [f32; 16],
    scales: Scales,
    /// What the file has beside the codes, by the ends of their keys.
    parts: Vec<(String, Tensor)>,
}

/// The scales of blocks.
#[derive(Clone)]
enum Scales {
    Plain(Vec<f32>),
    /// The level of each scale times the scale of its block, and the offset.
    Nested {
        codes: Vec<u8>,
        levels: Vec<f32>,
        scales: Vec<f32>,
        block: usize,
        offset: f32,
    },
}

impl Scales {
    fn get(&self, index: usize) -> f32 {
        let at = |values: &[f32], index: usize| values.get(index).copied().unwrap_or_default();
        match self {
            Self::Plain(scales) => at(scales, index),
            Self::Nested {
                codes,
                levels,
                scales,
                block,
                offset,
            } => {
                let code = codes.get(index).copied().unwrap_or_default();
                at(levels, code.into()) * at(scales, index / block) + offset
            }
        }
    }
}

impl FourBit {
    /// The memory of these parts, if they are as long as the description demands.
    pub(super) fn new(
        about: Description,
        codes: Tensor,
        parts: Vec<(String, Tensor)>,
    ) -> Result<Self, String> {
        let too_large = |error: crate::Error| error.to_string();
        let numel = about
            .shape
            .checked_numel("join_bitsandbytes", 4)
            .map_err(too_large)?;
        check("the weight", &codes, DType::U8, numel.div_ceil(2))?;
        let part = |name: &str, dtype: DType, length: usize| {
            let found = parts.iter().find(|(part, _)| part == name);
            let tensor = found
                .map(|(_, tensor)| tensor)
                .ok_or_else(|| format!("lacks `{name}`"))?;
            check(name, tensor, dtype, length)?;
            Ok::<&Tensor, String>(tensor)
        };
        let floats = |name: &str, length: usize| {
            let values = part(name, DType::F32, length)?.to_vec::<f32>();
            values.map_err(|error| error.to_string())
        };
        let mut levels = [0.0; 16];
        levels.copy_from_slice(&floats(QUANT_MAP, 16)?);
        let blocks = numel.div_ceil(about.block);
        let scales = match about.nested {
            None => Scales::Plain(floats(ABSMAX, blocks)?),
            Some(Nested { block, offset }) => Scales::Nested {
                codes: part(ABSMAX, DType::U8, blocks)?
                    .to_vec()
                    .map_err(too_large)?,
                levels: floats(NESTED_QUANT_MAP, 256)?,
                scales: floats(NESTED_ABSMAX, blocks.div_ceil(block))?,
                block,
                offset,
            },
        };
        Ok(Self {
            kind: about.kind,
            dtype: about.dtype,
            device: codes.device(),
            numel,
            block: about.block,
            codes,
            levels,
            scales,
            parts,
        })
    }

    /// The codes of all elements, as the file has them.
    pub(super) fn codes(&self) -> &Tensor {
        &self.codes
    }

    /// What the file has beside them.
    pub(super) fn parts(&self) -> &[(String, Tensor)] {
        &self.parts
    }

    /// Whether a tensor of this memory shows all of it, in its order.
    pub(super) fn is_whole(&self, tensor: &Tensor) -> bool {
        tensor.is_contiguous() && tensor.layout().offset() == 0 && tensor.numel() == self.numel
    }
}

/// Refuses a part of another dtype or length than the weight needs.
fn check(name: &str, tensor: &Tensor, dtype: DType, length: usize) -> Result<(), String> {
    if tensor.dtype() == dtype && tensor.numel() == length {
        return Ok(());
    }
    let (found, shape) = (tensor.dtype(), tensor.shape());
    Err(format!(
        "needs {length} elements of {dtype} as `{name}`, which is {shape} of {found}"
    ))
}

impl StorageData for FourBit {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn device(&self) -> Device {
        self.device
    }

    fn packed(&self) -> Option<&dyn Packed> {
        Some(self)
    }
}

impl Packed for FourBit {
    fn scheme(&self) -> &'static str {
        self.kind
    }

    fn numel(&self) -> usize {
        self.numel
    }

    fn size_in_bytes(&self) -> usize {
        let parts = self.parts.iter().map(|(_, part)| part.nbytes());
        self.codes.nbytes() + parts.sum::<usize>()
    }

    fn unpack(&self) -> Result<Storage> {
        let mut values = vec![0.0; self.numel];
        self.unpack_run(0..self.numel, &mut values);
        let plain = Tensor::from_host(HostData::F32(values), [self.numel])?;
        let plain = plain.to_dtype(self.dtype)?.to_device(&self.device)?;
        Ok(plain.storage().clone())
    }

    fn runs(&self) -> Option<&dyn PackedRuns> {
        Some(self)
    }

    /// The parts stay in the memory of the host, from which another device gets what is unpacked.
    fn to_device(&self, device: &Device) -> Result<Storage> {
        Ok(Storage::new(Self {
            device: *device,
            codes: self.codes.clone(),
            scales: self.scales.clone(),
            parts: self.parts.clone(),
            ..*self
        }))
    }
}

impl PackedRuns for FourBit {
    fn group(&self) -> usize {
        self.block
    }

    fn unpack_run(&self, run: Range<usize>, out: &mut [f32]) {
        let codes = self.codes.as_le_bytes().unwrap_or_default();
        let codes = codes.get(run.start / 2..).unwrap_or_default();
        let blocks = out.chunks_mut(self.block).zip(codes.chunks(self.block / 2));
        for (index, (out, codes)) in blocks.enumerate() {
            let scale = self.scales.get(run.start / self.block + index);
            let mut levels = self.levels.map(|level| level * scale);
            if self.dtype != DType::F32 {
                levels = levels.map(|level| round(level, self.dtype));
            }
            for (out, code) in out.chunks_mut(2).zip(codes) {
                let pair = [
                    levels[usize::from(code >> 4)],
                    levels[usize::from(code & 15)],
                ];
                for (out, level) in out.iter_mut().zip(pair) {
                    *out = level;
                }
            }
        }
    }
}

/// A number as half precision holds it.
fn round(x: f32, dtype: DType) -> f32 {
    match dtype {
        DType::F16 => half::f16::from_f32(x).to_f32(),
        _ => half::bf16::from_f32(x).to_f32(),
    }
}
