//! The gradients of operations that models and losses are made of besides layers, and of losses that are made of several.

use module_nn::functional::{
    self as F, KLDivReduction, Reduction, binary_cross_entropy_with_logits, huber_loss, l1_loss,
};
use module_nn::prelude::*;
use module_nn::{AttentionOptions, CdistMode, GridSampleOptions, PadMode, PoolOptions};

use super::row::{Rows, randn};

type Operation = fn(&[Tensor]) -> Result<Tensor>;

/// Adds operations on inputs of one kind, with their backward passes.
fn add_of(
    rows: &mut Rows,
    shape: &str,
    inputs: fn() -> Result<Vec<Tensor>>,
    operations: &[(&str, Operation)],
) {
    for &(name, f) in operations {
        rows.backward_of(&format!("{name} {shape}"), inputs, f);
    }
}

/// The first is positive.
fn pair() -> Result<Vec<Tensor>> {
    let x = randn(&[512, 1024])?;
    Ok(vec![x.abs()?.add(0.1)?, randn(&[512, 1024])?])
}

fn matrix() -> Result<Vec<Tensor>> {
    Ok(vec![randn(&[512, 1024])?])
}

fn images() -> Result<Vec<Tensor>> {
    Ok(vec![randn(&[8, 32, 64, 64])?])
}

/// Numbers, others, a mask of columns, and an index of columns and one of rows.
fn indexed() -> Result<Vec<Tensor>> {
    let mask = Tensor::arange(0, 1024, DType::I64)?.remainder(3)?.eq(0)?;
    let columns = Tensor::arange(0, 512 * 1024, DType::I64)?
        .mul(37)?
        .remainder(1024)?;
    let rows = Tensor::arange(0, 512, DType::I64)?.flip(0)?;
    let [x, y] = [randn(&[512, 1024])?, randn(&[512, 1024])?];
    Ok(vec![x, y, mask, columns.reshape([512, 1024])?, rows])
}

