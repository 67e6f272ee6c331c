//! No operation is left out of the comparison of gradients.

use std::fs;
use std::path::Path;

use super::*;

/// The gradient of each operation, by the type that implements it, with the names that its `name` returns.
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
    ("arrange::Band", &["tril", "triu"]),
    ("arrange::Roll", &["roll"]),
    ("attention::Fused", &["scaled_dot_product_attention"]),
    ("angle::Atan2", &["atan2"]),
    ("angle::Hypot", &["hypot"]),
    // Casts round, and there is only one device here: they have separate tests.
    ("cast::Cast", &[]),
    ("cast::Move", &[]),
    ("dropout::DropByKey", &[]),
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
    ("gate::Glu", &["glu"]),
    ("gate::Hardswish", &["hardswish"]),
    ("gate::Mish", &["mish"]),
    ("gate::Silu", &["silu"]),
    ("huber::Huber", &["huber"]),
    // Gradients of gradients.
    ("index::AddedToZeros", &[]),
    ("index::Gather", &["gather"]),
    ("scatter::Scatter", &["scatter"]),
    ("scatter::ScatterAdd", &["scatter_add"]),
    ("join::Cat", &["cat"]),
    ("join::Stack", &["stack"]),
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
    ("variance::Deviations", &["var"]),
    ("variance::Std", &["std"]),
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
            "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "digamma", "erfc", "erfinv",
            "exp2", "lgamma", "log10", "log2", "sinh", "tan",
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
    ("quotient::Frac", &["frac"]),
    ("quotient::Remainder", &["fmod", "remainder"]),
    ("nan_to_num::NanToNum", &["nan_to_num"]),
    ("rectifier::LeakyRelu", &["leaky_relu"]),
    ("rectifier::Prelu", &["prelu"]),
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
    ("sampling::GridSample", &["grid_sample"]),
    ("sample::Sample", &["grid_sample"]),
    ("scan::CumProd", &["cumprod"]),
    ("scan::CumSum", &["cumsum"]),
    ("scatter_reduce::Folded", &["scatter_reduce"]),
    ("sign_bit::Copysign", &["copysign"]),
    ("parts::Parts", &["split", "split_with_sizes", "unbind"]),
    ("slice::AsStridedScatter", &["as_strided_scatter"]),
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
    ("view::Unchanged", &["alias", "contiguous"]),
    ("view::Expand", &["expand"]),
    ("view::Reshape", &["reshape"]),
];

/// The functions of the files of operations, each as `file::Type`, except those of `linalg`, which has tests of its own.
fn implemented() -> BTreeSet<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ops")];
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            match path.is_dir() {
                true if ["linalg", "tests"].contains(&name) => {}
                true => folders.push(path),
                false => {
                    let source = fs::read_to_string(&path).unwrap();
                    let types = source
                        .lines()
                        .filter_map(|line| line.strip_prefix("impl Function for "));
                    found.extend(
                        types.map(|line| format!("{name}::{}", line.trim_end_matches(" {"))),
                    );
                }
            }
        }
    }
    found
}

#[test]
fn every_gradient_agrees_with_differences_to_second_order() {
    let (there, mut listed) = (implemented(), BTreeSet::new());
    for (name, _) in FUNCTIONS {
        assert!(listed.insert((*name).to_owned()), "{name} is listed twice");
    }
    let missing: Vec<_> = there.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&there).collect();
    assert!(
        missing.is_empty(),
        "add to `FUNCTIONS` in this file, with the names that these functions return: {missing:?}"
    );
    assert!(
        gone.is_empty(),
        "remove from `FUNCTIONS` in this file, or correct, because no file of `ops` has them: {gone:?}"
    );
    gradients::check_all();
    let names = FUNCTIONS.iter().flat_map(|(_, names)| names.iter());
    let unchecked: Vec<_> =
        SEEN.with_borrow(|seen| names.filter(|name| !seen.contains(*name)).collect());
    assert!(
        unchecked.is_empty(),
        "call `check` or `check_unary`, in `gradients.rs` or the file of the family beside it, with: {unchecked:?}"
    );
}
