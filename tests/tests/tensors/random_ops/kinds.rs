//! Kinds of operations: each draws one, in the library's form and in a plain one.

mod elementwise;
mod indices;
mod reductions;

use module_conformance::either;
use module_nn::{PadMode, Result, Tensor};

use super::plain::{Plain, broadcast};
use super::{Chain, Draw, Step, int_tensor, mask_tensor};

use elementwise::{binary, binary_leaf, unary};
use indices::{gather, index_select, masked_fill, scatter_add, where_};
use reductions::{reduction, rows};

/// Draws a step on the last value, or `None` if the value does not suit the kind.
pub(crate) type Kind = fn(&mut Draw, &mut Chain) -> Option<Step>;

pub(crate) const KINDS: [(&str, Kind); 20] = [
    ("unary", unary),
    ("binary", binary),
    ("binary with a leaf", binary_leaf),
    ("reduction", reduction),
    ("rows", rows),
    ("matmul", matmul),
    ("cat", cat),
    ("stack", stack),
    ("gather", gather),
    ("index_select", index_select),
    ("scatter_add", scatter_add),
    ("where", where_),
    ("masked_fill", masked_fill),
    ("pad", pad),
    ("triangle", triangle),
    ("repeat", repeat),
    ("order of dimensions", order),
    ("part", part),
    ("windows", windows),
    ("shape", shape),
];

fn step(
    label: impl Into<String>,
    of: &[usize],
    ours: impl Fn(&[Tensor]) -> Result<Tensor> + 'static,
    plain: impl Fn(&[Plain]) -> Plain + 'static,
) -> Option<Step> {
    Some(Step {
        label: label.into(),
        of: of.to_vec(),
        ours: Box::new(ours),
        plain: Box::new(plain),
    })
}

fn matmul(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    let &inner = shape.last()?;
    let mut other = vec![inner];
    if d.below(3) > 0 {
        other.push(1 + d.below(4));
        if shape.len() > 2 && d.below(2) == 0 {
            let batch = shape[shape.len() - 3];
            other.insert(0, if d.below(2) == 0 { batch } else { 1 });
        } else if shape.len() < 3 && d.below(3) == 0 {
            other.insert(0, 2);
        }
    }
    let (a, b) = (chain.last(), chain.leaf(d, &other));
    step(
        format!("matmul {other:?}"),
        &[a, b],
        |x| x[0].matmul(&x[1]),
        |x| x[0].matmul(&x[1]),
    )
}

fn cat(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let mut shape = chain.shape();
    let dim = d.dim(&shape)?;
    shape[dim] = 1 + d.below(2);
    let (a, b) = (chain.last(), chain.leaf(d, &shape));
    let of = match d.below(3) {
        0 => vec![a, b],
        1 => vec![b, a],
        _ => vec![a, b, a],
    };
    step(
        format!("cat {dim} of {}", of.len()),
        &of,
        move |x| Tensor::cat(&x.iter().collect::<Vec<_>>(), dim as isize),
        move |x| Plain::cat(&x.iter().collect::<Vec<_>>(), dim),
    )
}

fn stack(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let (a, shape) = (chain.last(), chain.shape());
    let (b, dim) = (chain.leaf(d, &shape), d.below(shape.len() + 1));
    step(
        format!("stack {dim}"),
        &[a, b],
        move |x| Tensor::stack(&[&x[0], &x[1]], dim as isize),
        move |x| {
            let mut shape = x[0].shape.clone();
            shape.insert(dim, 2);
            Plain::from_fn(&shape, |mut i| x[i.remove(dim)].at(&i))
        },
    )
}

/// Zeros around it, or a part cut off, which PyTorch writes as negative padding.
fn pad(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    let dim = d.dim(&shape)?;
    let (before, after) = (d.below(3) as isize - 1, d.below(3) as isize);
    (shape[dim] as isize + before + after > 0).then_some(())?;
    let mut widths = vec![0; 2 * (shape.len() - dim)];
    let at = widths.len() - 2;
    (widths[at], widths[at + 1]) = (before, after);
    step(
        format!("pad {dim} {before} {after}"),
        &[chain.last()],
        move |x| x[0].pad(&widths, PadMode::Constant(0.0.into())),
        move |x| {
            x[0].rows(dim, |row| {
                let place = |i: isize| usize::try_from(i).ok().and_then(|i| row.get(i));
                let places = -before..row.len() as isize + after;
                places.map(|i| place(i).copied().unwrap_or(0.0)).collect()
            })
        },
    )
}

fn triangle(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let rank = chain.shape().len();
    (rank >= 2).then_some(())?;
    let (upper, diagonal) = (d.below(2) == 0, d.below(4) as i64 - 2);
    step(
        format!("tril or triu {upper} {diagonal}"),
        &[chain.last()],
        move |x| match upper {
            true => x[0].triu(diagonal),
            false => x[0].tril(diagonal),
        },
        move |x| {
            Plain::from_fn(&x[0].shape, |i| {
                let beyond = i[rank - 1] as i64 - i[rank - 2] as i64 - diagonal;
                let on = if upper { beyond >= 0 } else { beyond <= 0 };
                if on { x[0].at(&i) } else { 0.0 }
            })
        },
    )
}

fn repeat(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    (chain.numel() <= 30 && shape.len() < 4).then_some(())?;
    let lead = d.below(2);
    let times: Vec<usize> = (0..lead + shape.len()).map(|_| 1 + d.below(2)).collect();
    step(
        format!("repeat {times:?}"),
        &[chain.last()],
        {
            let times = times.clone();
            move |x| x[0].repeat(&times)
        },
        move |x| {
            let mut sizes = vec![1; lead];
            sizes.extend(&x[0].shape);
            let out: Vec<usize> = sizes.iter().zip(&times).map(|(a, b)| a * b).collect();
            Plain::from_fn(&out, |i| {
                let own = i.iter().zip(&sizes).skip(lead).map(|(i, size)| i % size);
                x[0].at(&own.collect::<Vec<_>>())
            })
        },
    )
}

