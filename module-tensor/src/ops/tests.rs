mod activation;
mod by_index;
mod convolutions;
mod data;
mod depthwise;
mod functions;
mod more;
mod names;
mod precision;
mod rank;
mod refused;
mod stored;
mod windows;
mod winograd;

use std::collections::BTreeSet;

use super::*;
use crate::autograd::{grad_with, gradcheck, gradgradcheck, slopes};
use crate::tensor::NodeKind;
use crate::{BackwardOptions, Conv2dOptions, Device, Padding, Pool2dOptions, Shape};
use crate::{fork_rng, tensor::Node};

mod normalization;
mod recurrent;

/// Distinct numbers between -2 and 2 that stay away from 0, where some functions have a kink.
fn numbers(shape: impl Into<Shape>, seed: usize) -> Tensor {
    let shape = shape.into();
    let value = |i: usize| {
        let v = ((i + 31 * seed) as f64 * 0.618_033_988_749_895).fract() * 3.8 - 1.9;
        v + 0.1 * v.signum()
    };
    Tensor::from_vec((0..shape.numel()).map(value).collect(), shape).unwrap()
}

/// The same numbers in every memory layout that the shape allows.
fn layouts(x: &Tensor) -> Vec<(&'static str, Tensor)> {
    let mut all = vec![("contiguous", x.clone())];
    let rank = x.rank() as isize;
    if rank > 0 {
        let longer = Tensor::cat(&[x, x, x], 0).unwrap();
        let size = x.shape()[0];
        all.push(("narrowed", longer.narrow(0, size..2 * size).unwrap()));
        let pairs = Tensor::stack(&[x, &x.neg().unwrap()], rank).unwrap();
        let strided = pairs.narrow(rank, 0..1).unwrap().squeeze([rank]).unwrap();
        all.push(("strided", strided));
        if size > 0 {
            let row = x.narrow(0, 0..1).unwrap();
            all.push(("expanded", row.expand(x.shape()).unwrap()));
        }
    }
    if rank > 1 {
        let turned = x.transpose(0, -1).unwrap().contiguous().unwrap();
        all.push(("transposed", turned.transpose(0, -1).unwrap()));
    }
    all
}

thread_local! {
    /// The operations whose gradients ran.
    static SEEN: std::cell::RefCell<BTreeSet<&'static str>> = const { std::cell::RefCell::new(BTreeSet::new()) };
}

fn note(node: &Node) {
    if let NodeKind::Op(op) = &node.kind {
        SEEN.with_borrow_mut(|seen| seen.insert(op.name));
        op.inputs
            .iter()
            .flatten()
            .for_each(|input| note(&input.node));
    }
}

/// First and second derivatives of `f` at `inputs`.
#[track_caller]
fn check_at(label: &str, inputs: &[Tensor], f: &dyn Fn(&[Tensor]) -> Result<Tensor>) {
    let leaves: Vec<Tensor> = inputs.iter().map(|x| x.with_grad().unwrap()).collect();
    note(&f(&leaves).unwrap().edge.as_ref().unwrap().node);
    // Kernels that compute gradients are differentiated once more.
    slopes(f, &leaves)
        .unwrap()
        .edge
        .iter()
        .for_each(|edge| note(&edge.node));
    if let Err(error) = gradcheck(f, inputs) {
        panic!("{label}: {error}");
    }
    if let Err(error) = gradgradcheck(f, inputs) {
        panic!("{label}, second order: {error}");
    }
}

/// Checks `f` at tensors of these shapes in all memory layouts.
#[track_caller]
fn check(label: &str, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Result<Tensor>) {
    let inputs = shapes.iter().enumerate();
    let inputs: Vec<Tensor> = inputs.map(|(i, &shape)| numbers(shape, i)).collect();
    check_layouts(label, &inputs, &[], &f);
}

#[track_caller]
fn check_layouts(
    label: &str,
    inputs: &[Tensor],
    without: &[&str],
    f: &dyn Fn(&[Tensor]) -> Result<Tensor>,
) {
    check_at(label, inputs, f);
    for (i, x) in inputs.iter().enumerate() {
        for (layout, x) in layouts(x) {
            if !without.contains(&layout) {
                let mut inputs = inputs.to_vec();
                inputs[i] = x;
                check_at(&format!("{label}, input {i} {layout}"), &inputs, f);
            }
        }
    }
}

/// Unary functions: every layout, no elements, no dimensions.
fn check_unary(label: &str, f: impl Fn(&Tensor) -> Result<Tensor>) {
    for shape in [&[3, 4][..], &[0, 4], &[2, 0], &[]] {
        check(label, &[shape], |x| f(&x[0]));
    }
}

