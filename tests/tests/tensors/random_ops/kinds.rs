//! Kinds of operations: each draws one, in the library's form and in a plain one.

use module_conformance::either;
use module_nn::{PadMode, Result, Tensor};

use super::plain::{Plain, broadcast};
use super::{Chain, Draw, Step, int_tensor, mask_tensor};

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

type One = (&'static str, fn(&Tensor) -> Result<Tensor>, fn(f64) -> f64);

const UNARY: [One; 21] = [
    ("neg", Tensor::neg, |x| -x),
    ("sin", Tensor::sin, f64::sin),
    ("cos", Tensor::cos, f64::cos),
    ("tanh", Tensor::tanh, f64::tanh),
    ("exp", Tensor::exp, f64::exp),
    ("expm1", Tensor::expm1, f64::exp_m1),
    ("abs", Tensor::abs, f64::abs),
    ("square", Tensor::square, |x| x * x),
    ("relu", Tensor::relu, |x| if x > 0.0 { x } else { 0.0 }),
    ("sigmoid", Tensor::sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
    ("silu", Tensor::silu, |x| x / (1.0 + (-x).exp())),
    (
        "softplus",
        |x| x.softplus(1.0, 20.0),
        |x| (1.0 + x.exp()).ln(),
    ),
    (
        "leaky_relu",
        |x| x.leaky_relu(0.1),
        |x| if x > 0.0 { x } else { 0.1 * x },
    ),
    (
        "elu",
        |x| x.elu(1.0),
        |x| if x > 0.0 { x } else { x.exp() - 1.0 },
    ),
    (
        "log",
        |x| x.abs()?.add(0.5)?.log(),
        |x| (x.abs() + 0.5).ln(),
    ),
    (
        "sqrt",
        |x| x.abs()?.add(0.5)?.sqrt(),
        |x| (x.abs() + 0.5).sqrt(),
    ),
    (
        "reciprocal",
        |x| x.abs()?.add(0.5)?.reciprocal(),
        |x| 1.0 / (x.abs() + 0.5),
    ),
    ("clamp", |x| x.clamp(-1.0, 1.5), |x| x.clamp(-1.0, 1.5)),
    ("pow", |x| x.pow(3.0), |x| x * x * x),
    ("floor", Tensor::floor, f64::floor),
    ("affine", |x| x.mul(-1.5)?.sub(0.25), |x| -1.5 * x - 0.25),
];

fn unary(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let (name, ours, plain) = d.of(&UNARY);
    step(
        name,
        &[chain.last()],
        move |x| ours(&x[0]),
        move |x| x[0].map(plain),
    )
}

type Two = (
    &'static str,
    fn(&Tensor, &Tensor) -> Result<Tensor>,
    fn(f64, f64) -> f64,
);

const BINARY: [Two; 6] = [
    ("add", |a, b| a.add(b), |a, b| a + b),
    ("sub", |a, b| a.sub(b), |a, b| a - b),
    ("mul", |a, b| a.mul(b), |a, b| a * b),
    (
        "div",
        |a, b| a.div(b.square()?.add(0.5)?),
        |a, b| a / (b * b + 0.5),
    ),
    (
        "maximum",
        |a, b| a.maximum(b),
        |a, b| if a > b { a } else { b },
    ),
    (
        "minimum",
        |a, b| a.minimum(b),
        |a, b| if a < b { a } else { b },
    ),
];

fn binary_of(d: &mut Draw, a: usize, b: usize) -> Option<Step> {
    let (name, ours, plain) = d.of(&BINARY);
    let of = if d.below(2) == 0 { [a, b] } else { [b, a] };
    step(
        name,
        &of,
        move |x| ours(&x[0], &x[1]),
        move |x| x[0].zip(&x[1], plain),
    )
}

/// With an earlier value, which may be the same one.
fn binary(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let (a, b) = (chain.last(), d.below(chain.values.len()));
    let shape = broadcast(&chain.values[a].shape, &chain.values[b].shape)?;
    (shape.iter().product::<usize>() <= 100).then_some(())?;
    binary_of(d, a, b)
}

/// With a leaf that broadcasts, or to which the last value broadcasts.
fn binary_leaf(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let mut shape = chain.shape();
    for size in &mut shape {
        if *size == 1 {
            *size = 1 + d.below(3);
        } else if d.below(3) == 0 {
            *size = 1;
        }
    }
    if d.below(3) == 0 && !shape.is_empty() {
        shape.remove(0);
    }
    let (a, b) = (chain.last(), chain.leaf(d, &shape));
    binary_of(d, a, b)
}

fn reduction(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    type Reduction = (
        &'static str,
        fn(&Tensor, &[isize], bool) -> Result<Tensor>,
        fn(&[f64]) -> f64,
    );
    const ALL: [Reduction; 8] = [
        (
            "sum",
            |x, dims, keep| either!(keep, x, sum / sum_keepdim, dims),
            |v| v.iter().sum(),
        ),
        (
            "mean",
            |x, dims, keep| either!(keep, x, mean / mean_keepdim, dims),
            |v| mean(v),
        ),
        (
            "amax",
            |x, dims, keep| either!(keep, x, amax / amax_keepdim, dims),
            |v| v.iter().fold(f64::MIN, |a, &b| a.max(b)),
        ),
        (
            "amin",
            |x, dims, keep| either!(keep, x, amin / amin_keepdim, dims),
            |v| v.iter().fold(f64::MAX, |a, &b| a.min(b)),
        ),
        (
            "prod",
            |x, dims, keep| either!(keep, x, prod / prod_keepdim, dims),
            |v| v.iter().product(),
        ),
        (
            "var",
            |x, dims, keep| either!(keep, x, var / var_keepdim, dims, 0.0),
            |v| {
                let mean = mean(v);
                v.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / v.len() as f64
            },
        ),
        (
            "logsumexp",
            |x, dims, keep| either!(keep, x, logsumexp / logsumexp_keepdim, dims),
            |v| v.iter().map(|x| x.exp()).sum::<f64>().ln(),
        ),
        (
            "norm",
            |x, dims, keep| either!(keep, x, norm / norm_keepdim, 1.0, dims),
            |v| v.iter().map(|x| x.abs()).sum(),
        ),
    ];
    let (name, ours, plain) = d.of(&ALL);
    let dims: Vec<usize> = (0..chain.shape().len())
        .filter(|_| d.below(2) == 0)
        .collect();
    // To PyTorch, no dimensions means all of them.
    (!dims.is_empty()).then_some(())?;
    let keep = d.below(2) == 0;
    let signed = d.signed(&dims, chain.shape().len());
    step(
        format!("{name} {dims:?} {keep}"),
        &[chain.last()],
        move |x| ours(&x[0], &signed, keep),
        move |x| x[0].reduce(&dims, keep, plain),
    )
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

fn rows(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    type Rows = (
        &'static str,
        fn(&Tensor, isize) -> Result<Tensor>,
        fn(&[f64]) -> Vec<f64>,
    );
    fn running(v: &[f64], f: fn(f64, f64) -> f64) -> Vec<f64> {
        let upto = |i: usize| v[1..=i].iter().fold(v[0], |a, &b| f(a, b));
        (0..v.len()).map(upto).collect()
    }
    const ALL: [Rows; 8] = [
        ("softmax", Tensor::softmax, |v| {
            let total: f64 = v.iter().map(|x| x.exp()).sum();
            v.iter().map(|x| x.exp() / total).collect()
        }),
        ("log_softmax", Tensor::log_softmax, |v| {
            let total: f64 = v.iter().map(|x| x.exp()).sum();
            v.iter().map(|x| x - total.ln()).collect()
        }),
        ("cumsum", Tensor::cumsum, |v| running(v, |a, b| a + b)),
        ("cumprod", Tensor::cumprod, |v| running(v, |a, b| a * b)),
        (
            "sort",
            |x, dim| Ok(x.sort(dim)?.0),
            |v| {
                let mut v = v.to_vec();
                v.sort_by(f64::total_cmp);
                v
            },
        ),
        (
            "flip",
            |x, dim| x.flip(dim),
            |v| v.iter().rev().copied().collect(),
        ),
        (
            "roll",
            |x, dim| x.roll(1, dim),
            |v| {
                (0..v.len())
                    .map(|i| v[(i + v.len() - 1) % v.len()])
                    .collect()
            },
        ),
        (
            "repeat_interleave",
            |x, dim| x.repeat_interleave(2, dim),
            |v| v.iter().flat_map(|&x| [x, x]).collect(),
        ),
    ];
    let dim = d.dim(&chain.shape())?;
    let (name, ours, plain) = d.of(&ALL);
    (name != "repeat_interleave" || chain.numel() <= 50).then_some(())?;
    step(
        format!("{name} {dim}"),
        &[chain.last()],
        move |x| ours(&x[0], dim as isize),
        move |x| x[0].rows(dim, plain),
    )
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

fn gather(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
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

fn index_select(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
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

fn scatter_add(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
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
                let all = super::plain::indices(&index.shape).into_iter();
                x[0].at(&to) + all.filter(comes).map(|from| x[1].at(&from)).sum::<f64>()
            })
        },
    )
}

fn mask(d: &mut Draw, shape: &[usize]) -> Plain {
    Plain::from_fn(shape, |_| d.below(2) as f64)
}

fn where_(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
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

fn masked_fill(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
    let mask = mask(d, &chain.shape());
    let ours = mask_tensor(&mask);
    step(
        "masked_fill",
        &[chain.last()],
        move |x| x[0].masked_fill(&ours, 0.75),
        move |x| x[0].zip(&mask, |x, mask| if mask == 0.0 { x } else { 0.75 }),
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
