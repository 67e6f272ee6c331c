//! Views, copies and joins.

use super::arguments::{Call, Op, not_ours};
use module_core::{IndexItem, Tensor};
use serde_json::Value;

pub(crate) const OPS: &[Op] = &[
    ("cat", |c| {
        let dim = match c.has(1, "dim") {
            true => c.need(1, "dim")?,
            false => c.or(usize::MAX, "axis", 0)?,
        };
        Ok(vec![Tensor::cat(&c.tensors(0)?, dim)?])
    }),
    ("stack", |c| {
        Ok(vec![Tensor::stack(&c.tensors(0)?, c.or(1, "dim", 0)?)?])
    }),
    ("split", |c| {
        Ok(c.x()?.split(c.need(1, "split_size")?, c.or(2, "dim", 0)?)?)
    }),
    ("split.list_args split_with_sizes", |c| {
        Ok(c.x()?
            .split_with_sizes(c.need::<Vec<usize>>(1, "split_sizes")?, c.or(2, "dim", 0)?)?)
    }),
    ("chunk", |c| {
        Ok(c.x()?.chunk(c.need(1, "chunks")?, c.or(2, "dim", 0)?)?)
    }),
    ("unbind", |c| Ok(c.x()?.unbind(c.or(1, "dim", 0)?)?)),
    ("flip", |c| Ok(vec![c.x()?.flip(c.dims(1, "dims")?)?])),
    ("roll", |c| {
        let x = c.x()?;
        let list = |value: Value| match value {
            Value::Array(list) => list,
            one => vec![one],
        };
        let numbers = |value: Value| {
            let numbers: Option<Vec<isize>> = list(value)
                .iter()
                .map(|number| isize::try_from(number.as_i64()?).ok())
                .collect();
            numbers.map_or_else(|| not_ours("shifts that are not numbers"), Ok)
        };
        let shifts = numbers(c.need(1, "shifts")?)?;
        let dims = match c.get::<Value>(2, "dims")? {
            Some(dims) => numbers(dims)?,
            None => Vec::new(),
        };
        if dims.is_empty() {
            let flat = x.flatten(0, -1)?.roll(shifts, 0)?;
            return Ok(vec![flat.reshape(x.shape())?]);
        }
        if shifts.len() != dims.len() {
            return not_ours("shifts that are not as many as dimensions");
        }
        Ok(vec![x.roll(shifts, dims)?])
    }),
    ("tril", |c| Ok(vec![c.x()?.tril(c.or(1, "diagonal", 0)?)?])),
    ("triu", |c| Ok(vec![c.x()?.triu(c.or(1, "diagonal", 0)?)?])),
    ("repeat", |c| {
        Ok(vec![c.x()?.repeat(c.shape::<usize>(1, "repeats")?)?])
    }),
    ("diff", |c| {
        let (n, dim) = (c.or(1, "n", 1)?, c.or(2, "dim", -1)?);
        let x = c.x()?;
        let (before, after) = (c.maybe(3, "prepend")?, c.maybe(4, "append")?);
        if n == 0 {
            return Ok(vec![x.diff(n, dim)?]);
        }
        let parts: Vec<&Tensor> = before.into_iter().chain([x]).chain(after).collect();
        match parts.len() {
            1 => Ok(vec![x.diff(n, dim)?]),
            _ => Ok(vec![Tensor::cat(&parts, dim)?.diff(n, dim)?]),
        }
    }),
    ("reshape", |c| {
        Ok(vec![c.x()?.reshape(c.shape::<isize>(1, "shape")?)?])
    }),
    ("view", |c| {
        Ok(vec![c.x()?.view(c.shape::<isize>(1, "shape")?)?])
    }),
    ("reshape_as", |c| c.pair(|x, y| x.reshape(y.shape()))),
    ("view_as", |c| c.pair(|x, y| x.view(y.shape()))),
    ("expand_as", |c| c.pair(|x, y| x.expand(y.shape()))),
    ("flatten", |c| {
        Ok(vec![c.x()?.flatten(
            c.or(1, "start_dim", 0)?,
            c.or(2, "end_dim", -1)?,
        )?])
    }),
    ("ravel", |c| c.map(|x| x.flatten(0, -1))),
    ("unflatten", |c| {
        Ok(vec![c.x()?.unflatten(
            c.need(1, "dim")?,
            c.need::<Vec<isize>>(2, "sizes")?,
        )?])
    }),
    ("contiguous", |c| c.map(Tensor::contiguous)),
    ("narrow", |c| {
        let (dim, length) = (c.need(1, "dim")?, c.need::<usize>(3, "length")?);
        let x = c.x()?;
        let start = c.need::<isize>(2, "start")?;
        // This library takes a range, which has no negative ends.
        let size = x.size(dim)? as isize;
        let start = if start < 0 { start + size } else { start };
        let Ok(start) = usize::try_from(start) else {
            return not_ours("a negative start");
        };
        Ok(vec![x.narrow(dim, start..start + length)?])
    }),
    ("select", |c| {
        Ok(vec![c.x()?.select(c.need(1, "dim")?, c.need(2, "index")?)?])
    }),
    ("unsqueeze", |c| {
        Ok(vec![c.x()?.unsqueeze(c.need(1, "dim")?)?])
    }),
    ("squeeze squeeze.multiple", |c| {
        Ok(vec![c.x()?.squeeze(c.dims(1, "dim")?)?])
    }),
    ("expand", |c| {
        Ok(vec![c.x()?.expand(c.shape::<isize>(1, "size")?)?])
    }),
    ("broadcast_to", |c| {
        Ok(vec![c.x()?.expand(c.shape::<isize>(1, "size")?)?])
    }),
    ("sum_to_size", |c| {
        let shape: Vec<usize> = c.shape(1, "size")?;
        c.map(|x| x.sum_to(&shape.into()))
    }),
    ("permute", |c| {
        Ok(vec![c.x()?.permute(c.shape::<isize>(1, "dims")?)?])
    }),
    ("transpose", |c| {
        Ok(vec![
            c.x()?.transpose(c.need(1, "dim0")?, c.need(2, "dim1")?)?,
        ])
    }),
    ("t", |c| c.map(Tensor::t)),
    ("movedim", |c| {
        let (from, to) = (c.dims(1, "source")?, c.dims(2, "destination")?);
        c.map(|x| x.movedim(from, to))
    }),
    ("diagonal", |c| {
        let offset = c.or(1, "offset", 0)?;
        Ok(vec![c.x()?.diagonal(
            offset,
            c.or(2, "dim1", 0)?,
            c.or(3, "dim2", 1)?,
        )?])
    }),
    ("linalg.diagonal", |c| {
        let offset = c.or(usize::MAX, "offset", 0)?;
        Ok(vec![c.x()?.diagonal(
            offset,
            c.or(usize::MAX, "dim1", -2)?,
            c.or(usize::MAX, "dim2", -1)?,
        )?])
    }),
    ("diag", |c| Ok(vec![c.x()?.diag(c.or(1, "diagonal", 0)?)?])),
    ("diag_embed", |c| {
        let offset = c.or(1, "offset", 0)?;
        Ok(vec![c.x()?.diag_embed(
            offset,
            c.or(2, "dim1", -2)?,
            c.or(3, "dim2", -1)?,
        )?])
    }),
    ("unfold", |c| {
        Ok(vec![c.x()?.unfold(
            c.need(1, "dimension")?,
            c.need(2, "size")?,
            c.need(3, "step")?,
        )?])
    }),
    ("slice", |c| {
        let x = c.x()?;
        let (dim, step) = (c.or(1, "dim", 0)?, c.or(4, "step", 1)?);
        let (start, end) = (c.get::<isize>(2, "start")?, c.get::<isize>(3, "end")?);
        Ok(vec![x.slice(dim, between(start, end), step)?])
    }),
    ("__getitem__", |c| match items(c, 1) {
        Some(items) => c.map(|x| x.i(items.as_slice())),
        None => not_ours("an index of lists"),
    }),
];