fn positive(f: impl Fn(&Tensor) -> Result<Tensor>) -> impl Fn(&Tensor) -> Result<Tensor> {
    move |x| f(&x.mul(x)?.add(0.5)?)
}

/// A matrix of three rows and two columns as integers of 8 bits.
fn packed_matrix() -> Tensor {
    use crate::backend::{Int8Parts, Int8Storage, Storage};
    let values = [0.5, -1.0, 2.0, 0.25, -0.75, 1.5];
    let parts = Int8Parts::quantize(&values, 2, false, DType::F32).unwrap();
    let storage = Storage::new(Int8Storage::new(parts).unwrap());
    Tensor::from_storage(storage, crate::Layout::contiguous([3, 2].into()))
}

fn check_all() {
    check_parts();
    activation::check_all();
    by_index::check_all();
    functions::check_all();
    check_unary("add", |x| x.add(1.5)?.square());
    check_unary("sub", |x| x.sub(1.5)?.square());
    check_unary("mul", |x| x.mul(1.5)?.square());
    check_unary("div", |x| x.div(1.5)?.square());
    check("add_scaled", &[&[2, 3], &[3]], |x| {
        x[0].add_scaled(&x[1], -0.5)?.square()
    });
    for input in [&[3, 2][..], &[2, 2, 2], &[2], &[0, 2]] {
        check("linear", &[input, &[3, 2], &[3]], |x| {
            x[0].linear(&x[1], Some(&x[2]))?.square()
        });
        check("linear", &[input, &[3, 2]], |x| {
            x[0].linear(&x[1], None)?.square()
        });
    }
    let packed = packed_matrix();
    for input in [&[3, 2][..], &[2, 2, 2], &[2], &[0, 2]] {
        check("packed_matmul", &[input, &[3]], |x| {
            x[0].linear(&packed, Some(&x[1]))?.square()
        });
        check("packed_matmul", &[input], |x| {
            x[0].matmul(&packed.t()?)?.square()
        });
    }
    check_unary("neg", Tensor::neg);
    check_unary("abs", Tensor::abs);
    check_unary("sign", Tensor::sign);
    check_unary("exp", Tensor::exp);
    check_unary("log", positive(Tensor::log));
    check_unary("sqrt", positive(Tensor::sqrt));
    check_unary("rsqrt", positive(Tensor::rsqrt));
    check_unary("reciprocal", Tensor::reciprocal);
    check_unary("log1p", positive(Tensor::log1p));
    check_unary("expm1", Tensor::expm1);
    check_unary("erf", Tensor::erf);
    check_unary("sin", Tensor::sin);
    check_unary("cos", Tensor::cos);
    // The numbers begin with an integer, at which there is a step.
    check_unary("floor", |x| x.add(0.03)?.floor());
    check_unary("ceil", |x| x.add(0.03)?.ceil());
    check_unary("round", |x| x.add(0.03)?.round());
    check_unary("square", Tensor::square);
    check_unary("clamp", |x| x.mul(x)?.clamp(0.5, 2.0));
    check_unary("clamp_min", |x| x.mul(x)?.clamp_min(0.5));
    check_unary("clamp_max", |x| x.mul(x)?.clamp_max(2.0));
    check_unary("gelu", |x| x.gelu(Approximate::None));
    check_unary("gelu", |x| x.gelu(Approximate::Tanh));
    check_unary("silu", Tensor::silu);
    check_unary("softplus", |x| x.softplus(1.5, 2.0));
    check_unary("leaky_relu", |x| x.leaky_relu(0.1));
    check_unary("elu", |x| x.elu(0.7));
    check_unary("relu", Tensor::relu);
    check_unary("relu", |x| x.relu()?.square());
    check_unary("sigmoid", Tensor::sigmoid);
    check_unary("tanh", Tensor::tanh);
    for exponent in [-1.0, 0.0, 1.0, 2.0, 3.0] {
        check_unary("pow", |x| x.pow(exponent));
    }
    check_unary("pow", positive(|x| x.pow(1.7)));
    check_unary("square", Tensor::square);
    check_unary("sum_squares", |x| x.sum_squares(..));
    check_unary("sum_squares", |x| x.sum_squares(0));
    check_unary("pow", positive(|x| x.pow(0.5)));
    check_unary("pow", positive(|x| x.pow(-0.5)));
    check_unary("with a number", |x| x.mul(2)?.add(1.5)?.sub(0.5)?.div(-3.0));
    check_unary("softmax", |x| x.softmax(-1));
    check_unary("log_softmax", |x| x.log_softmax(0));
    check_unary("contiguous", Tensor::contiguous);
    check_unary("flatten", |x| x.flatten(0, -1));
    check_unary("unsqueeze", |x| x.unsqueeze(-1)?.unsqueeze(0));
    // The mask follows the order in memory, which the perturbed inputs do not share.
    check_unary("dropout", |x| fork_rng(5, || x.contiguous()?.dropout(0.4)));
    check_unary("dropout of all", |x| x.dropout(1.0));
    check_unary("where", |x| x.gt(0.3)?.where_(x, &x.mul(x)?));

    type Pair = (&'static [usize], &'static [usize]);
    let pairs: [Pair; 7] = [
        (&[3, 4], &[3, 4]),
        (&[3, 4], &[4]),
        (&[3, 1], &[1, 4]),
        (&[], &[3, 2]),
        (&[], &[]),
        (&[0, 4], &[1, 4]),
        (&[1], &[2, 0]),
    ];
    for (a, b) in pairs {
        check("add", &[a, b], |x| x[0].add(&x[1]));
        check("sub", &[a, b], |x| x[0].sub(&x[1]));
        check("mul", &[a, b], |x| x[0].mul(&x[1]));
        check("div", &[a, b], |x| x[0].div(&x[1]));
        check("maximum", &[a, b], |x| x[0].maximum(&x[1]));
        check("minimum", &[a, b], |x| x[0].minimum(&x[1]));
        let condition = numbers(a, 7).gt(0.0).unwrap();
        check("where", &[a, b], |x| condition.where_(&x[0], &x[1]));
    }

    for dims in [&[0_isize][..], &[1], &[-1], &[0, 2], &[0, 1, 2], &[]] {
        check("sum", &[&[2, 3, 4]], |x| x[0].sum(dims));
        check("sum", &[&[2, 3, 4]], |x| x[0].sum_keepdim(dims));
        check("mean", &[&[2, 3, 4]], |x| x[0].mean(dims));
        check("mean", &[&[2, 3, 4]], |x| x[0].mean_keepdim(dims));
        for f in [
            |x: &[Tensor], d: &[isize]| x[0].amax(d),
            |x: &[Tensor], d: &[isize]| x[0].amin(d),
            |x: &[Tensor], d: &[isize]| x[0].amax_keepdim(d),
            |x: &[Tensor], d: &[isize]| x[0].amin_keepdim(d),
        ] {
            // Expanded elements are equal, so the maximum has no slope there.
            check_layouts("extreme", &[numbers([2, 3, 4], 1)], &["expanded"], &|x| {
                f(x, dims)
            });
        }
    }
    check("var", &[&[2, 3, 4]], |x| x[0].var([0, 2], 1.0));
    check("var", &[&[3, 4]], |x| x[0].var_keepdim(.., 0.0));
    reductions();
    arrangements();
    data::moves();
    check("sum of nothing", &[&[0, 3]], |x| x[0].sum(0));
    check("extreme of nothing", &[&[0, 3]], |x| x[0].amax(1));
    check("sum_to", &[&[2, 3, 4]], |x| x[0].sum_to(&[3, 1].into()));

    for (a, b) in [
        (&[4][..], &[4][..]),
        (&[3, 4], &[4]),
        (&[4], &[4, 2]),
        (&[3, 4], &[4, 2]),
        (&[2, 3, 4], &[4, 2]),
        (&[3, 4], &[2, 4, 2]),
        (&[2, 1, 3, 4], &[3, 4, 2]),
        (&[0, 4], &[4, 2]),
        (&[3, 0], &[0, 2]),
        (&[0, 3, 4], &[4, 2]),
    ] {
        check("matmul", &[a, b], |x| x[0].matmul(&x[1]));
    }

    check("reshape", &[&[2, 6]], |x| x[0].reshape([3, -1]));
    check("reshape", &[&[2, 0]], |x| x[0].reshape([0, 5]));
    check("permute", &[&[2, 3, 4]], |x| x[0].permute([2, 0, 1]));
    check("transpose", &[&[2, 3, 4]], |x| x[0].transpose(0, -1));
    check("t", &[&[2, 3]], |x| x[0].t());
    check("narrow", &[&[3, 4]], |x| x[0].narrow(1, 1..3));
    check("narrow", &[&[3, 4]], |x| x[0].narrow(0, 3..3));
    check("squeeze", &[&[1, 3, 1]], |x| x[0].squeeze(..));
    check("expand", &[&[3, 1]], |x| x[0].expand([2, 3, 4]));
    check("expand", &[&[1, 3]], |x| x[0].expand([0, 3]));
    check("cat", &[&[2, 3], &[2, 1], &[2, 0]], |x| {
        Tensor::cat(&[&x[0], &x[1], &x[2]], 1)
    });
    check("stack", &[&[2, 3], &[2, 3]], |x| {
        Tensor::stack(&[&x[0], &x[1]], 1)
    });

    let index = Tensor::from([[0_i64, 2, 2], [1, 0, 1]]);
    check("gather", &[&[3, 4]], |x| x[0].gather(0, &index));
    check("scatter_add", &[&[3, 4], &[2, 3]], |x| {
        x[0].scatter_add(0, &index, &x[1])
    });
    let index = Tensor::from([2_i64, 0, 2]);
    check("index_select", &[&[2, 3]], |x| {
        x[0].index_select(-1, &index)
    });
    check("index_select", &[&[0, 3]], |x| x[0].index_select(1, &index));

    normalization::check_all();
    recurrent::check_all();
    convolutions();
    windows::check_all();
    for (shape, pool) in [
        (&[2, 2, 5, 4][..], Pool2dOptions::new([2, 2])),
        (
            &[1, 6, 5],
            Pool2dOptions::new([3, 2])
                .stride([1, 2])
                .padding([1, 1])
                .dilation([1, 2])
                .ceil_mode(true),
        ),
        (&[0, 2, 4, 4], Pool2dOptions::new([2, 2])),
    ] {
        check_layouts("max_pool2d", &[numbers(shape, 2)], &["expanded"], &|x| {
            x[0].max_pool2d(pool)
        });
    }
}

