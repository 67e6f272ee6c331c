//! Random chains of views see the same elements as ndarray's views, without copies.

use module_nn::ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Slice, stack};
use module_nn::{Result, Tensor};

use super::Draw;
use super::plain::indices;

type Views = (String, Result<Tensor>, ArrayD<f64>);

/// A view of `x`, by us and by ndarray, whose elements are then copied.
fn view(d: &mut Draw, x: &Tensor, a: &ArrayD<f64>) -> Option<Views> {
    let shape = a.shape().to_vec();
    let rank = shape.len();
    let kind = d.below(10);
    if kind == 0 {
        let order = d.order(rank);
        let ours = x.permute(d.signed(&order, rank));
        let theirs = a.view().permuted_axes(IxDyn(&order)).to_owned();
        return Some((format!("permute {order:?}"), ours, theirs));
    }
    if kind == 1 {
        let dim = d.below(rank + 1);
        let theirs = a.view().insert_axis(Axis(dim)).to_owned();
        let ours = x.unsqueeze(dim as isize);
        return (rank < 5).then(|| (format!("unsqueeze {dim}"), ours, theirs));
    }
    if kind == 2 {
        let sizes = d.factors(a.len());
        (!a.is_empty()).then_some(())?;
        let signed: Vec<isize> = sizes.iter().map(|&size| size as isize).collect();
        let theirs = a.to_shape(IxDyn(&sizes)).unwrap().to_owned();
        return Some((format!("reshape {sizes:?}"), x.reshape(signed), theirs));
    }
    if kind == 3 {
        let mut sizes = shape.clone();
        for size in sizes.iter_mut().filter(|size| **size == 1) {
            *size = d.below(4);
        }
        if rank < 5 && d.below(2) == 0 {
            sizes.insert(0, 1 + d.below(2));
        }
        (sizes.iter().product::<usize>() <= 300).then_some(())?;
        let theirs = a.broadcast(IxDyn(&sizes)).unwrap().to_owned();
        return Some((
            format!("expand {sizes:?}"),
            x.expand(sizes.as_slice()),
            theirs,
        ));
    }
    let dim = d.dim(&shape)?;
    let (axis, size, at) = (Axis(dim), shape[dim], d.signed(&[dim], rank)[0]);
    let start = d.below(size + 1);
    let end = start + d.below(size - start + 1);
    Some(match kind {
        4 => (
            format!("narrow {dim} {start}..{end}"),
            x.narrow(at, start..end),
            a.slice_axis(axis, Slice::from(start..end)).to_owned(),
        ),
        5 => {
            // Bounds from the end and steps, as Python has them in both.
            let step = 1 + d.below(3);
            let from = start as isize - size as isize;
            let ours = match from {
                0 => x.slice(at, size as isize.., step as isize),
                _ => x.slice(at, from.., step as isize),
            };
            let theirs = a.slice_axis(axis, Slice::from(start..).step_by(step as isize));
            (
                format!("slice {dim} {start}.. by {step}"),
                ours,
                theirs.to_owned(),
            )
        }
        6 => {
            (start < size).then_some(())?;
            let theirs = a.index_axis(axis, start).to_owned();
            (
                format!("select {dim} {start}"),
                x.select(at, start as isize),
                theirs,
            )
        }
        7 => {
            let mut theirs = a.view();
            theirs.invert_axis(axis);
            (
                format!("flip {dim}"),
                x.flip([at].as_slice()),
                theirs.to_owned(),
            )
        }
        8 => {
            (size > 0 && rank < 5).then_some(())?;
            let (length, step) = (1 + d.below(size), 1 + d.below(2));
            let window = |from: usize| {
                let part = a.slice_axis(axis, Slice::from(from..from + length));
                let mut order: Vec<usize> = (0..rank).filter(|i| *i != dim).collect();
                order.push(dim);
                part.permuted_axes(IxDyn(&order))
            };
            let parts: Vec<ArrayViewD<'_, f64>> =
                (0..=size - length).step_by(step).map(window).collect();
            let theirs = stack(axis, &parts).unwrap();
            let label = format!("unfold {dim} {length} {step}");
            (label, x.unfold(at, length, step), theirs)
        }
        _ => {
            (rank >= 2).then_some(())?;
            let other = (dim + 1 + d.below(rank - 1)) % rank;
            let (rows, columns) = (size, shape[other]);
            let offset = d.below(rows + columns + 1) as isize - rows as isize;
            let (down, right) = ((-offset).max(0) as usize, offset.max(0) as usize);
            let length = rows.saturating_sub(down).min(columns.saturating_sub(right));
            (length > 0).then_some(())?;
            // The second axis is counted without the first.
            let second = Axis(if other > dim { other - 1 } else { other });
            let element = |i: usize| {
                let row = a.view().index_axis_move(axis, down + i);
                row.index_axis_move(second, right + i)
            };
            let parts: Vec<ArrayViewD<'_, f64>> = (0..length).map(element).collect();
            let theirs = stack(Axis(rank - 2), &parts).unwrap();
            let label = format!("diagonal {offset} {dim} {other}");
            (label, x.diagonal(offset, at, other as isize), theirs)
        }
    })
}

#[test]
fn random_views_agree_with_ndarray() {
    let mut steps = 0;
    for seed in 0..3000 {
        let d = &mut Draw::new(seed);
        let mut shape = d.shape();
        if d.below(20) == 0
            && let Some(dim) = d.dim(&shape)
        {
            shape[dim] = 0;
        }
        // Each element is a different number, so that a gradient shows where it went.
        let numel: usize = shape.iter().product();
        let numbers: Vec<f64> = (0..numel).map(|i| i as f64).collect();
        let leaf = Tensor::from_vec(numbers.clone(), shape.as_slice()).unwrap();
        let leaf = leaf.with_grad().unwrap();
        let mut theirs = ArrayD::from_shape_vec(IxDyn(&shape), numbers).unwrap();
        let (mut ours, mut story, mut copied) = (leaf.clone(), format!("{shape:?}"), false);
        for _ in 0..1 + d.below(8) {
            let Some((label, view, array)) = view(d, &ours, &theirs) else {
                continue;
            };
            steps += 1;
            story = format!("{story}, {label}");
            ours = view.unwrap_or_else(|e| panic!("{e}, chain {seed}: {story}"));
            theirs = array;
            copied |= label.starts_with("flip") || label.starts_with("reshape");
            assert_eq!(
                ours.shape().to_vec(),
                theirs.shape(),
                "chain {seed}: {story}"
            );
            let values = ours.to_vec::<f64>().unwrap();
            assert!(values.iter().eq(theirs.iter()), "chain {seed}: {story}");
            assert!(
                copied || ours.shares_memory_with(&leaf),
                "chain {seed}: {story}"
            );
        }

        // Integer weights, so that sums are exact.
        let weights: Vec<f64> = (0..theirs.len()).map(|i| (i % 13) as f64).collect();
        let mut expected = vec![0.0; numel];
        for (index, weight) in indices(theirs.shape()).iter().zip(&weights) {
            expected[theirs[IxDyn(index)] as usize] += weight;
        }
        let seeds = Tensor::from_vec(weights, ours.shape()).unwrap();
        ours.mul(&seeds)
            .unwrap()
            .sum(..)
            .unwrap()
            .backward()
            .unwrap();
        let grad = leaf.grad().unwrap().to_vec::<f64>().unwrap();
        assert_eq!(grad, expected, "chain {seed}: {story}");
    }
    assert!(steps > 9000, "{steps}");
}
