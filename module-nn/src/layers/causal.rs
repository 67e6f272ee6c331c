//! Causal masks, which several layers make.

use module_core::{DType, Device, Result, Tensor};

/// Minus infinity where a key comes after the query, else 0: `[queries, keys]`, both counted from
/// the first.
pub(super) fn causal_mask(
    queries: usize,
    keys: usize,
    dtype: DType,
    device: &Device,
) -> Result<Tensor> {
    let seen = Tensor::ones([queries, keys], DType::Bool, device)?.tril(0)?;
    Tensor::zeros([queries, keys], dtype, device)?
        .masked_fill(&seen.logical_not()?, f64::NEG_INFINITY)
}
