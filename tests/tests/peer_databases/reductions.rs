//! Sums, extremes, orders and running results.

use super::arguments::{Call, Op, Outputs, both, not_ours};
use module_core::{Result, Tensor};

pub(crate) const OPS: &[Op] = &[
    ("sum", |c| {
        Ok(vec![c.cast()?.sum(
            c.dims_or_all(1, "dim")?,
            c.or(2, "keepdim", false)?,
        )?])
    }),
    ("mean", |c| {
        Ok(vec![c.cast()?.mean(
            c.dims_or_all(1, "dim")?,
            c.or(2, "keepdim", false)?,
        )?])
    }),
    ("prod", |c| {
        c.cast_back(
            c.cast()?
                .prod(c.dims(1, "dim")?, c.or(2, "keepdim", false)?)?,
        )
    }),
    ("var", |c| spread(c, Tensor::var)),
    ("std", |c| spread(c, Tensor::std)),
    ("var.unbiased", |c| unbiased(c, Tensor::var)),
    ("std.unbiased", |c| unbiased(c, Tensor::std)),
    ("amax", |c| {
        Ok(vec![c.x()?.amax(
            c.dims_or_all(1, "dim")?,
            c.or(2, "keepdim", false)?,
        )?])
    }),
    ("amin", |c| {
        Ok(vec![c.x()?.amin(
            c.dims_or_all(1, "dim")?,
            c.or(2, "keepdim", false)?,
        )?])
    }),
    ("max.reduction_no_dim", |c| c.map(|x| x.amax(.., false))),
    ("min.reduction_no_dim", |c| c.map(|x| x.amin(.., false))),
    ("max.reduction_with_dim", |c| {
        Ok(both(
            c.x()?.max(c.need(1, "dim")?, c.or(2, "keepdim", false)?)?,
        ))
    }),
    ("min.reduction_with_dim", |c| {
        Ok(both(
            c.x()?.min(c.need(1, "dim")?, c.or(2, "keepdim", false)?)?,
        ))
    }),
    ("argmax", |c| place(c, Tensor::argmax)),
    ("argmin", |c| place(c, Tensor::argmin)),
    ("all", |c| {
        Ok(vec![
            c.x()?.all(c.dims(1, "dim")?, c.or(2, "keepdim", false)?)?,
        ])
    }),
    ("any", |c| {
        Ok(vec![
            c.x()?.any(c.dims(1, "dim")?, c.or(2, "keepdim", false)?)?,
        ])
    }),
    ("norm", |c| {
        let p = match c.value(1, "p").as_str() {
            Some("fro") => 2.0,
            Some(p) => return not_ours(format!("p = {p}")),
            None => c.number(1, "p", 2.0)?,
        };
        Ok(vec![c.x()?.norm(
            p,
            c.dims_or_all(2, "dim")?,
            c.or(3, "keepdim", false)?,
        )?])
    }),
    ("norm.fro", |c| {
        c.ignore("p", &[])?;
        let _ = c.value(1, "p");
        Ok(vec![c.x()?.norm(
            2.0,
            c.dims_or_all(2, "dim")?,
            c.or(3, "keepdim", false)?,
        )?])
    }),
    ("norm.inf", |c| {
        let p = c.number(1, "p", 2.0)?;
        Ok(vec![c.x()?.norm(
            p,
            c.dims_or_all(2, "dim")?,
            c.or(3, "keepdim", false)?,
        )?])
    }),
    ("linalg.vector_norm", |c| {
        let p = c.number(1, "ord", 2.0)?;
        Ok(vec![c.cast()?.norm(
            p,
            c.dims(2, "dim")?,
            c.or(3, "keepdim", false)?,
        )?])
    }),
    ("logsumexp", |c| {
        Ok(vec![c.x()?.logsumexp(
            c.dims(1, "dim")?,
            c.or(2, "keepdim", false)?,
        )?])
    }),
    ("cumsum", |c| {
        c.cast_back(c.cast()?.cumsum(c.need(1, "dim")?)?)
    }),
    ("cumprod", |c| {
        c.cast_back(c.cast()?.cumprod(c.need(1, "dim")?)?)
    }),
    ("sort", |c| {
        let _ = c.value(usize::MAX, "stable");
        Ok(both(c.x()?.sort(
            c.or(1, "dim", -1)?,
            c.or(2, "descending", false)?,
        )?))
    }),
    ("msort", |c| c.map(|x| Ok(x.sort(0, false)?.0))),
    ("argsort", |c| {
        let _ = c.value(usize::MAX, "stable");
        Ok(vec![c.x()?.argsort(
            c.or(1, "dim", -1)?,
            c.or(2, "descending", false)?,
        )?])
    }),
    ("topk", |c| {
        let (k, dim) = (c.need(1, "k")?, c.or(2, "dim", -1)?);
        let (largest, sorted) = (c.or(3, "largest", true)?, c.or(4, "sorted", true)?);
        Ok(both(c.x()?.topk(k, dim, largest, sorted)?))
    }),
    ("kthvalue", |c| {
        let (k, dim) = (c.need(1, "k")?, c.or(2, "dim", -1)?);
        Ok(both(c.x()?.kthvalue(k, dim, c.or(3, "keepdim", false)?)?))
    }),
    ("median", |c| match c.get(1, "dim")? {
        Some(dim) => Ok(both(c.x()?.median(dim, c.or(2, "keepdim", false)?)?)),
        None => c.map(|x| Ok(x.flatten(0, -1)?.median(0, false)?.0)),
    }),
    ("softmax", |c| Ok(vec![c.x()?.softmax(c.need(1, "dim")?)?])),
    ("log_softmax", |c| {
        Ok(vec![c.x()?.log_softmax(c.need(1, "dim")?)?])
    }),
    ("nn.functional.softmin", |c| {
        Ok(vec![c.x()?.neg()?.softmax(c.need(1, "dim")?)?])
    }),
    ("softmax.with_dtype", |c| {
        let x = c.x()?.to_dtype(c.dtype())?;
        Ok(vec![x.softmax(c.need(1, "dim")?)?])
    }),
    ("log_softmax.with_dtype", |c| {
        let x = c.x()?.to_dtype(c.dtype())?;
        Ok(vec![x.log_softmax(c.need(1, "dim")?)?])
    }),
];

/// Of a dimension, or of all in a row.
fn place(c: &Call<'_>, f: fn(&Tensor, isize, bool) -> Result<Tensor>) -> Outputs {
    match c.get(1, "dim")? {
        Some(dim) => Ok(vec![f(c.x()?, dim, c.or(2, "keepdim", false)?)?]),
        None => c.map(|x| f(&x.flatten(0, -1)?, 0, false)),
    }
}

type Spread = fn(&Tensor, module_core::Dims, f64, bool) -> Result<Tensor>;

fn spread(c: &Call<'_>, f: Spread) -> Outputs {
    let correction = match c.get::<bool>(usize::MAX, "unbiased")? {
        Some(unbiased) => f64::from(u8::from(unbiased)),
        None => c.number(usize::MAX, "correction", 1.0)?,
    };
    let dims = c.dims_or_all(1, "dim")?;
    Ok(vec![f(
        c.x()?,
        dims,
        correction,
        c.or(3, "keepdim", false)?,
    )?])
}

fn unbiased(c: &Call<'_>, f: Spread) -> Outputs {
    let correction = f64::from(u8::from(c.or(1, "unbiased", true)?));
    c.map(|x| f(x, (..).into(), correction, false))
}