fn arrangements() {
    check("flip", &[&[2, 3, 4]], |x| x[0].flip([0, -1]));
    check("flip", &[&[2, 0]], |x| x[0].flip(..));
    check("roll", &[&[3, 4]], |x| x[0].roll(5, 0)?.roll(-1, 1));
    check("tril", &[&[2, 3, 4]], |x| x[0].tril(1));
    check("triu", &[&[3, 2]], |x| x[0].triu(-1));
    check("split", &[&[5, 2]], |x| {
        let parts = x[0].split(2, 0)?;
        parts[0]
            .mul(&parts[1])?
            .sum_to(parts[2].shape())?
            .mul(&parts[2])
    });
    check("chunk", &[&[2, 5]], |x| {
        let parts = x[0].chunk(2, 1)?;
        parts[0].narrow(1, 0..2)?.mul(&parts[1])
    });
    check("dot", &[&[4], &[4]], |x| x[0].dot(&x[1]));
    check("outer", &[&[3], &[4]], |x| x[0].outer(&x[1]));
    let index = Tensor::from([2_i64, 0, 2]);
    check("index_add", &[&[2, 3], &[2, 3]], |x| {
        x[0].index_add(1, &index, &x[1])
    });
}

fn reductions() {
    check_unary("masked_fill", |x| x.masked_fill(&x.gt(0.3)?, 1.5));
    check_unary("masked_select", |x| x.masked_select(&x.gt(-5.0)?));
    check_unary("cumsum", |x| x.cumsum(-1));
    check_unary("prod", |x| x.prod(..));
    check_unary("norm", |x| x.norm_keepdim(2.0, ..));
    check_unary("logsumexp", |x| x.logsumexp(0));
    check_unary("any", |x| x.mul(&x.any(..)?.to_dtype(DType::F64)?));
    let special = Tensor::from([
        [0.0, 1.5, -2.0, 0.5],
        [0.0, 0.0, 3.0, -1.0],
        [1.0, 2.0, 0.7, 1.1],
    ]);
    for dims in [&[0_isize][..], &[-1], &[0, 1]] {
        let zeros = [special.clone()];
        check_layouts("prod of zeros", &zeros, &["expanded"], &|x| {
            x[0].prod_keepdim(dims)
        });
        check("prod", &[&[2, 3, 2]], |x| x[0].prod(dims));
        check("logsumexp", &[&[2, 3, 2]], |x| x[0].logsumexp_keepdim(dims));
        for p in [-1.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0] {
            check("norm", &[&[2, 3, 2]], |x| x[0].norm(p, dims));
        }
        for p in [f64::NEG_INFINITY, f64::INFINITY] {
            // Elements of one size share the extreme, which has a kink there.
            check_layouts("norm", &[numbers([2, 3], 1)], &["expanded"], &|x| {
                x[0].norm(p, dims)
            });
        }
    }
    for dim in [0, 1, -1] {
        check("cumsum", &[&[2, 3, 4]], |x| x[0].cumsum(dim));
        let x = [numbers([2, 3, 4], 1)];
        check_layouts("max", &x, &["expanded"], &|x| Ok(x[0].max(dim)?.0));
        check_layouts("min", &x, &["expanded"], &|x| Ok(x[0].min_keepdim(dim)?.0));
        check_layouts("std", &x, &["expanded"], &|x| x[0].std(dim, 1.0));
    }
    let x = [numbers([3, 3], 1)];
    check_layouts("max of all", &x, &["expanded"], &|x| x[0].max(..));
    check_layouts("min of all", &x, &["expanded"], &|x| x[0].min(..));
    check_layouts("median of all", &x, &["expanded"], &|x| x[0].median(..));
    check("std", &[&[3, 4]], |x| x[0].std_keepdim(.., 0.0));
}

