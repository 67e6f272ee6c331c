//! The form of a tensor in a message: the call that sent it, the dtype, the shape, the elements.

use module_nn::backend::HostData;
use module_nn::{DType, Error, Result, Tensor};

/// A message with the elements of `tensor`, sent by `call`.
pub(super) fn encode(call: &str, tensor: &Tensor) -> Result<Vec<u8>> {
    let (dtype, shape) = (tensor.dtype(), tensor.shape());
    let code = DType::ALL.iter().position(|&known| known == dtype);
    let code = code.ok_or_else(|| dtype.error("send", "a dtype of `DType::ALL`"))?;
    let mut message = Vec::with_capacity(
        8 * (3 + shape.len()) + call.len() + shape.numel() * dtype.size_in_bytes(),
    );
    for number in [call.len(), code, shape.len()].iter().chain(shape.iter()) {
        message.extend_from_slice(&(*number as u64).to_le_bytes());
    }
    message.extend_from_slice(call.as_bytes());
    match tensor.as_le_bytes() {
        Some(bytes) => message.extend_from_slice(bytes),
        None => message.extend_from_slice(&tensor.to_host()?.to_le_bytes()),
    }
    Ok(message)
}

/// The call that sent a message, and its tensor.
pub(super) fn decode(message: &[u8]) -> Result<(String, Tensor)> {
    read(message).unwrap_or_else(|| {
        Err(Error::custom(format!(
            "a message of {} bytes is not one of module-dist; run the same version of the program on all ranks",
            message.len()
        )))
    })
}

fn read(mut message: &[u8]) -> Option<Result<(String, Tensor)>> {
    let mut number = || {
        let (first, rest) = message.split_first_chunk::<8>()?;
        message = rest;
        usize::try_from(u64::from_le_bytes(*first)).ok()
    };
    let (length, code, rank) = (number()?, number()?, number()?);
    let shape = (0..rank).map(|_| number()).collect::<Option<Vec<_>>>()?;
    let (call, elements) = message.split_at_checked(length)?;
    let call = String::from_utf8_lossy(call).into_owned();
    let dtype = *DType::ALL.get(code)?;
    let data = HostData::from_le_bytes(dtype, elements);
    Some(Tensor::from_host(data, shape).map(|tensor| (call, tensor)))
}
