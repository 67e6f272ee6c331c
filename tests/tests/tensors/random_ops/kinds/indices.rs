//! Operations by index or mask.

use super::*;

pub(super) fn gather(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    let dim = d.dim(&shape)?;
    let mut out: Vec<usize> = shape.iter().map(|&size| 1 + d.below(size)).collect();
    out[dim] = 1 + d.below(4);
    let index = Plain::from_fn(&out, |_| d.below(shape[dim]) as f64);
    let ours = int_tensor(&index);
    step(
        format!("gather {dim} {out:?}"),
        &[chain.last()],
        move |x| x[0].gather(dim as isize, &ours),
        move |x| {
            Plain::from_fn(&index.shape, |mut i| {
                i[dim] = index.at(&i) as usize;
                x[0].at(&i)
            })
        },
    )
}

pub(super) fn index_select(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    let dim = d.dim(&shape)?;
    let count = 1 + d.below(4);
    let index = Plain::from_fn(&[count], |_| d.below(shape[dim]) as f64);
    let ours = int_tensor(&index);
    step(
        format!("index_select {dim} {:?}", index.data),
        &[chain.last()],
        move |x| x[0].index_select(dim as isize, &ours),
        move |x| {
            let mut shape = x[0].shape.clone();
            shape[dim] = count;
            Plain::from_fn(&shape, |mut i| {
                i[dim] = index.at(&[i[dim]]) as usize;
                x[0].at(&i)
            })
        },
    )
}

pub(super) fn scatter_add(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    let dim = d.dim(&shape)?;
    let mut part: Vec<usize> = shape.iter().map(|&size| 1 + d.below(size)).collect();
    part[dim] = 1 + d.below(4);
    let index = Plain::from_fn(&part, |_| d.below(shape[dim]) as f64);
    let ours = int_tensor(&index);
    let (a, b) = (chain.last(), chain.leaf(d, &part));
    step(
        format!("scatter_add {dim} {part:?}"),
        &[a, b],
        move |x| x[0].scatter_add(dim as isize, &ours, &x[1]),
        move |x| {
            Plain::from_fn(&x[0].shape, |to| {
                let comes = |from: &Vec<usize>| {
                    let mut place = from.clone();
                    place[dim] = index.at(from) as usize;
                    place == to
                };
                let all = super::super::plain::indices(&index.shape).into_iter();
                x[0].at(&to) + all.filter(comes).map(|from| x[1].at(&from)).sum::<f64>()
            })
        },
    )
}

fn mask(d: &mut Draw, shape: &[usize]) -> Plain {
    Plain::from_fn(shape, |_| d.below(2) as f64)
}

pub(super) fn where_(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    let mask = mask(d, &shape);
    let ours = mask_tensor(&mask);
    let (a, b) = (chain.last(), chain.leaf(d, &shape));
    step(
        "where",
        &[a, b],
        move |x| ours.where_(&x[0], &x[1]),
        move |x| Plain::from_fn(&mask.shape, |i| x[usize::from(mask.at(&i) == 0.0)].at(&i)),
    )
}

pub(super) fn masked_fill(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let mask = mask(d, &chain.shape());
    let ours = mask_tensor(&mask);
    step(
        "masked_fill",
        &[chain.last()],
        move |x| x[0].masked_fill(&ours, 0.75),
        move |x| x[0].zip(&mask, |x, mask| if mask == 0.0 { x } else { 0.75 }),
    )
}
