//! Causal masks, which several layers use.

use module_core::{DType, Device, Result, Tensor};

/// True if a key does not come after the query, `[queries, keys]`; the first query is aligned with key `past`.
pub(super) fn causal_mask(
    queries: usize,
    keys: usize,
    past: usize,
    device: &Device,
) -> Result<Tensor> {
    let past = i64::try_from(past).unwrap_or(i64::MAX);
    Tensor::ones([queries, keys], (DType::Bool, device))?.tril(past)
}

/// Minus infinity where a `Bool` mask is false, else 0.
pub(super) fn additive_mask(seen: &Tensor, dtype: DType) -> Result<Tensor> {
    let zeros = Tensor::zeros(seen.shape(), (dtype, &seen.device()))?;
    zeros.masked_fill(&seen.logical_not()?, f64::NEG_INFINITY)
}