fn convolutions() {
    let plain = Conv2dOptions::default();
    let cases = [
        (&[2, 2, 4, 5][..], &[3, 2, 2, 3][..], plain),
        (&[2, 4, 3], &[2, 2, 2, 2], plain),
        (
            &[1, 4, 5, 4],
            &[2, 2, 3, 2],
            plain.stride([2, 1]).padding([1, 2]).groups(2),
        ),
        (
            &[1, 1, 5, 6],
            &[1, 1, 2, 3],
            plain.padding(Padding::Same).dilation([1, 2]),
        ),
        (&[0, 2, 4, 4], &[3, 2, 2, 2], plain),
        (&[1, 2, 3, 3], &[0, 2, 2, 2], plain),
    ];
    for (input, weight, options) in cases {
        check("conv2d", &[input, weight], |x| x[0].conv2d(&x[1], options));
    }
}

fn check_parts() {
    let product = |parts: Vec<Tensor>| {
        let (last, others) = parts.split_last().unwrap();
        others
            .iter()
            .try_fold(last.clone(), |product, part| product.mul(part))
    };
    check("split", &[&[4, 2]], |x| product(x[0].split(2, 0)?));
    check("split_with_sizes", &[&[2, 4]], |x| {
        product(x[0].split_with_sizes([2, 2], 1)?)
    });
    check("unbind", &[&[2, 3]], |x| product(x[0].unbind(1)?));
}

