//! The random draws of samplers and loaders.

use module_core::rng::{Distribution, Generator};
use module_core::{DType, Layout, Result, Tensor};

use crate::config::check_bytes_fit;

/// `torch.empty((), dtype=torch.int64).random_()`: a seed from zero to `i64::MAX`.
pub(super) fn seed(generator: &Generator) -> Result<u64> {
    // The 2⁶³ values of this range are the remainders of PyTorch's, moved by `i64::MIN`.
    let (low, high) = (i64::MIN, 0);
    let drawn = integers(generator, Distribution::Integers { low, high }, 1)?;
    let drawn = drawn.first().copied().unwrap_or(low);
    Ok(drawn.wrapping_sub(low) as u64)
}

/// All indices below `len`, in order.
pub(super) fn in_order(op: &'static str, len: usize) -> Result<Vec<usize>> {
    check_bytes_fit(op, "len", len, len.checked_mul(size_of::<usize>()))?;
    Ok((0..len).collect())
}

/// `torch.randperm(n)`.
pub(super) fn permutation(generator: &Generator, n: usize) -> Result<Vec<usize>> {
    indices(generator, Distribution::Permutation, n)
}

/// `torch.randint(high=n, size=(count,))`.
pub(super) fn below(generator: &Generator, n: usize, count: usize) -> Result<Vec<usize>> {
    let (low, high) = (0, i64::try_from(n).unwrap_or(i64::MAX));
    indices(generator, Distribution::Integers { low, high }, count)
}

/// `torch.empty(1).uniform_(low, high).item()`; `torch.rand(1)` from 0 to 1.
pub(super) fn uniform(generator: &Generator, low: f64, high: f64) -> Result<f64> {
    float(generator, Distribution::Uniform { low, high }, DType::F32)
}

/// One number in a dtype.
pub(super) fn float(generator: &Generator, of: Distribution, dtype: DType) -> Result<f64> {
    let drawn = Tensor::from_storage(generator.draw(of, 1, dtype)?, Layout::contiguous(1.into()));
    let drawn = drawn.to_dtype(DType::F64)?.to_vec::<f64>()?;
    Ok(drawn.first().copied().unwrap_or_default())
}

/// Non-negative integers as indices.
pub(super) fn as_indices(drawn: Vec<i64>) -> Vec<usize> {
    let all = drawn.into_iter();
    all.map(|i| usize::try_from(i).unwrap_or(usize::MAX))
        .collect()
}

fn indices(generator: &Generator, of: Distribution, count: usize) -> Result<Vec<usize>> {
    Ok(as_indices(integers(generator, of, count)?))
}

fn integers(generator: &Generator, of: Distribution, count: usize) -> Result<Vec<i64>> {
    let drawn = generator.draw(of, count, DType::I64)?;
    Tensor::from_storage(drawn, Layout::contiguous(count.into())).to_vec::<i64>()
}
