//! The result of an operation that changes nothing is still a tensor of its own, with its own gradient and hooks, wherever
//! PyTorch's result is. PyTorch returns the input itself from the operations of `SAME`.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_core::autograd::grad;
use module_core::{AdaptiveSize, BackwardOptions, DType, IndexItem, PadMode, Result, Tensor};

type Case = (&'static str, fn(&Tensor) -> Result<Tensor>);

const OWN: &[Case] = &[
    ("reshape", |x| x.reshape([3, 4])),
    ("view", |x| x.view([3, 4])),
    ("permute", |x| x.permute([0, 1])),
    ("permute of all", |x| x.permute(..)),
    ("transpose", |x| x.transpose(0, 0)),
    ("movedim", |x| x.movedim(0, 0)),
    ("narrow", |x| x.narrow(0, 0..3)),
    ("slice", |x| x.slice(0, .., 1)),
    ("i", |x| x.i(..)),
    ("expand", |x| x.expand([3, 4])),
    ("squeeze", |x| x.squeeze(0)),
    ("squeeze of all", |x| x.squeeze(..)),
    ("unflatten", |x| x.unflatten(0, [3])),
    ("pad", |x| x.pad([0, 0], PadMode::Constant(0.into()))),
    ("pad with a copy", |x| x.pad([0, 0], PadMode::Replicate)),
    ("repeat", |x| x.repeat([1, 1])),
    ("roll", |x| x.roll(0, 0)),
    ("flip", |x| x.flip([0_isize; 0])),
    ("sum", |x| x.sum([0_isize; 0])),
    ("prod", |x| x.prod([0_isize; 0])),
    ("cat", |x| Tensor::cat(&[x], 0)),
    ("split", |x| Ok(x.split(3, 0)?.remove(0))),
    ("chunk", |x| Ok(x.chunk(1, 0)?.remove(0))),
    ("diff", |x| x.diff(0, 0)),
    ("mul", |x| x.mul(1.0)),
    ("pow", |x| x.pow(1.0)),
    ("einsum", |x| Tensor::einsum("ij->ij", &[x])),
    ("adaptive_avg_pool1d", |x| {
        x.adaptive_avg_pool1d(AdaptiveSize::from(4))
    }),
];

const OF_VECTORS: &[Case] = &[("t", Tensor::t)];

const OF_NUMBERS: &[Case] = &[
    ("sum", |x| x.sum(..)),
    ("cumsum", |x| x.cumsum(0)),
    ("cumprod", |x| x.cumprod(0)),
    ("max", |x| Ok(x.max(0)?.0)),
    ("sort", |x| Ok(x.sort(0)?.0)),
    ("i", |x| x.i(IndexItem::Ellipsis)),
];

const SAME: &[Case] = &[
    ("flatten", |x| x.flatten(0, 0)),
    ("contiguous", Tensor::contiguous),
    ("to_dtype", |x| x.to_dtype(DType::F32)),
    ("dropout", |x| x.dropout(0.0)),
    ("sum_to", |x| x.sum_to(x.shape())),
];

/// The gradient of the result, if its input is used besides it: of 2 · input + 3 · result.
fn gradient_of_result(f: fn(&Tensor) -> Result<Tensor>, x: &Tensor) -> Result<f32> {
    let x = x.detach().with_grad()?.mul(1.0)?;
    let y = f(&x)?;
    let sum = x.mul(2.0)?.sum(..)?.add(&y.mul(3.0)?.sum(..)?)?;
    let gradient = grad(&[&sum], &[&y], BackwardOptions::new())?
        .remove(0)
        .expect("a gradient");
    gradient.mean(..)?.item()
}

#[test]
fn results_that_change_nothing_have_their_own_gradient() -> Result<()> {
    let x = Tensor::randn([3, 4], DType::F32)?;
    let (row, number) = (x.select(0, 0)?, x.sum(..)?);
    for (cases, x, expected) in [
        (OWN, &x, 3.0),
        (OF_VECTORS, &row, 3.0),
        (OF_NUMBERS, &number, 3.0),
        (SAME, &x, 5.0),
    ] {
        for &(name, f) in cases {
            let found = gradient_of_result(f, x)?;
            assert_eq!(found, expected, "{name} of {}", x.shape());
        }
    }
    Ok(())
}
