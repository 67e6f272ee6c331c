//! Sums, extremes, sorting and cumulative results.

use super::arguments::{Call, Op, Outputs, both, not_ours};
use module_conformance::either;
use module_core::{Dim, Dims, Result, Tensor};

pub(crate) const OPS: &[Op] = &[
    ("sum", |c| {
        Ok(vec![either!(
            c.or(2, "keepdim", false)?,
            c.cast()?,
            sum / sum_keepdim,
            c.dims_or_all(1, "dim")?
        )?])
    }),
    ("mean", |c| {
        Ok(vec![either!(
            c.or(2, "keepdim", false)?,
            c.cast()?,
            mean / mean_keepdim,
            c.dims_or_all(1, "dim")?
        )?])
    }),
    ("prod", |c| {
        c.cast_back(either!(
            c.or(2, "keepdim", false)?,
            c.cast()?,
            prod / prod_keepdim,
            c.dims(1, "dim")?
        )?)
    }),
    ("var", |c| spread(c, [Tensor::var, Tensor::var_keepdim])),
    ("std", |c| spread(c, [Tensor::std, Tensor::std_keepdim])),
    ("var.unbiased", |c| unbiased(c, Tensor::var)),
    ("std.unbiased", |c| unbiased(c, Tensor::std)),
    ("amax", |c| {
        Ok(vec![either!(
            c.or(2, "keepdim", false)?,
            c.x()?,
            amax / amax_keepdim,
            c.dims_or_all(1, "dim")?
        )?])
    }),
    ("amin", |c| {
        Ok(vec![either!(
            c.or(2, "keepdim", false)?,
            c.x()?,
            amin / amin_keepdim,
            c.dims_or_all(1, "dim")?
        )?])
    }),
    ("max.reduction_no_dim", |c| c.map(|x| x.max(..))),
    ("min.reduction_no_dim", |c| c.map(|x| x.min(..))),
    ("max.reduction_with_dim", |c| {
        Ok(both(either!(
            c.or(2, "keepdim", false)?,
            c.x()?,
            max / max_keepdim,
            c.need::<isize>(1, "dim")?
        )?))
    }),
    ("min.reduction_with_dim", |c| {
        Ok(both(either!(
            c.or(2, "keepdim", false)?,
            c.x()?,
            min / min_keepdim,
            c.need::<isize>(1, "dim")?
        )?))
    }),
    ("argmax", |c| {
        place(c, [Tensor::argmax, Tensor::argmax_keepdim])
    }),
    ("argmin", |c| {
        place(c, [Tensor::argmin, Tensor::argmin_keepdim])
    }),
    ("all", |c| {
        Ok(vec![either!(
            c.or(2, "keepdim", false)?,
            c.x()?,
            all / all_keepdim,
            c.dims(1, "dim")?
        )?])
    }),
    ("any", |c| {
        Ok(vec![either!(
            c.or(2, "keepdim", false)?,
            c.x()?,
            any / any_keepdim,
            c.dims(1, "dim")?
        )?])
    }),
    ("norm", |c| {
        let p = match c.value(1, "p").as_str() {
            Some("fro") => 2.0,
            Some(p) => return not_ours(format!("p = {p}")),
            None => c.number(1, "p", 2.0)?,
        };
        Ok(vec![either!(
            c.or(3, "keepdim", false)?,
            c.x()?,
            norm / norm_keepdim,
            p,
            c.dims_or_all(2, "dim")?
        )?])
    }),
    ("norm.fro", |c| {
        c.ignore("p", &[])?;
        let _ = c.value(1, "p");
        Ok(vec![either!(
            c.or(3, "keepdim", false)?,
            c.x()?,
            norm / norm_keepdim,
            2.0,
            c.dims_or_all(2, "dim")?
        )?])
    }),
    ("norm.inf", |c| {
        let p = c.number(1, "p", 2.0)?;
        Ok(vec![either!(
            c.or(3, "keepdim", false)?,
            c.x()?,
            norm / norm_keepdim,
            p,
            c.dims_or_all(2, "dim")?
        )?])
    }),
    ("linalg.vector_norm", |c| {
        let p = c.number(1, "ord", 2.0)?;
        Ok(vec![either!(
            c.or(3, "keepdim", false)?,
            c.cast()?,
            norm / norm_keepdim,
            p,
            c.dims(2, "dim")?
        )?])
    }),
    ("logsumexp", |c| {
        Ok(vec![either!(
            c.or(2, "keepdim", false)?,
            c.x()?,
            logsumexp / logsumexp_keepdim,
            c.dims(1, "dim")?
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
        Ok(both(either!(
            c.or(2, "descending", false)?,
            c.x()?,
            sort / sort_descending,
            c.or(1, "dim", -1)?
        )?))
    }),
    ("msort", |c| c.map(|x| Ok(x.sort(0)?.0))),
    ("argsort", |c| {
        let _ = c.value(usize::MAX, "stable");
        Ok(vec![either!(
            c.or(2, "descending", false)?,
            c.x()?,
            argsort / argsort_descending,
            c.or(1, "dim", -1)?
        )?])
    }),
    ("topk", |c| {
        let (k, dim) = (c.need(1, "k")?, c.or(2, "dim", -1)?);
        let _ = c.value(4, "sorted");
        let largest = c.or(3, "largest", true)?;
        Ok(both(either!(
            largest,
            c.x()?,
            topk_smallest / topk,
            k,
            dim
        )?))
    }),
    ("kthvalue", |c| {
        let (k, dim) = (c.need(1, "k")?, c.or(2, "dim", -1)?);
        Ok(both(either!(
            c.or(3, "keepdim", false)?,
            c.x()?,
            kthvalue / kthvalue_keepdim,
            k,
            dim
        )?))
    }),
    ("median", |c| match c.get(1, "dim")? {
        Some(dim) => Ok(both(either!(
            c.or(2, "keepdim", false)?,
            c.x()?,
            median / median_keepdim,
            dim
        )?)),
        None => c.map(|x| x.median(..)),
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
fn place(c: &Call<'_>, [plain, kept]: [fn(&Tensor, Dim) -> Result<Tensor>; 2]) -> Outputs {
    let Some(dim) = c.get(1, "dim")? else {
        return c.map(|x| plain(x, Dim::All));
    };
    let f = if c.or(2, "keepdim", false)? {
        kept
    } else {
        plain
    };
    Ok(vec![f(c.x()?, Dim::One(dim))?])
}

type Spread = fn(&Tensor, Dims, f64) -> Result<Tensor>;

fn spread(c: &Call<'_>, [plain, kept]: [Spread; 2]) -> Outputs {
    let correction = match c.get::<bool>(usize::MAX, "unbiased")? {
        Some(unbiased) => f64::from(u8::from(unbiased)),
        None => c.number(usize::MAX, "correction", 1.0)?,
    };
    let dims = c.dims_or_all(1, "dim")?;
    let f = if c.or(3, "keepdim", false)? {
        kept
    } else {
        plain
    };
    Ok(vec![f(c.x()?, dims, correction)?])
}

fn unbiased(c: &Call<'_>, f: Spread) -> Outputs {
    let correction = f64::from(u8::from(c.or(1, "unbiased", true)?));
    c.map(|x| f(x, Dims::All, correction))
}
