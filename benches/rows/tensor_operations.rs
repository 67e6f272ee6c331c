//! Operations on tensors that models, losses and metrics are made of besides layers.

use module_nn::Approximate;
use module_nn::prelude::*;

use super::row::{Rows, randn, work};

/// One operation on its inputs.
type Operation = fn(&[Tensor]) -> Result<Tensor>;

/// Adds operations on inputs of one kind, without a graph.
fn add_of(rows: &mut Rows, inputs: fn() -> Result<Vec<Tensor>>, operations: &[(&str, Operation)]) {
    for &(name, f) in operations {
        rows.add(format!("{name} [512, 1024]"), move || {
            let inputs = inputs()?;
            work(move || no_grad(|| f(&inputs)).map(drop))
        });
    }
}

fn pair() -> Result<Vec<Tensor>> {
    Ok(vec![randn(&[512, 1024])?, randn(&[512, 1024])?])
}

/// The first is positive.
fn positive() -> Result<Vec<Tensor>> {
    Ok(vec![
        randn(&[512, 1024])?.abs()?.add(0.1)?,
        randn(&[512, 1024])?,
    ])
}

/// Numbers, and a condition that holds for half of them.
fn masked() -> Result<Vec<Tensor>> {
    let x = randn(&[512, 1024])?;
    let mask = x.gt(0.0)?;
    Ok(vec![x, randn(&[512, 1024])?, mask])
}

/// Numbers, and whole numbers from 0 to 1023.
fn indexed() -> Result<Vec<Tensor>> {
    let x = randn(&[512, 1024])?;
    let index = x.mul(300.0)?.abs()?.to_dtype(DType::I64)?.remainder(1024)?;
    Ok(vec![x, index])
}

/// Numbers, and a sorted vector of numbers among which most of them lie.
fn sorted() -> Result<Vec<Tensor>> {
    let sorted = Tensor::arange(0, 1000, DType::F32)?.div(200.0)?.sub(2.5)?;
    Ok(vec![randn(&[512, 1024])?, sorted])
}

fn halves(dtype: DType) -> Result<Vec<Tensor>> {
    Ok(vec![
        randn(&[512, 1024])?.to_dtype(dtype)?,
        randn(&[512, 1024])?.to_dtype(dtype)?,
    ])
}

fn images() -> Result<Vec<Tensor>> {
    Ok(vec![
        randn(&[8, 32, 64, 64])?,
        randn(&[32, 1, 1])?,
        randn(&[64, 1])?,
    ])
}

