//! Operations on short rows, on small maps, and on factors that are small in some direction: sizes at which preparing a loop
//! can take longer than running it.

use module_nn::prelude::*;
use module_nn::{AttentionOptions, AvgPoolOptions, ConvOptions, PadMode, PoolOptions};

use super::row::{Rows, randn, work};

type Operation = fn(&[Tensor]) -> Result<Tensor>;

/// An operation, the shapes of its operands, and its name, which the first shape follows.
type Row = (&'static str, &'static [&'static [usize]], Operation);

/// Rows of a few elements to some dozens.
const ROWS: &[Row] = &[
    ("softmax of rows", &[&[7168, 7]], |x| x[0].softmax(1)),
    ("logsumexp of rows", &[&[7168, 7]], |x| x[0].logsumexp(1)),
    ("norm of rows", &[&[7168, 7]], |x| x[0].norm(2.0, 1)),
    ("stack of columns", &[&[7168, 7], &[7168, 7]], |x| {
        Tensor::stack(x, 2)
    }),
    ("sum of rows", &[&[7168, 7]], |x| x[0].sum(1)),
    ("amax of rows", &[&[7168, 7]], |x| x[0].amax(1)),
    ("argmax of rows", &[&[7168, 7]], |x| x[0].argmax(1)),
    ("sum of rows", &[&[4096, 49]], |x| x[0].sum(1)),
    ("prod of rows", &[&[4096, 20]], |x| x[0].prod(1)),
    ("amax of rows", &[&[4096, 20]], |x| x[0].amax(1)),
    ("argmax of rows", &[&[4096, 20]], |x| x[0].argmax(1)),
    ("max with indices of rows", &[&[4096, 20]], |x| {
        x[0].max(1).map(|(values, _)| values)
    }),
    ("log_softmax of rows", &[&[4096, 20]], |x| {
        x[0].log_softmax(1)
    }),
    ("layer_norm of rows", &[&[4096, 20]], |x| {
        x[0].layer_norm([20], None, None, 1e-5)
    }),
    ("std of rows", &[&[4096, 20]], |x| x[0].std(1, 1.0)),
    ("cumsum of rows", &[&[4096, 20]], |x| x[0].cumsum(1)),
    ("sort of rows", &[&[4096, 20]], |x| {
        x[0].sort(1).map(|(values, _)| values)
    }),
    ("amax of rows", &[&[4096, 64]], |x| x[0].amax(1)),
    ("argmax of columns", &[&[4096, 3]], |x| x[0].argmax(0)),
    ("flip of rows", &[&[4096, 3]], |x| x[0].flip(0)),
    ("roll of rows", &[&[4096, 20]], |x| x[0].roll(3, 1)),
    ("cat of columns", &[&[4096, 3], &[4096, 5]], |x| {
        Tensor::cat(x, 1)
    }),
];

/// Maps of a few positions, heads of a few queries.
const MAPS: &[Row] = &[
    ("permute and copy", &[&[8, 128, 7, 7]], |x| {
        x[0].permute([0, 2, 3, 1])?.contiguous()
    }),
    ("pad by reflection", &[&[8, 128, 7, 7]], |x| {
        x[0].pad([1, 1, 1, 1], PadMode::Reflect)
    }),
    ("add channels", &[&[8, 128, 7, 7], &[128, 1, 1]], |x| {
        x[0].add(&x[1])
    }),
    ("softmax of channels", &[&[8, 128, 7, 7]], |x| {
        x[0].softmax(1)
    }),
    ("sum of dimensions 0, 2 and 3", &[&[8, 128, 7, 7]], |x| {
        x[0].sum([0, 2, 3])
    }),
];

/// Maps of a few positions, heads of a few queries and small factors, with their gradients.
const WITH_GRADIENTS: &[Row] = &[
    ("avg_pool2d 2", &[&[8, 128, 14, 14]], |x| {
        x[0].avg_pool2d(AvgPoolOptions::new([2, 2]))
    }),
    ("max_pool2d 2", &[&[8, 128, 14, 14]], |x| {
        x[0].max_pool2d(PoolOptions::new([2, 2]))
    }),
    ("group_norm of 1 group", &[&[8, 128, 7, 7]], |x| {
        x[0].group_norm(1, None, None, 1e-5)
    }),
    ("group_norm of 32 groups", &[&[8, 128, 7, 7]], |x| {
        x[0].group_norm(32, None, None, 1e-5)
    }),
    (
        "conv2d 2x2, stride 2",
        &[&[8, 64, 14, 14], &[128, 64, 2, 2]],
        |x| x[0].conv2d(&x[1], ConvOptions::new().stride([2, 2])),
    ),
    (
        "conv2d 3x3, stride 2",
        &[&[8, 3, 64, 64], &[16, 3, 3, 3]],
        |x| x[0].conv2d(&x[1], ConvOptions::new().stride([2, 2]).padding([1, 1])),
    ),
    (
        "conv2d 5x5 depthwise",
        &[&[8, 96, 4, 4], &[96, 1, 5, 5]],
        |x| x[0].conv2d(&x[1], ConvOptions::new().padding([2, 2]).groups(96)),
    ),
    ("conv1d 3", &[&[8, 32, 50], &[32, 32, 3]], |x| {
        x[0].conv1d(&x[1], ConvOptions::new().padding([1]))
    }),
    (
        "attention of 1 query",
        &[&[8, 12, 1, 64], &[8, 12, 128, 64], &[8, 12, 128, 64]],
        |x| x[0].scaled_dot_product_attention(&x[1], &x[2], AttentionOptions::new()),
    ),
    (
        "attention of 20 positions",
        &[&[32, 12, 20, 32], &[32, 12, 20, 32], &[32, 12, 20, 32]],
        |x| x[0].scaled_dot_product_attention(&x[1], &x[2], AttentionOptions::new()),
    ),
    (
        "matmul, 512 by 8x8 of",
        &[&[512, 8, 8], &[512, 8, 8]],
        |x| x[0].matmul(&x[1]),
    ),
    ("linear to 10 of", &[&[64, 128], &[10, 128]], |x| {
        x[0].linear(&x[1], None)
    }),
    ("linear to 1000 of", &[&[8, 8], &[1000, 8]], |x| {
        x[0].linear(&x[1], None)
    }),
    ("matmul by 4096x5 of", &[&[5, 4096], &[4096, 5]], |x| {
        x[0].matmul(&x[1])
    }),
    ("matmul by 1000x10 of", &[&[7, 1000], &[1000, 10]], |x| {
        x[0].matmul(&x[1])
    }),
    ("matmul by 100x1 of", &[&[100, 100], &[100, 1]], |x| {
        x[0].matmul(&x[1])
    }),
];

fn make(shapes: &[&[usize]]) -> Result<Vec<Tensor>> {
    shapes.iter().map(|shape| randn(shape)).collect()
}

pub(crate) fn add(rows: &mut Rows) {
    for &(name, shapes, f) in ROWS.iter().chain(MAPS) {
        rows.add(format!("{name} {:?}", shapes[0]), move || {
            let x = make(shapes)?;
            work(move || no_grad(|| f(&x)).map(drop))
        });
    }
    for &(name, shapes, f) in WITH_GRADIENTS {
        rows.both(&format!("{name} {:?}", shapes[0]), shapes, f);
    }
    rows.add("index_select of columns [8, 128, 7, 7]", || {
        let x = randn(&[8, 128, 7, 7])?;
        let index = Tensor::from([6_i64, 0, 3, 3, 1]);
        work(move || no_grad(|| x.index_select(-1, &index)).map(drop))
    });
}
