//! A weight and its parts.

use super::description::{Description, Nested, PREFIX};
use super::{ABSMAX, JOIN, NESTED_ABSMAX, NESTED_QUANT_MAP, QUANT_MAP};
use crate::backend::{Nf4Absmax, Nf4Parts, Nf4Storage, Storage};
use crate::{Device, Element, Error, Layout, Result, StateDict, Tensor};

/// The levels of `fp4`: a sign, two bits of an exponent and one of a fraction, over the largest.
const FP4: [f32; 16] = [
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

/// The packed tensor of a weight, whose description is under `key`.
pub(super) fn join(state: &StateDict, weight: &str, key: &str, kind: &str) -> Result<Tensor> {
    let wrong = |problem: String| Error::argument(JOIN, "state", weight, problem);
    let find = |key: &str| {
        let missing = || {
            Error::argument(
                JOIN,
                "state",
                key,
                "is missing beside the other parts of its weight",
            )
        };
        state.get(key).ok_or_else(missing)
    };
    let about = read::<u8>(find(key)?, "the description", None).map_err(wrong)?;
    let about = Description::of(&about, kind).map_err(wrong)?;
    let numel = about.shape.checked_numel(JOIN, 4)?;
    let codes = read::<u8>(find(weight)?, "the weight", Some(numel.div_ceil(2))).map_err(wrong)?;
    let part = |name: &str| find(&format!("{weight}.{name}"));
    let floats = |name: &str, length| read::<f32>(part(name)?, name, Some(length)).map_err(wrong);
    let mut values = [0.0; 16];
    values.copy_from_slice(&floats(QUANT_MAP, 16)?);
    let blocks = numel.div_ceil(about.block);
    let absmax = match about.nested {
        None => Nf4Absmax::Plain(floats(ABSMAX, blocks)?),
        Some(Nested { block, offset }) => Nf4Absmax::Nested {
            codes: read::<u8>(part(ABSMAX)?, ABSMAX, Some(blocks)).map_err(wrong)?,
            values: floats(NESTED_QUANT_MAP, 256)?,
            absmax: floats(NESTED_ABSMAX, blocks.div_ceil(block))?,
            block_size: block,
            offset,
        },
    };
    let storage = Nf4Storage::new(Nf4Parts {
        codes,
        numel,
        values,
        block_size: about.block,
        absmax,
        dtype: about.dtype,
    })?;
    Ok(Tensor::from_storage(
        Storage::new(storage),
        Layout::contiguous(about.shape),
    ))
}

/// The elements of a part, of which there must be so many.
fn read<T: Element>(tensor: &Tensor, name: &str, length: Option<usize>) -> Result<Vec<T>, String> {
    let length = length.unwrap_or(tensor.numel());
    if tensor.dtype() != T::DTYPE || tensor.numel() != length {
        let (needed, found, shape) = (T::DTYPE, tensor.dtype(), tensor.shape());
        return Err(format!(
            "needs {length} elements of {needed} as `{name}`, which is {shape} of {found}"
        ));
    }
    tensor.to_vec::<T>().map_err(|error| error.to_string())
}

/// Puts the parts of a packed weight under its key and those that follow from it.
pub(super) fn split(
    key: &str,
    tensor: &Tensor,
    parts: &Nf4Parts,
    into: &mut StateDict,
) -> Result<()> {
    let refuse = |problem| {
        Err(Error::argument(
            "split_bitsandbytes",
            "tensor",
            key,
            problem,
        ))
    };
    if !tensor.is_contiguous() || tensor.layout().offset() > 0 || tensor.numel() != parts.numel {
        return refuse(
            "is a view of a packed tensor, whose parts are those of the whole one; `unpack` it",
        );
    }
    let kind = match parts.values {
        Nf4Parts::VALUES => "nf4",
        FP4 => "fp4",
        _ => return refuse("has levels that are those of neither `nf4` nor `fp4`; `unpack` it"),
    };
    let mut put = |part: &str, tensor: Result<Tensor>| {
        into.insert(format!("{key}{part}"), tensor?);
        Ok::<(), Error>(())
    };
    put("", vector(&parts.codes)?.unsqueeze(1))?;
    let nested = match &parts.absmax {
        Nf4Absmax::Plain(absmax) => {
            put(".absmax", vector(absmax))?;
            put(".quant_map", vector(&parts.values))?;
            None
        }
        Nf4Absmax::Nested {
            codes,
            values,
            absmax,
            block_size,
            offset,
        } => {
            put(".absmax", vector(codes))?;
            put(".quant_map", vector(&parts.values))?;
            put(".nested_absmax", vector(absmax))?;
            put(".nested_quant_map", vector(values))?;
            let (block, offset) = (*block_size, *offset);
            Some(Nested { block, offset })
        }
    };
    let about = Description {
        kind,
        block: parts.block_size,
        dtype: parts.dtype,
        shape: tensor.shape().clone(),
        nested,
    };
    put(
        &format!(".{PREFIX}{kind}"),
        vector(about.to_text().as_bytes()),
    )
}

fn vector<T: Element + Clone>(values: &[T]) -> Result<Tensor> {
    let tensor = Tensor::from_vec(values.to_vec(), [values.len()])?;
    tensor.to_device(&Device::cpu())
}