pub(crate) fn add(rows: &mut Rows) {
    add_of(
        rows,
        pair,
        &[
            ("amax", |x| x[0].amax(..)),
            ("amax of rows", |x| x[0].amax(1)),
            ("amax of columns", |x| x[0].amax(0)),
            ("argmax of rows", |x| x[0].argmax(1)),
            ("argmax of columns", |x| x[0].argmax(0)),
            ("prod of rows", |x| x[0].prod(1)),
            ("var of rows", |x| x[0].var(1, 1.0)),
            ("norm", |x| x[0].norm(2.0, ..)),
            ("cumsum of rows", |x| x[0].cumsum(1)),
            ("sort rows", |x| Ok(x[0].sort(1)?.0)),
            ("topk of rows, 10", |x| Ok(x[0].topk(10, 1)?.0)),
            ("maximum", |x| x[0].maximum(&x[1])),
            ("gt", |x| x[0].gt(0.0)),
            ("clamp", |x| x[0].clamp(-1.0, 1.0)),
            ("sin", |x| x[0].sin()),
            ("cos", |x| x[0].cos()),
            ("tan", |x| x[0].tan()),
            ("atan", |x| x[0].atan()),
            ("expm1", |x| x[0].expm1()),
            ("erf", |x| x[0].erf()),
            ("softplus", |x| x[0].softplus(1.0, 20.0)),
            ("logsigmoid", |x| x[0].log_sigmoid()),
            ("elu", |x| x[0].elu(1.0)),
            ("mish", |x| x[0].mish()),
            ("to bf16", |x| x[0].to_dtype(DType::BF16)),
            ("to f16", |x| x[0].to_dtype(DType::F16)),
            ("to i64", |x| x[0].to_dtype(DType::I64)),
            ("flip", |x| x[0].flip(1)),
            ("remainder by 0.7", |x| x[0].remainder(0.7)),
            ("remainder", |x| x[0].remainder(&x[1])),
            ("fmod by 0.7", |x| x[0].fmod(0.7)),
            ("floor_divide by 0.7", |x| x[0].floor_divide(0.7)),
            ("trunc", |x| x[0].trunc()),
            ("copysign", |x| x[0].copysign(&x[1])),
            ("nan_to_num", |x| x[0].nan_to_num(0.0, None, None)),
            ("glu", |x| x[0].glu(1)),
            ("sum of rows of the transpose", |x| x[0].t()?.sum(1)),
            ("copy of every second column", |x| {
                x[0].slice(1, .., 2)?.contiguous()
            }),
            ("tril", |x| x[0].tril(0)),
            ("triu", |x| x[0].triu(0)),
        ],
    );
    add_of(
        rows,
        positive,
        &[
            ("sqrt", |x| x[0].sqrt()),
            ("rsqrt", |x| x[0].rsqrt()),
            ("log", |x| x[0].log()),
            ("log1p", |x| x[0].log1p()),
            ("pow", |x| x[0].pow(&x[1])),
            ("pow 1.5", |x| x[0].pow(1.5)),
            ("div", |x| x[1].div(&x[0])),
        ],
    );
    add_of(
        rows,
        masked,
        &[
            ("where", |x| Tensor::where_(&x[2], &x[0], &x[1])),
            ("masked_fill", |x| x[0].masked_fill(&x[2], 0.0)),
            ("masked_select", |x| x[0].masked_select(&x[2])),
            ("nonzero", |x| x[2].nonzero()),
            ("any", |x| x[2].logical_not()?.any(..)),
            ("to f32 of bool", |x| x[2].to_dtype(DType::F32)),
        ],
    );
    add_of(
        rows,
        indexed,
        &[
            ("gather", |x| x[0].gather(1, &x[1])),
            ("scatter_add", |x| x[0].scatter_add(1, &x[1], &x[0])),
            ("index_select of columns", |x| {
                x[0].index_select(1, &x[1].select(0, 0)?)
            }),
            ("unique", |x| Ok(x[1].unique(..)?.values)),
            ("bincount", |x| x[1].flatten(0, -1)?.bincount(None, 0)),
            ("one_hot of 4 rows", |x| x[1].narrow(0, 0..4)?.one_hot(1024)),
        ],
    );
    add_of(
        rows,
        sorted,
        &[("searchsorted in 1000", |x| x[1].searchsorted(&x[0]))],
    );
    add_of(
        rows,
        || halves(DType::BF16),
        &[
            ("add bf16", |x| x[0].add(&x[1])),
            ("gelu bf16", |x| x[0].gelu(Approximate::None)),
            ("softmax of rows, bf16", |x| x[0].softmax(1)),
            ("sum of rows, bf16", |x| x[0].sum(1)),
            ("to f32 of bf16", |x| x[0].to_dtype(DType::F32)),
        ],
    );
    add_of(
        rows,
        || halves(DType::F16),
        &[("add f16", |x| x[0].add(&x[1]))],
    );
    let images: [(&str, Operation); 6] = [
        ("add channels", |x| x[0].add(&x[1])),
        ("mul lines", |x| x[0].mul(&x[2])),
        ("sum of dimension 1", |x| x[0].sum(1)),
        ("mean of dimensions 2 and 3", |x| x[0].mean([2, 3])),
        ("permute and copy", |x| {
            x[0].permute([0, 2, 3, 1])?.contiguous()
        }),
        ("pad", |x| x[0].pad([1, 1, 1, 1], 0.0)),
    ];
    for (name, f) in images {
        rows.add(format!("{name} [8, 32, 64, 64]"), move || {
            let inputs = self::images()?;
            work(move || no_grad(|| f(&inputs)).map(drop))
        });
    }
    let halves: [(&str, Operation); 4] = [
        ("mul halves", |x| x[0].mul(&x[1])),
        ("relu of a half", |x| x[0].relu()),
        ("exp of a half", |x| x[0].exp()),
        ("copy of a half", |x| x[0].contiguous()),
    ];
    for width in [8, 16, 32, 64] {
        for (name, f) in halves {
            let rows_of = 65_536 / width;
            rows.add(format!("{name} [{rows_of}, {}]", 2 * width), move || {
                let x = randn(&[rows_of, 2 * width])?;
                let inputs = x.chunk(2, 1)?;
                work(move || no_grad(|| f(&inputs)).map(drop))
            });
        }
    }
    rows.both(
        "mul columns by rows [256, 256, 1] [256, 1, 16]",
        &[&[256, 256, 1], &[256, 1, 16]],
        |x| x[0].mul(&x[1]),
    );
    rows.both("prelu [8, 32, 64, 64]", &[&[8, 32, 64, 64], &[32]], |x| {
        x[0].prelu(&x[1])
    });
    let others: [(&str, &[usize], Operation); 5] = [
        ("channels first", &[4, 224, 224, 3], |x| {
            x[0].permute([0, 3, 1, 2])?.contiguous()
        }),
        ("channels last", &[4, 3, 224, 224], |x| {
            x[0].permute([0, 2, 3, 1])?.contiguous()
        }),
        ("sum of dimension 1", &[64, 64, 128], |x| x[0].sum(1)),
        ("amax of dimension 1", &[64, 64, 128], |x| x[0].amax(1)),
        ("dot with itself", &[100_000], |x| x[0].dot(&x[0])),
    ];
    for (name, shape, f) in others {
        rows.add(format!("{name} {shape:?}"), move || {
            let inputs = [randn(shape)?];
            work(move || no_grad(|| f(&inputs)).map(drop))
        });
    }
    rows.add("rand [512, 1024]", || {
        work(|| Tensor::rand([512, 1024], DType::F32).map(drop))
    });
    rows.add("randn [512, 1024]", || {
        work(|| Tensor::randn([512, 1024], DType::F32).map(drop))
    });
    rows.add("randperm 100000", || {
        work(|| Tensor::randperm(100_000, DType::I64).map(drop))
    });
}
