//! Elementwise functions.

use module_nn::Approximate;
use module_nn::prelude::*;

use super::row::Rows;

pub(crate) fn add(rows: &mut Rows) {
    let shape: &[usize] = &[128, 3072];
    rows.both("relu [128, 3072]", &[shape], |x| x[0].relu());
    rows.both("sigmoid [128, 3072]", &[shape], |x| x[0].sigmoid());
    rows.both("tanh [128, 3072]", &[shape], |x| x[0].tanh());
    rows.both("silu [128, 3072]", &[shape], |x| x[0].silu());
    rows.both("gelu [128, 3072]", &[shape], |x| {
        x[0].gelu(Approximate::None)
    });
    rows.both("gelu by tanh [128, 3072]", &[shape], |x| {
        x[0].gelu(Approximate::Tanh)
    });
    rows.both("exp [128, 3072]", &[shape], |x| x[0].exp());
    rows.both("add [128, 3072]", &[shape, shape], |x| x[0].add(&x[1]));
    rows.both("add a row [128, 3072]", &[shape, &[3072]], |x| {
        x[0].add(&x[1])
    });
    rows.both("mul [128, 3072]", &[shape, shape], |x| x[0].mul(&x[1]));
    rows.both("dropout [128, 3072]", &[shape], |x| x[0].dropout(0.1));
    rows.both("transpose and copy [1024, 1024]", &[&[1024, 1024]], |x| {
        x[0].t()?.contiguous()
    });
    rows.both("cat [128, 3072]", &[shape, shape], |x| Tensor::cat(x, -1));
    rows.both("sum [128, 3072]", &[shape], |x| x[0].sum(..));
    rows.both("sum over rows [128, 3072]", &[shape], |x| x[0].sum(0));
}
