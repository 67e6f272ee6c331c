//! Reductions, products and windows.

use super::*;

#[test]
fn reductions() {
    fuzz("sum", |d| {
        let x = d.tensor();
        either!(d.often(), x, sum / sum_keepdim, d.dims())
    });
    fuzz("mean", |d| {
        let x = d.tensor();
        either!(d.often(), x, mean / mean_keepdim, d.dims())
    });
    fuzz("var", |d| {
        let x = d.tensor();
        either!(d.often(), x, var / var_keepdim, d.dims(), d.number())
    });
    fuzz("amax", |d| {
        let x = d.tensor();
        either!(d.often(), x, amax / amax_keepdim, d.dims())
    });
    fuzz("amin", |d| {
        let x = d.tensor();
        either!(d.often(), x, amin / amin_keepdim, d.dims())
    });
    fuzz("std", |d| {
        let x = d.tensor();
        either!(d.often(), x, std / std_keepdim, d.dims(), d.number())
    });
    fuzz("prod", |d| {
        let x = d.tensor();
        either!(d.often(), x, prod / prod_keepdim, d.dims())
    });
    fuzz("norm", |d| {
        let x = d.maybe_huge();
        let p = if d.often() {
            d.below(4) as f64
        } else {
            d.number()
        };
        either!(d.often(), x, norm / norm_keepdim, p, d.dims())
    });
    fuzz("logsumexp", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, logsumexp / logsumexp_keepdim, d.dims())
    });
    fuzz("cumsum", |d| {
        let x = d.maybe_huge();
        x.cumsum(d.dim())
    });
    fuzz("max", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, max / max_keepdim, d.dim()).map(|(values, _)| values)
    });
    fuzz("min", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, min / min_keepdim, d.dim()).map(|(values, _)| values)
    });
    fuzz("any", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, any / any_keepdim, d.dims())
    });
    fuzz("all", |d| {
        let x = d.maybe_huge();
        either!(d.often(), x, all / all_keepdim, d.dims())
    });
    fuzz("argmax", |d| {
        let x = d.tensor();
        either!(d.often(), x, argmax / argmax_keepdim, d.dim())
    });
    fuzz("argmin", |d| {
        let x = d.tensor();
        either!(d.often(), x, argmin / argmin_keepdim, d.dim())
    });
    fuzz("softmax", |d| {
        let x = d.maybe_huge();
        x.softmax(d.dim())
    });
    fuzz("log_softmax", |d| {
        let x = d.maybe_huge();
        x.log_softmax(d.dim())
    });
    fuzz("with_grad", |d| d.tensor().detach().with_grad());
    fuzz("sum_to", |d| {
        let x = d.tensor();
        x.sum_to(d.like(&x).shape())
    });
    fuzz("sums without elements", |d| {
        let mut shape = d.shape();
        shape.push(0);
        let x = Tensor::zeros(shape, DType::F32)?;
        x.with_grad()?.sum(d.dims())
    });
}

#[test]
fn products_and_windows() {
    fuzz("dot", |d| {
        let (n, m) = (d.below(3), d.below(3));
        let x = d.of_shape(&[n], DType::F32);
        let other = d.of_shape(&[m], DType::F32);
        if d.often() {
            x.dot(&other)
        } else {
            x.dot(&d.like(&x))
        }
    });
    fuzz("outer", |d| {
        let n = d.below(3);
        let x = d.of_shape(&[n], DType::F32);
        if d.often() {
            x.outer(&d.like(&x))
        } else {
            d.maybe_huge().outer(&x)
        }
    });
    fuzz("matmul", |d| {
        let x = d.maybe_huge();
        let other = d.like(&x);
        let other = if d.often() {
            other.transpose(-1, -2).unwrap_or(other)
        } else {
            other
        };
        x.matmul(&other)
    });
    fuzz("conv2d", |d| {
        let x = d.images();
        let weight = if d.often() { d.weight(&x) } else { d.images() };
        x.conv2d(&weight, d.conv())
    });
    fuzz("max_pool2d", |d| {
        let x = d.images();
        x.max_pool2d(d.pool())
    });
}