pub(crate) fn add(rows: &mut Rows) {
    add_of(
        rows,
        "[512, 1024]",
        pair,
        &[
            ("maximum", |x| x[0].maximum(&x[1])),
            ("pow", |x| x[0].pow(&x[1])),
            ("div", |x| x[1].div(&x[0])),
            ("sub", |x| x[1].sub(&x[0])),
            ("atan2", |x| x[0].atan2(&x[1])),
            ("mse", |x| F::mse_loss(&x[0], &x[1], Reduction::None)),
            ("l1_loss", |x| l1_loss(&x[0], &x[1], Reduction::Mean)),
            ("smooth_l1_loss", |x| {
                F::smooth_l1_loss(&x[0], &x[1], Reduction::Mean, 1.0)
            }),
            ("huber_loss", |x| {
                huber_loss(&x[0], &x[1], Reduction::Mean, 1.0)
            }),
            ("cosine_similarity", |x| {
                F::cosine_similarity(&x[0], &x[1], 1, 1e-8)
            }),
            ("stack", |x| Tensor::stack(x, 1)),
            ("cat of rows", |x| Tensor::cat(x, 1)),
        ],
    );
    add_of(
        rows,
        "[512, 1024]",
        || Ok(vec![pair()?.remove(0)]),
        &[
            ("sqrt", |x| x[0].sqrt()),
            ("rsqrt", |x| x[0].rsqrt()),
            ("log", |x| x[0].log()),
            ("pow 1.5", |x| x[0].pow(1.5)),
            ("prod of rows", |x| x[0].prod(1)),
            ("cumprod of rows", |x| x[0].cumprod(1)),
        ],
    );
    add_of(
        rows,
        "[512, 1024]",
        matrix,
        &[
            ("abs", |x| x[0].abs()),
            ("sin", |x| x[0].sin()),
            ("tan", |x| x[0].tan()),
            ("erf", |x| x[0].erf()),
            ("clamp", |x| x[0].clamp(-1.0, 1.0)),
            ("leaky_relu", |x| x[0].leaky_relu(0.01)),
            ("hardswish", |x| x[0].hardswish()),
            ("softplus", |x| x[0].softplus(1.0, 20.0)),
            ("logsigmoid", |x| x[0].log_sigmoid()),
            ("elu", |x| x[0].elu(1.0)),
            ("mish", |x| x[0].mish()),
            ("square", |x| x[0].square()),
            ("pow 3", |x| x[0].pow(3.0)),
            ("glu", |x| x[0].glu(1)),
            ("norm", |x| x[0].norm(2.0, ..)),
            ("norm of rows", |x| x[0].norm(2.0, 1)),
            ("norm 1 of rows", |x| x[0].norm(1.0, 1)),
            ("normalize rows", |x| F::normalize(&x[0], 2.0, 1, 1e-12)),
            ("amax of rows", |x| x[0].amax(1)),
            ("max with indices of rows", |x| Ok(x[0].max(1)?.0)),
            ("mean of rows", |x| x[0].mean(1)),
            ("var of rows", |x| x[0].var(1, 1.0)),
            ("std of columns", |x| x[0].std(0, 1.0)),
            ("cumsum of rows", |x| x[0].cumsum(1)),
            ("logcumsumexp of rows", |x| x[0].logcumsumexp(1)),
            ("sort rows", |x| Ok(x[0].sort(1)?.0)),
            ("topk of rows, 10", |x| Ok(x[0].topk(10, 1)?.0)),
            ("flip", |x| x[0].flip(1)),
            ("roll", |x| x[0].roll(3, 1)),
            ("tril", |x| x[0].tril(0)),
            ("half of columns", |x| x[0].narrow(1, 0..512)),
            ("every second row", |x| x[0].slice(0, 0..512, 2)),
            ("expand", |x| x[0].unsqueeze(0)?.expand([4, 512, 1024])),
            ("repeat", |x| x[0].repeat([2, 2])),
            ("diff", |x| x[0].diff(1, 1)),
            ("to bf16 and back", |x| {
                x[0].to_dtype(DType::BF16)?.to_dtype(DType::F32)
            }),
            ("binary_cross_entropy_with_logits", |x| {
                binary_cross_entropy_with_logits(
                    &x[0],
                    &x[0].detach().sigmoid()?,
                    None,
                    Reduction::Mean,
                    None,
                )
            }),
            ("kl_div of log_softmax", |x| {
                F::kl_div(
                    &x[0].log_softmax(1)?,
                    &x[0].detach().softmax(1)?,
                    KLDivReduction::BatchMean,
                )
            }),
        ],
    );
    add_of(
        rows,
        "[512, 1024]",
        indexed,
        &[
            ("where", |x| Tensor::where_(&x[2], &x[0], &x[1])),
            ("scatter_add", |x| x[0].scatter_add(1, &x[3], &x[1])),
            ("index_add", |x| x[0].index_add(0, &x[4], &x[1])),
            ("masked_fill", |x| x[0].masked_fill(&x[2], 0.0)),
            ("gather", |x| x[0].gather(1, &x[3])),
            ("index_select of rows", |x| x[0].index_select(0, &x[4])),
        ],
    );
    add_of(
        rows,
        "[8, 32, 64, 64]",
        images,
        &[
            ("pad", |x| x[0].pad([1, 1, 1, 1], 0.0)),
            ("pad by reflection", |x| {
                x[0].pad([1, 1, 1, 1], PadMode::Reflect)
            }),
            ("pad by replication", |x| {
                x[0].pad([1, 1, 1, 1], PadMode::Replicate)
            }),
            ("circular pad", |x| {
                x[0].pad([1, 1, 1, 1], PadMode::Circular)
            }),
            ("flip lines", |x| x[0].flip(-1)),
            ("roll of two dimensions", |x| x[0].roll([3, 3], [2, 3])),
            ("permute and copy", |x| {
                x[0].permute([0, 2, 3, 1])?.contiguous()
            }),
            ("mean of dimensions 2 and 3", |x| x[0].mean([2, 3])),
            ("pixel_shuffle by 2", |x| F::pixel_shuffle(&x[0], 2)),
            ("pixel_unshuffle by 2", |x| F::pixel_unshuffle(&x[0], 2)),
            ("channel_shuffle", |x| F::channel_shuffle(&x[0], 4)),
            ("max_pool2d of 64", |x| {
                x[0].max_pool2d(PoolOptions::new([64, 64]))
            }),
            ("instance_norm", |x| {
                x[0].instance_norm(None, None, None, 1e-5)
            }),
            ("local_response_norm", |x| {
                F::local_response_norm(&x[0], 5, 1e-4, 0.75, 1.0)
            }),
            ("unfold", |x| x[0].unfold(3, 4, 2)?.contiguous()),
        ],
    );
    for (name, channels) in [
        ("grid_sample [8, 32, 64, 64]", 32),
        ("grid_sample [8, 3, 64, 64]", 3),
        ("grid_sample [8, 1, 64, 64]", 1),
    ] {
        let sampled = move || {
            let theta = Tensor::from([[[0.9_f32, 0.1, 0.0], [-0.1, 0.9, 0.0]]]);
            let grid = F::affine_grid(&theta.expand([8, 2, 3])?, [8, channels, 64, 64])?;
            Ok(vec![randn(&[8, channels, 64, 64])?, grid])
        };
        rows.backward_of(name, sampled, |x| {
            F::grid_sample(&x[0], &x[1], GridSampleOptions::default())
        });
    }
    for (name, shapes, f) in OF_OTHER_SHAPES {
        let inputs = || shapes.iter().map(|shape| randn(shape)).collect();
        rows.backward_of(name, inputs, f);
    }
}

/// Operations with their names and the shapes of their operands.
const OF_OTHER_SHAPES: [(&str, &[&[usize]], Operation); 8] = [
    (
        "cdist of [512, 64] and [512, 64]",
        &[&[512, 64], &[512, 64]],
        |x| x[0].cdist(&x[1], 2.0, CdistMode::default()),
    ),
    (
        "add channels [8, 32, 64, 64]",
        &[&[8, 32, 64, 64], &[32, 1, 1]],
        |x| x[0].add(&x[1]),
    ),
    (
        "mul channels [8, 32, 64, 64]",
        &[&[8, 32, 64, 64], &[8, 32, 1, 1]],
        |x| x[0].mul(&x[1]),
    ),
    ("div by rows [512, 1024]", &[&[512, 1024], &[512, 1]], |x| {
        x[0].div(&x[1])
    }),
    ("max_pool2d 7 [8, 512, 7, 7]", &[&[8, 512, 7, 7]], |x| {
        x[0].max_pool2d(PoolOptions::new([7, 7]))
    }),
    ("softmax of rows [7168, 7]", &[&[7168, 7]], |x| {
        x[0].softmax(1)
    }),
    ("layer_norm of rows [4096, 20]", &[&[4096, 20]], |x| {
        x[0].layer_norm([20], None, None, 1e-5)
    }),
    (
        "attention of 50 positions, causal [32, 12, 50, 32]",
        &[&[32, 12, 50, 32], &[32, 12, 50, 32], &[32, 12, 50, 32]],
        |x| {
            let options = AttentionOptions::new().is_causal(true);
            x[0].scaled_dot_product_attention(&x[1], &x[2], options)
        },
    ),
];
