use super::description::{Description, JOIN};
use super::format::{PackedFormat, Parts, Split};
use crate::backend::{Nf4Absmax, Nf4Parts, Nf4Storage, Storage};
use crate::{Error, Result, Tensor};

/// The layout of bitsandbytes, for each of its level sets.
pub(super) enum FourBit {
    Nf4,
    Fp4,
}

const ABSMAX: &str = "absmax";
const QUANT_MAP: &str = "quant_map";
const NESTED_ABSMAX: &str = "nested_absmax";
const NESTED_QUANT_MAP: &str = "nested_quant_map";

impl FourBit {
    /// The name of the levels in a description.
    fn kind(&self) -> &'static str {
        match self {
            Self::Nf4 => "nf4",
            Self::Fp4 => "fp4",
        }
    }
}

impl PackedFormat for FourBit {
    fn name(&self) -> &'static str {
        match self {
            Self::Nf4 => "bitsandbytes__nf4",
            Self::Fp4 => "bitsandbytes__fp4",
        }
    }

    fn parts(&self) -> &'static [&'static str] {
        &[ABSMAX, NESTED_ABSMAX, NESTED_QUANT_MAP, QUANT_MAP]
    }

    fn split(&self, storage: &Storage) -> Result<Option<Split>> {
        let Some(storage) = storage.downcast_ref::<Nf4Storage>() else {
            return Ok(None);
        };
        let parts = storage.parts();
        if matches!(self, Self::Fp4) != parts.is_fp4() {
            return Ok(None);
        }
        let floats = |values: &[f32]| Tensor::from_vec(values.to_vec(), [values.len()]);
        let mut description = Description::default()
            .with("quant_type", self.kind())
            .with("blocksize", parts.block_size)
            .with_dtype(parts.dtype);
        let mut others = vec![(QUANT_MAP, floats(&parts.values)?)];
        match &parts.absmax {
            Nf4Absmax::Plain(absmax) => others.push((ABSMAX, floats(absmax)?)),
            Nf4Absmax::Nested {
                codes,
                values,
                absmax,
                block_size,
                offset,
            } => {
                others.push((ABSMAX, Tensor::from_vec(codes.clone(), [codes.len()])?));
                others.push((NESTED_ABSMAX, floats(absmax)?));
                others.push((NESTED_QUANT_MAP, floats(values)?));
                description = description
                    .with("nested_blocksize", *block_size)
                    .with("nested_dtype", "float32")
                    .with("nested_offset", f64::from(*offset));
            }
        }
        let codes = parts.codes.clone();
        let bytes = codes.len();
        Ok(Some(Split {
            description,
            weight: Tensor::from_vec(codes, [bytes, 1])?,
            others,
        }))
    }

    fn join(&self, parts: &Parts<'_>) -> Result<Storage> {
        let about = &parts.description;
        about.check_text("quant_type", self.kind())?;
        let absmax = match about.has("nested_offset") {
            false => Nf4Absmax::Plain(parts.get(ABSMAX)?.to_vec()?),
            true => Nf4Absmax::Nested {
                codes: parts.get(ABSMAX)?.to_vec()?,
                values: parts.get(NESTED_QUANT_MAP)?.to_vec()?,
                absmax: parts.get(NESTED_ABSMAX)?.to_vec()?,
                block_size: about.count("nested_blocksize")?,
                offset: about.number("nested_offset")? as f32,
            },
        };
        let map = parts.get(QUANT_MAP)?.to_vec::<f32>()?;
        let values = map.try_into().map_err(|map: Vec<f32>| {
            Error::argument(JOIN, QUANT_MAP, map.len(), "must have 16 values")
        })?;
        let storage = Nf4Storage::new(Nf4Parts {
            codes: parts.weight.to_vec()?,
            numel: about.shape()?.checked_numel(JOIN, 4)?,
            values,
            block_size: about.count("blocksize")?,
            absmax,
            dtype: about.dtype()?,
        })?;
        Ok(Storage::new(storage))
    }
}
