//! Vector and matrix products, and distances.

use super::arguments::{Call, Op, Outputs, not_ours};
use module_core::{CdistMode, Scalar, Tensor, TensordotDims};
use module_nn::functional;
use serde_json::Value;

pub(crate) const OPS: &[Op] = &[
    ("matmul mm bmm mv", |c| c.pair(Tensor::matmul)),
    ("__rmatmul__", |c| c.pair(|x, y| y.matmul(x))),
    ("dot vdot", |c| c.pair(Tensor::dot)),
    ("outer", |c| c.pair(Tensor::outer)),
    ("einsum", |c| {
        let equation: String = c.need(1, "equation")?;
        Ok(vec![Tensor::einsum(&equation, &c.tensors(0)?)?])
    }),
    ("addmm addmm.decomposed", |c| added(c, Tensor::addmm)),
    ("addmv", |c| added(c, Tensor::addmv)),
    ("addbmm", |c| added(c, Tensor::addbmm)),
    ("baddbmm", |c| added(c, Tensor::baddbmm)),
    ("tensordot", |c| {
        let dims = match c.value(2, "dims") {
            Value::Array(pair) if pair.len() == 2 => {
                let list = |i: usize| serde_json::from_value(pair[i].clone()).ok();
                match (list(0), list(1)) {
                    (Some(a), Some(b)) => TensordotDims::Pairs(a, b),
                    _ => return not_ours("dims that are not lists"),
                }
            }
            _ => TensordotDims::Count(c.need(2, "dims")?),
        };
        c.pair(|x, y| x.tensordot(y, dims))
    }),
    ("cdist", |c| {
        let mode = match c.value(3, "compute_mode").as_str() {
            None | Some("use_mm_for_euclid_dist_if_necessary") => CdistMode::UseMmIfNecessary,
            Some("use_mm_for_euclid_dist") => CdistMode::UseMm,
            Some(_) => CdistMode::DonotUseMm,
        };
        let p = c.number(2, "p", 2.0)?;
        c.pair(|x, y| x.cdist(y, p, mode))
    }),
    ("nn.functional.linear", |c| {
        let bias = c.maybe(2, "bias")?;
        Ok(vec![functional::linear(
            c.x()?,
            c.tensor(1, "weight")?,
            bias,
        )?])
    }),
    ("nn.functional.bilinear", |c| {
        let (weight, bias) = (c.tensor(2, "weight")?, c.maybe(3, "bias")?);
        Ok(vec![functional::bilinear(c.x()?, c.y()?, weight, bias)?])
    }),
    ("nn.functional.scaled_dot_product_attention", |c| {
        let options = module_core::AttentionOptions::new()
            .attn_mask(c.maybe(3, "attn_mask")?)
            .dropout_p(c.number(4, "dropout_p", 0.0)?)
            .is_causal(c.or(5, "is_causal", false)?)
            .scale(c.get(usize::MAX, "scale")?)
            .enable_gqa(c.or(usize::MAX, "enable_gqa", false)?);
        let (key, value) = (c.tensor(1, "key")?, c.tensor(2, "value")?);
        Ok(vec![
            c.x()?.scaled_dot_product_attention(key, value, options)?,
        ])
    }),
    ("nn.functional.normalize", |c| {
        let (p, eps) = (c.number(1, "p", 2.0)?, c.number(3, "eps", 1e-12)?);
        let dims = match c.has(2, "dim") {
            true => c.dims(2, "dim")?,
            false => 1.into(),
        };
        Ok(vec![functional::normalize(c.x()?, p, dims, eps)?])
    }),
    ("nn.functional.cosine_similarity", |c| {
        let (dim, eps) = (c.or(2, "dim", 1)?, c.number(3, "eps", 1e-8)?);
        Ok(vec![functional::cosine_similarity(
            c.x()?,
            c.y()?,
            dim,
            eps,
        )?])
    }),
    ("nn.functional.pairwise_distance", |c| {
        let (p, eps) = (c.number(2, "p", 2.0)?, c.number(3, "eps", 1e-6)?);
        let keepdim = c.or(4, "keepdim", false)?;
        let distance = match keepdim {
            true => functional::pairwise_distance_keepdim,
            false => functional::pairwise_distance,
        };
        Ok(vec![distance(c.x()?, c.y()?, p, eps)?])
    }),
];

/// `beta · input + alpha · product`.
fn added(
    c: &Call<'_>,
    f: impl FnOnce(&Tensor, &Tensor, &Tensor, Scalar, Scalar) -> module_core::Result<Tensor>,
) -> Outputs {
    let (beta, alpha) = (
        c.scalar_or(usize::MAX, "beta", 1)?,
        c.scalar_or(usize::MAX, "alpha", 1)?,
    );
    Ok(vec![f(
        c.x()?,
        c.tensor(1, "mat1")?,
        c.tensor(2, "mat2")?,
        beta,
        alpha,
    )?])
}
