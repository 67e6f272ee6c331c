//! Searches, counts, reductions by index, writes with index tensors, and running extremes.

use super::arguments::{Call, Op, Outputs, both, not_ours};
use super::shapes::items;
use module_conformance::either;
use module_core::Dim;
use module_core::SearchSortedOptions;
use module_core::{
    MeshIndexing, QuantileInterpolation, Repeats, Result, ScatterReduce, Tensor, Unique,
    Value as Operand,
};

const FAR: usize = usize::MAX;

pub(crate) const OPS: &[Op] = &[
    ("cummax", |c| Ok(both(c.x()?.cummax(c.need(1, "dim")?)?))),
    ("cummin", |c| Ok(both(c.x()?.cummin(c.need(1, "dim")?)?))),
    ("logcumsumexp", |c| {
        Ok(vec![c.x()?.logcumsumexp(c.need(1, "dim")?)?])
    }),
    ("logaddexp", |c| c.pair(Tensor::logaddexp)),
    ("logaddexp2", |c| c.pair(Tensor::logaddexp2)),
    ("xlogy", |c| c.with(|x, y| x.xlogy(y))),
    ("nan_to_num", |c| {
        let number = |place: usize, name: &str| match c.has(place, name) {
            true => c.number(place, name, 0.0).map(Some),
            false => Ok(None),
        };
        let (nan, high, low) = (
            number(1, "nan")?,
            number(2, "posinf")?,
            number(3, "neginf")?,
        );
        c.map(|x| x.nan_to_num(nan, high, low))
    }),
    ("quantile", |c| {
        quantile(c, |x, q, dim, keepdim, how| {
            either!(keepdim, x, quantile / quantile_keepdim, q, dim, how)
        })
    }),
    ("nanquantile", |c| {
        quantile(c, |x, q, dim, keepdim, how| {
            either!(keepdim, x, nanquantile / nanquantile_keepdim, q, dim, how)
        })
    }),
    ("count_nonzero", |c| {
        Ok(vec![c.x()?.count_nonzero(c.dims_or_all(1, "dim")?)?])
    }),
    ("bincount", |c| {
        let (weights, least) = (c.maybe(1, "weights")?, c.or(2, "minlength", 0)?);
        Ok(vec![c.x()?.bincount(weights, least)?])
    }),
    ("unique", |c| {
        let _ = c.value(FAR, "sorted");
        let dim = dim_or_all(c.get(FAR, "dim")?);
        grouped(c, |x| x.unique(dim))
    }),
    ("unique_consecutive", |c| {
        let dim = dim_or_all(c.get(FAR, "dim")?);
        grouped(c, |x| x.unique_consecutive(dim))
    }),
    ("searchsorted", |c| {
        c.ignore("out_int32", &[false.into()])?;
        let right = c.or(FAR, "right", false)? || c.value(FAR, "side") == "right";
        let (values, sorter) = (c.operand(1, "input")?, c.maybe(FAR, "sorter")?);
        Ok(vec![c.x()?.searchsorted_with(
            values,
            SearchSortedOptions::new().right(right).sorter(sorter),
        )?])
    }),
    ("bucketize", |c| {
        c.ignore("out_int32", &[false.into()])?;
        let right = c.or(FAR, "right", false)?;
        c.pair(|x, boundaries| either!(right, x, bucketize / bucketize_right, boundaries))
    }),
    ("index_put", |c| {
        let Some(items) = items(c, 1) else {
            return not_ours("an index of lists");
        };
        let (values, accumulate) = (c.operand(2, "values")?, c.or(3, "accumulate", false)?);
        Ok(vec![either!(
            accumulate,
            c.x()?,
            index_put / index_put_accumulate,
            items.as_slice(),
            values
        )?])
    }),
    ("masked_scatter", |c| {
        let source = c.tensor(2, "source")?;
        c.pair(|x, mask| x.masked_scatter(mask, source))
    }),
    ("index_fill", |c| {
        let (dim, index) = (c.need(1, "dim")?, c.tensor(2, "index")?);
        Ok(vec![c.x()?.index_fill(
            dim,
            index,
            c.operand(3, "value")?,
        )?])
    }),
    ("index_copy", |c| {
        let (dim, index) = (c.need(1, "dim")?, c.tensor(2, "index")?);
        Ok(vec![c.x()?.index_copy(
            dim,
            index,
            c.tensor(3, "source")?,
        )?])
    }),
    ("repeat_interleave", |c| {
        let _ = c.value(FAR, "output_size");
        let repeats = match c.operand(1, "repeats")? {
            Operand::Tensor(repeats) => repeats,
            Operand::Scalar(_) => {
                let (all, x) = (Repeats::All(c.need(1, "repeats")?), c.x()?);
                return Ok(vec![match c.get(2, "dim")? {
                    Some(dim) => x.repeat_interleave(all, dim)?,
                    None => x.flatten(0, -1)?.repeat_interleave(all, 0)?,
                }]);
            }
        };
        Ok(vec![match c.get(2, "dim")? {
            Some(dim) => c.x()?.repeat_interleave(&*repeats, dim)?,
            None => c.x()?.flatten(0, -1)?.repeat_interleave(&*repeats, 0)?,
        }])
    }),
    ("scatter_reduce.sum", |c| folded(c, ScatterReduce::Sum)),
    ("scatter_reduce.prod", |c| folded(c, ScatterReduce::Prod)),
    ("scatter_reduce.mean", |c| folded(c, ScatterReduce::Mean)),
    ("scatter_reduce.amax", |c| folded(c, ScatterReduce::Amax)),
    ("scatter_reduce.amin", |c| folded(c, ScatterReduce::Amin)),
    ("meshgrid.list_of_tensors meshgrid.variadic_tensors", |c| {
        let indexing = match c.value(FAR, "indexing").as_str() {
            Some("xy") => MeshIndexing::Xy,
            _ => MeshIndexing::Ij,
        };
        Ok(Tensor::meshgrid(&c.tensors(0)?, indexing)?)
    }),
    ("multinomial", |c| {
        let (count, again) = (c.need(1, "num_samples")?, c.or(2, "replacement", false)?);
        c.map(|x| either!(again, x, multinomial / multinomial_with_replacement, count))
    }),
];