/// The gradient of each operation, by the type that implements it.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("sign::Abs", &["abs"]),
    ("arithmetic::Add", &["add"]),
    ("arithmetic::AddScaled", &["add_scaled"]),
    ("arithmetic::Div", &["div"]),
    ("extreme::ElementwiseExtremum", &["maximum", "minimum"]),
    ("arithmetic::Mul", &["mul"]),
    ("sign::Neg", &["neg"]),
    ("pow::Pow", &["pow"]),
    ("pow::PowOf", &["pow"]),
    ("pow::Square", &["square"]),
    ("sign::Sign", &["sign"]),
    ("arithmetic::Sub", &["sub"]),
    ("attention::Fused", &["scaled_dot_product_attention"]),
    ("angle::Atan2", &["atan2"]),
    ("angle::Hypot", &["hypot"]),
    // Casts round, and there is only one device: they have separate tests.
    ("cast::Cast", &[]),
    ("cast::Move", &[]),
    ("arithmetic::WithNumber", &["add", "sub", "mul", "div"]),
    ("cdist::Cdist", &["cdist"]),
    ("compare::MaskedFill", &["where"]),
    ("clamp::Between", &["clamp"]),
    ("clamp::Clamp", &["clamp", "clamp_min", "clamp_max"]),
    ("compare::Where", &["where"]),
    ("cross_entropy::CrossEntropy", &["cross_entropy"]),
    (
        "fill_in_range::FillInRange",
        &[
            "hardshrink",
            "hardsigmoid",
            "hardtanh",
            "relu6",
            "relu_backward",
            "softshrink",
            "threshold",
        ],
    ),
    (
        "conv::Convolution",
        &[
            "conv1d",
            "conv2d",
            "conv3d",
            "conv_transpose1d",
            "conv_transpose2d",
            "conv_transpose3d",
        ],
    ),
    ("exponential_unit::Elu", &["elu", "selu", "celu"]),
    ("exponential_unit::Softplus", &["softplus"]),
    ("exponential::Erf", &["erf"]),
    ("exponential::Exp", &["exp"]),
    ("exponential::Expm1", &["expm1"]),
    ("exponential::Log", &["log"]),
    ("exponential::Log1p", &["log1p"]),
    ("exponential::Reciprocal", &["reciprocal"]),
    ("exponential::Rsqrt", &["rsqrt"]),
    ("exponential::Sqrt", &["sqrt"]),
    ("gate::Gelu", &["gelu"]),
    ("gate::Hardswish", &["hardswish"]),
    ("gate::Mish", &["mish"]),
    ("gate::Silu", &["silu"]),
    // Gradients of gradients.
    ("index::AddedToZeros", &[]),
    ("index::Gather", &["gather"]),
    ("scatter::Scatter", &["scatter"]),
    ("scatter::ScatterAdd", &["scatter_add"]),
    ("join::Cat", &["cat"]),
    (
        "linear_map::Mapped",
        &[
            "avg_pool1d",
            "avg_pool2d",
            "avg_pool3d",
            "adaptive_avg_pool1d",
            "adaptive_avg_pool2d",
            "adaptive_avg_pool3d",
            "flip",
            "interpolate",
            "pad",
        ],
    ),
    ("linear::Linear", &["linear"]),
    ("packed_matmul::PackedMatmul", &["packed_matmul"]),
    ("matmul::Matmul", &["matmul"]),
    (
        "no_influence::NoInfluence",
        &["addmm", "addmv", "addbmm", "baddbmm", "grid_sample"],
    ),
    ("norm::LogSumExp", &["logsumexp"]),
    ("norm::Norm", &["norm"]),
    ("norm::SumSquares", &["sum_squares"]),
    (
        "normalize::NormBackward",
        &[
            "layer_norm",
            "rms_norm",
            "group_norm",
            "instance_norm",
            "batch_norm",
        ],
    ),
    ("log_add_exp::LogAddExp", &["logaddexp", "logaddexp2"]),
    ("log_add_exp::XLogY", &["xlogy"]),
    ("piecewise::Hardsigmoid", &["hardsigmoid"]),
    (
        "pointwise::Pointwise",
        &[
            "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "digamma", "erfinv", "exp2",
            "lgamma", "log10", "log2", "sinh", "tan",
        ],
    ),
    (
        "pool::MaxPool",
        &[
            "max_pool1d",
            "max_pool2d",
            "max_pool3d",
            "adaptive_max_pool1d",
            "adaptive_max_pool2d",
            "adaptive_max_pool3d",
        ],
    ),
    ("product::Prod", &["prod"]),
    ("quotient::Rest", &["fmod", "remainder"]),
    ("rectifier::LeakyRelu", &["leaky_relu"]),
    ("rectifier::Relu", &["relu"]),
    ("recurrent::Fused", &["recurrent"]),
    (
        "max_min::ReducedExtremum",
        &["amax", "amin", "max", "median", "min"],
    ),
    ("reduce::Sum", &["sum"]),
    ("rounding::Step", &["floor", "ceil", "round", "trunc"]),
    ("rows::IndexAdd", &["index_add"]),
    ("rows::IndexSelect", &["index_select", "embedding"]),
    ("running::LogCumSumExp", &["logcumsumexp"]),
    ("sample::Sample", &["grid_sample"]),
    ("scan::CumProd", &["cumprod"]),
    ("scan::CumSum", &["cumsum"]),
    ("scatter_reduce::Folded", &["scatter_reduce"]),
    ("sign_bit::Copysign", &["copysign"]),
    ("parts::Parts", &["split", "split_with_sizes", "unbind"]),
    ("slice::AsStridedScatter", &["place"]),
    (
        "slice::ViewBy",
        &["diagonal", "narrow", "select", "slice", "unfold"],
    ),
    ("softmax::LogSoftmax", &["log_softmax"]),
    ("softmax::Softmax", &["softmax"]),
    ("special::Polygamma", &["polygamma"]),
    ("squash::Sigmoid", &["sigmoid"]),
    ("squash::Softsign", &["softsign"]),
    ("squash::Tanh", &["tanh"]),
    ("trigonometric::Cos", &["cos"]),
    ("trigonometric::Sin", &["sin"]),
    ("unfold::Unfold", &["im2col", "col2im"]),
    ("permute::Permute", &["permute"]),
    ("view::Contiguous", &["contiguous"]),
    ("view::Expand", &["expand"]),
    ("view::Reshape", &["reshape"]),
];

