//! PiSSA's factors, which are parts of the weight.

#[cfg(feature = "linalg")]
use module_core::linalg::{QrMode, qr, svd_reduced};
#[cfg(feature = "linalg")]
use module_core::{DType, Result, Tensor, no_grad};
#[cfg(not(feature = "linalg"))]
use module_core::{Error, Result, Tensor};

/// The factors of the largest singular values, and the weight minus their product. With `iterations`, they are approximated
/// by this many iterations from a random basis.
#[cfg(feature = "linalg")]
pub(super) fn pissa(
    weight: &Tensor,
    r: usize,
    scale: f64,
    iterations: Option<usize>,
) -> Result<(Tensor, Tensor, Tensor)> {
    no_grad(|| {
        let whole = weight.to_dtype(DType::F32)?;
        let (u, s, vh) = match iterations {
            None => svd_reduced(&whole)?,
            Some(iterations) => svd_lowrank(&whole, r, iterations)?,
        };
        let s = s.narrow(0, 0..r)?.mul(1.0 / scale)?.sqrt()?;
        let a = s.unsqueeze(1)?.mul(&vh.narrow(0, 0..r)?)?;
        let b = u.narrow(1, 0..r)?.mul(&s)?;
        let rest = whole.sub(&b.mul(scale)?.matmul(&a)?)?;
        Ok((a, b, rest.to_dtype(weight.dtype())?))
    })
}

#[cfg(not(feature = "linalg"))]
pub(super) fn pissa(
    _: &Tensor,
    _: usize,
    _: f64,
    iterations: Option<usize>,
) -> Result<(Tensor, Tensor, Tensor)> {
    use super::config::InitLoraWeights::{Pissa, PissaNiter};
    let problem = "needs singular values; enable the feature `linalg` of `module-nn`";
    let init = iterations.map_or(Pissa, PissaNiter);
    Err(Error::argument(
        "add_adapter",
        "init_lora_weights",
        init,
        problem,
    ))
}

/// Approximate largest singular values and their vectors, `x ≈ u·diag(s)·vh`: PyTorch's `svd_lowrank`.
///
/// Source: Halko et al., *Finding structure with randomness* (2009), algorithms 4.4 and 5.1.
#[cfg(feature = "linalg")]
fn svd_lowrank(x: &Tensor, rank: usize, iterations: usize) -> Result<(Tensor, Tensor, Tensor)> {
    let is_wide = x.size(0)? < x.size(1)?;
    let tall = if is_wide { x.t()? } else { x.clone() };
    let basis = |x: &Tensor| qr(x, QrMode::Reduced).map(|(q, _)| q);
    let drawn = Tensor::randn([tall.size(1)?, rank], (DType::F32, &x.device()))?;
    let mut q = basis(&tall.matmul(&drawn)?)?;
    for _ in 0..iterations {
        q = basis(&tall.t()?.matmul(&q)?)?;
        q = basis(&tall.matmul(&q)?)?;
    }
    let (u, s, vh) = svd_reduced(&q.t()?.matmul(&tall)?)?;
    let u = q.matmul(&u)?;
    match is_wide {
        true => Ok((vh.t()?, s, u.t()?)),
        false => Ok((u, s, vh)),
    }
}