fn folded(c: &Call<'_>, reduce: ScatterReduce) -> Outputs {
    let (dim, index, source) = (
        c.need(1, "dim")?,
        c.tensor(2, "index")?,
        c.tensor(3, "src")?,
    );
    let _ = c.value(4, "reduce");
    let include = c.or(FAR, "include_self", true)?;
    Ok(vec![either!(
        include,
        c.x()?,
        scatter_reduce_exclude_self / scatter_reduce,
        dim,
        index,
        source,
        reduce
    )?])
}

type Quantile = fn(&Tensor, Operand<'_>, Dim, bool, QuantileInterpolation) -> Result<Tensor>;

fn quantile(c: &Call<'_>, f: Quantile) -> Outputs {
    let how = match c.value(FAR, "interpolation").as_str() {
        Some("lower") => QuantileInterpolation::Lower,
        Some("higher") => QuantileInterpolation::Higher,
        Some("nearest") => QuantileInterpolation::Nearest,
        Some("midpoint") => QuantileInterpolation::Midpoint,
        _ => QuantileInterpolation::Linear,
    };
    let (q, dim) = (c.operand(1, "q")?, dim_or_all(c.get(2, "dim")?));
    Ok(vec![f(c.x()?, q, dim, c.or(3, "keepdim", false)?, how)?])
}

fn grouped(c: &Call<'_>, f: impl FnOnce(&Tensor) -> Result<Unique>) -> Outputs {
    let unique = f(c.x()?)?;
    let mut outputs = vec![unique.values];
    if c.or(FAR, "return_inverse", false)? {
        outputs.push(unique.inverse);
    }
    if c.or(FAR, "return_counts", false)? {
        outputs.push(unique.counts);
    }
    Ok(outputs)
}

/// All dimensions for `None`.
fn dim_or_all(dim: Option<isize>) -> Dim {
    dim.map_or(Dim::All, Dim::One)
}