/// A file of operations, by its name.
macro_rules! sources {
    ($($name:literal),*) => { [$(($name, include_str!(concat!($name, ".rs")))),*] };
}

const SOURCES: &[(&str, &str)] = &sources!(
    "accumulate",
    "step",
    "update",
    "adaptive_pool",
    "addmm",
    "angle",
    "arc",
    "arithmetic",
    "arrange",
    "attention",
    "autocast",
    "avg_pool",
    "batch_norm",
    "cast",
    "cdist",
    "clamp",
    "close",
    "compare",
    "complex",
    "conv",
    "conv_transpose",
    "cross_entropy",
    "diagonals",
    "dropout",
    "einsum",
    "exponential",
    "extreme",
    "exponential_unit",
    "fractional_pool",
    "fill_in_range",
    "fused",
    "gate",
    "grid_sample",
    "hyperbolic",
    "index",
    "indexing",
    "integers",
    "interpolate",
    "join",
    "linear",
    "linear_map",
    "layer_norm",
    "logarithm",
    "logic",
    "matmul",
    "max_min",
    "no_influence",
    "norm",
    "normalize",
    "operators",
    "packed_matmul",
    "pad",
    "parts",
    "permute",
    "piecewise",
    "pointwise",
    "pool",
    "pow",
    "product",
    "quotient",
    "rectifier",
    "recurrent",
    "reduce",
    "reduce_dim",
    "rounding",
    "rows",
    "sample",
    "scan",
    "sign",
    "sign_bit",
    "sizes",
    "slice",
    "softmax",
    "sort",
    "special",
    "squash",
    "tensordot",
    "trigonometric",
    "unfold",
    "unpool",
    "value",
    "view",
    "count",
    "index_tensor",
    "log_add_exp",
    "meshgrid",
    "multinomial",
    "nan_to_num",
    "order_keys",
    "quantile",
    "repeat_interleave",
    "running",
    "scatter",
    "scatter_reduce",
    "search",
    "unique",
    "window"
);