fn order(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    let order = d.order(shape.len());
    let signed = d.signed(&order, shape.len());
    step(
        format!("permute {order:?}"),
        &[chain.last()],
        move |x| x[0].permute(&signed),
        move |x| {
            let out: Vec<usize> = order.iter().map(|&from| x[0].shape[from]).collect();
            Plain::from_fn(&out, |i| {
                let mut place = vec![0; i.len()];
                order.iter().zip(&i).for_each(|(&from, &i)| place[from] = i);
                x[0].at(&place)
            })
        },
    )
}

fn part(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    let dim = d.dim(&shape)?;
    let size = shape[dim];
    let start = d.below(size);
    let end = start + 1 + d.below(size - start);
    let (label, at) = (format!("{dim} {start}..{end}"), [chain.last()]);
    match d.below(3) {
        0 => step(
            format!("narrow {label}"),
            &at,
            move |x| x[0].narrow(dim as isize, start..end),
            move |x| x[0].rows(dim, |row| row[start..end].to_vec()),
        ),
        1 => {
            let every = 1 + d.below(2);
            step(
                format!("slice {label} by {every}"),
                &at,
                move |x| x[0].slice(dim as isize, start as isize..end as isize, every as isize),
                move |x| {
                    let take =
                        |row: &[f64]| row[start..end].iter().step_by(every).copied().collect();
                    x[0].rows(dim, take)
                },
            )
        }
        _ => step(
            format!("select {dim} {start}"),
            &at,
            move |x| x[0].select(dim as isize, start as isize - size as isize),
            move |x| x[0].reduce(&[dim], false, |row| row[start]),
        ),
    }
}

fn windows(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let shape = chain.shape();
    let (dim, at) = (d.dim(&shape)?, [chain.last()]);
    if shape.len() >= 2 && d.below(2) == 0 {
        let other = (dim + 1 + d.below(shape.len() - 1)) % shape.len();
        let offset = d.below(shape[dim] + shape[other] - 1) as isize - shape[dim] as isize + 1;
        let (down, right) = ((-offset).max(0) as usize, offset.max(0) as usize);
        let length = (shape[dim] - down).min(shape[other] - right);
        return step(
            format!("diagonal {offset} {dim} {other}"),
            &at,
            move |x| x[0].diagonal(offset, dim as isize, other as isize),
            move |x| {
                let kept = (0..x[0].rank()).filter(|d| *d != dim && *d != other);
                let kept: Vec<usize> = kept.collect();
                let mut out: Vec<usize> = kept.iter().map(|&d| x[0].shape[d]).collect();
                out.push(length);
                Plain::from_fn(&out, |i| {
                    let mut place = vec![0; x[0].rank()];
                    kept.iter().zip(&i).for_each(|(&d, &i)| place[d] = i);
                    let along = i[i.len() - 1];
                    (place[dim], place[other]) = (down + along, right + along);
                    x[0].at(&place)
                })
            },
        );
    }
    (shape.len() < 4).then_some(())?;
    let (size, every) = (1 + d.below(shape[dim]), 1 + d.below(2));
    step(
        format!("unfold {dim} {size} {every}"),
        &at,
        move |x| x[0].unfold(dim as isize, size, every),
        move |x| {
            let mut out = x[0].shape.clone();
            out[dim] = (out[dim] - size) / every + 1;
            out.push(size);
            Plain::from_fn(&out, |mut i| {
                let within = i.remove(i.len() - 1);
                i[dim] = i[dim] * every + within;
                x[0].at(&i)
            })
        },
    )
}

fn shape(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let (mut shape, at) = (chain.shape(), [chain.last()]);
    match d.below(4) {
        0 => {
            let out = d.factors(chain.numel());
            let signed: Vec<isize> = out.iter().map(|&size| size as isize).collect();
            step(
                format!("reshape {out:?}"),
                &at,
                move |x| x[0].reshape(&signed),
                move |x| Plain {
                    shape: out.clone(),
                    data: x[0].data.clone(),
                },
            )
        }
        1 => {
            (chain.numel() <= 40 && shape.len() < 4).then_some(())?;
            for size in &mut shape {
                if *size == 1 {
                    *size = 1 + d.below(3);
                }
            }
            if d.below(2) == 0 {
                shape.insert(0, 2);
            }
            let out = shape.clone();
            step(
                format!("expand {shape:?}"),
                &at,
                move |x| x[0].expand(out.as_slice()),
                move |x| Plain::from_fn(&shape, |i| x[0].stretched_at(&i)),
            )
        }
        2 => {
            (shape.len() < 4).then_some(())?;
            let dim = d.below(shape.len() + 1);
            step(
                format!("unsqueeze {dim}"),
                &at,
                move |x| x[0].unsqueeze(dim as isize),
                move |x| {
                    let mut out = x[0].clone();
                    out.shape.insert(dim, 1);
                    out
                },
            )
        }
        _ => {
            let dim = d.dim(&shape)?;
            step(
                format!("squeeze {dim}"),
                &at,
                move |x| x[0].squeeze(dim as isize),
                move |x| {
                    let mut out = x[0].clone();
                    if out.shape[dim] == 1 {
                        out.shape.remove(dim);
                    }
                    out
                },
            )
        }
    }
}