type Range = (std::ops::Bound<isize>, std::ops::Bound<isize>);

fn between(start: Option<isize>, end: Option<isize>) -> Range {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let start = start.map_or(Unbounded, Included);
    (start, end.map_or(Unbounded, Excluded))
}

/// An index as Python has it: several entries in a tuple, or one.
pub(super) fn items(c: &Call<'_>, place: usize) -> Option<Vec<IndexItem>> {
    let index = c.value(place, "index");
    let items = match index["tuple"].as_array() {
        Some(list) => list.clone(),
        // `index_put` has a list of tensors.
        None if index[0]["tensor"].is_u64() => index.as_array()?.clone(),
        None => vec![index.clone()],
    };
    items.iter().map(|value| item(c, value)).collect()
}

fn item(c: &Call<'_>, value: &Value) -> Option<IndexItem> {
    if let Some(tensor) = c.tensor_of(value) {
        return Some(IndexItem::Tensor(tensor.clone()));
    }
    if let Some(parts) = value["slice"].as_array() {
        let number = |i: usize| parts[i].as_i64().map(|n| n as isize);
        let (start, end) = between(number(0), number(1));
        let step = number(2).unwrap_or(1);
        return Some(IndexItem::Slice { start, end, step });
    }
    match value {
        Value::Null => Some(IndexItem::NewAxis),
        Value::String(_) => Some(IndexItem::Ellipsis),
        Value::Number(number) => Some(IndexItem::At(number.as_i64()? as isize)),
        // A list of numbers is a tensor.
        Value::Array(list) => {
            let numbers: Option<Vec<i64>> = list.iter().map(Value::as_i64).collect();
            let numbers = numbers?;
            let count = numbers.len();
            Some(IndexItem::Tensor(Tensor::from_vec(numbers, count).ok()?))
        }
        _ => None,
    }
}
