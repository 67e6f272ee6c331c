//! Reductions, and functions of rows.

use super::*;

pub(super) fn reduction(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
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

pub(super) fn rows(d: &mut Draw, chain: &mut Chain) -> Option<Step> {
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