#[test]
fn every_gradient_agrees_with_differences_to_second_order() {
    // Everything with a gradient is covered: every file, type and name.
    let modules = include_str!("mod.rs");
    let listed = modules
        .lines()
        .filter(|line| line.starts_with("mod ") && *line != "mod tests;");
    assert_eq!(listed.count(), SOURCES.len());
    let mut types = 0;
    for &(file, source) in SOURCES {
        for line in source
            .lines()
            .filter_map(|line| line.strip_prefix("impl Function for "))
        {
            let name = format!("{file}::{}", line.trim_end_matches(" {"));
            assert!(FUNCTIONS.iter().any(|(f, _)| *f == name), "{name}");
            types += 1;
        }
    }
    assert_eq!(types, FUNCTIONS.len());
    check_all();
    SEEN.with_borrow(|seen| {
        for name in FUNCTIONS.iter().flat_map(|(_, names)| names.iter()) {
            assert!(
                seen.contains(name),
                "the gradient of {name} was not checked"
            );
        }
    });
}

#[test]
fn casts_pass_the_gradient_between_floating_point_types_and_stop_at_others() {
    let x = Tensor::from([1.5_f64, -2.5]).with_grad().unwrap();
    let y = x
        .to_dtype(DType::F32)
        .unwrap()
        .to_dtype(DType::BF16)
        .unwrap();
    y.sum(..).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), [1.0, 1.0]);
    assert!(!x.to_dtype(DType::I64).unwrap().requires_grad());
    let y = x.to_device(&Device::cpu()).unwrap();
    assert!(y.shares_memory_with(&x));
    assert!(y.requires_grad());
}

#[test]
fn integers_wrap_around() {
    let x = Tensor::from([[200_u8, 100], [255, 3]]);
    assert_eq!(
        x.matmul(&x).unwrap().to_vec::<u8>().unwrap(),
        [220, 76, 53, 165]
    );
    let x = Tensor::from([[i64::MAX, i64::MAX], [2, 3]]);
    assert_eq!(x.sum(..).unwrap().item::<i64>().unwrap(), 3);
    assert_eq!(
        x.sum(0).unwrap().to_vec::<i64>().unwrap(),
        [i64::MIN + 1, i64::MIN + 2]
    );
    let x = Tensor::from([i32::MIN, 7]);
    assert_eq!(x.abs().unwrap().to_vec::<i32>().unwrap(), [i32::MIN, 7]);
    assert_eq!(x.neg().unwrap().to_vec::<i32>().unwrap(), [i32::MIN, -7]);
}

#[test]
fn half_precision_is_rounded_once() {
    let x = Tensor::full([1000], 100.0, DType::F16).unwrap();
    // The sum is beyond half precision, the mean is not.
    let number = |x: Tensor| x.to_dtype(DType::F64).unwrap().item::<f64>().unwrap();
    assert_eq!(number(x.mean(..).unwrap()), 100.0);
    assert_eq!(number(x.var(.., 1.0).unwrap()), 0.0);
    assert_eq!(number(x.sum(..).unwrap()), f64::INFINITY);
    // 2⁵⁴ + 2³⁰ + 1 is just above the middle of two neighbors in f32.
    let x = Tensor::from([(1_i64 << 54) + (1 << 30) + 1]);
    let y = x.to_dtype(DType::F32).unwrap().item::<f32>().unwrap();
    assert_eq!(y, ((1_i64 << 54) + (1 << 31)) as f32);
}

#[test]
fn a_view_without_elements_is_read_like_any() {
    let x = numbers([3, 2], 0).narrow(0, 3..3).unwrap();
    let x = x.transpose(0, 1).unwrap().narrow(0, 1..2).unwrap();
    assert_eq!(x.shape().to_string(), "[1, 0]");
    assert!(x.exp().unwrap().to_vec::<f64>().unwrap().is_empty());
    assert_eq!(x.sum(1).unwrap().to_vec::<f64>().unwrap(), [0.0]);
    assert_eq!(
        x.add(numbers([2, 1], 0)).unwrap().shape().to_string(),
        "[2, 0]"
    );
}

#[test]
fn what_could_not_be_answered_is_refused() {
    let x = numbers([2, 3], 0);
    let message = |result: Result<Tensor>| result.unwrap_err().to_string();
    assert_eq!(
        message(x.sum_to(&[3, 2].into())),
        "sum_to: shapes [3, 2] and [2, 3] cannot be broadcast together"
    );
    assert_eq!(
        message(x.sum_to(&[4, 2, 3].into())),
        "sum_to: [2, 3] and [4, 2, 3] do not fit: the second must broadcast to the first"
    );
    // A dimension that is too large must not wrap around to a negative one.
    assert!(x.sum([usize::MAX]).is_err());
    let pool = Pool2dOptions::new([2, 1]).padding([1, 0]).dilation([10, 1]);
    let x = numbers([1, 9, 9], 0);
    assert_eq!(
        message(x.max_pool2d(pool)),
        "max_pool2d: dilation = [10, 1]: leaves a window without elements of an input of size 9"
    );
    assert!(numbers([0], 0).dropout(1.5).is_err());
}

#[test]
fn a_window_far_larger_than_its_input_is_cheap() {
    let size = 1 << 60;
    let pool = Pool2dOptions::new([size; 2]).padding([size / 2; 2]);
    let y = numbers([1, 3, 4], 0).max_pool2d(pool).unwrap();
    assert_eq!(y.numel(), 1);
}

#[test]
fn the_error_function_is_true_to_the_last_place() {
    // Computed with forty digits.
    let known = [
        (1e-10, 1.128_379_167_095_512_6e-10),
        (0.1, 0.112_462_916_018_284_9),
        (0.5, 0.520_499_877_813_046_5),
        (0.84375, 0.767_225_661_232_341_6),
        (1.0, 0.842_700_792_949_714_9),
        (1.25, 0.922_900_128_256_458_2),
        (2.0, 0.995_322_265_018_952_7),
        (3.5, 0.999_999_256_901_627_7),
        (5.0, 0.999_999_999_998_462_5),
    ];
    for (at, value) in known {
        for sign in [1.0, -1.0] {
            let x = Tensor::from(sign * at);
            let y = x.erf().unwrap().item::<f64>().unwrap();
            assert!(
                (y / (sign * value) - 1.0).abs() <= 2.0 * f64::EPSILON,
                "{at}: {y}"
            );
            let x = x.to_dtype(DType::F32).unwrap();
            let y = x.erf().unwrap().item::<f32>().unwrap();
            let close = (y / (sign * value) as f32 - 1.0).abs() <= 2.0 * f32::EPSILON;
            assert!(close, "{at} in f32: {y}");
        }
    }
}

#[test]
fn running_sums_do_not_gather_rounding_errors() {
    // Each sum is rounded once, however long the row is.
    let x = Tensor::full([1 << 20], 0.1, DType::F32).unwrap();
    let last = x
        .cumsum(0)
        .unwrap()
        .narrow(0, (1 << 20) - 1..1 << 20)
        .unwrap();
    let exact = f64::from(0.1_f32) * f64::from(1 << 20);
    assert_eq!(
        last.squeeze(0).unwrap().item::<f32>().unwrap(),
        exact as f32
    );
}
