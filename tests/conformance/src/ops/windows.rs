//! Convolutions, pooling, unfolding and image resizing, over one to three dimensions.

use crate::golden::{Case, Tolerance};
use module_core::{
    AdaptiveSize, AvgPoolOptions, ConvOptions, ConvTransposeOptions, InterpolateMode,
    InterpolateOptions, Padding, PoolOptions, Resize, Result, Tensor, UnfoldOptions,
};
use module_nn::functional::{LpPoolOptions, lp_pool};
use serde_json::Value;

use super::Different;

/// The outputs of a golden case.
type Outputs = Result<Vec<Tensor>>;

fn sizes<const N: usize>(value: &Value) -> [usize; N] {
    let size = |d: usize| value[d].as_u64().unwrap() as usize;
    std::array::from_fn(size)
}

fn list<T>(value: &Value, number: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn conv<const N: usize>(args: &Value) -> ConvOptions<N> {
    ConvOptions::new()
        .stride(sizes(&args["stride"]))
        .padding(match args["padding"].as_str() {
            Some("same") => Padding::Same,
            Some(_) => Padding::Valid,
            None => Padding::Size(sizes(&args["padding"])),
        })
        .dilation(sizes(&args["dilation"]))
        .groups(args["groups"].as_u64().unwrap() as usize)
}

fn transpose<const N: usize>(args: &Value) -> ConvTransposeOptions<N> {
    ConvTransposeOptions::new()
        .stride(sizes(&args["stride"]))
        .padding(sizes(&args["padding"]))
        .output_padding(sizes(&args["output_padding"]))
        .groups(args["groups"].as_u64().unwrap() as usize)
        .dilation(sizes(&args["dilation"]))
}

fn pool<const N: usize>(args: &Value) -> PoolOptions<N> {
    PoolOptions::new(sizes(&args["kernel_size"]))
        .stride(sizes(&args["stride"]))
        .padding(sizes(&args["padding"]))
        .dilation(sizes(&args["dilation"]))
        .ceil_mode(args["ceil_mode"] == true)
}

fn mean<const N: usize>(args: &Value) -> AvgPoolOptions<N> {
    AvgPoolOptions::new(sizes(&args["kernel_size"]))
        .stride(sizes(&args["stride"]))
        .padding(sizes(&args["padding"]))
        .ceil_mode(args["ceil_mode"] == true)
        .count_include_pad(args["count_include_pad"] == true)
        .divisor_override(args["divisor_override"].as_u64().map(|n| n as usize))
}

fn norm<const N: usize>(args: &Value) -> LpPoolOptions<N> {
    LpPoolOptions::new(sizes(&args["kernel_size"]))
        .stride(sizes(&args["stride"]))
        .ceil_mode(args["ceil_mode"] == true)
}

fn adaptive<const N: usize>(args: &Value) -> AdaptiveSize<N> {
    let size = |d: usize| args["output_size"][d].as_u64().map(|n| n as usize);
    std::array::from_fn(size).into()
}

fn columns(args: &Value) -> UnfoldOptions<2> {
    UnfoldOptions::new(sizes(&args["kernel_size"]))
        .dilation(sizes(&args["dilation"]))
        .padding(sizes(&args["padding"]))
        .stride(sizes(&args["stride"]))
}

pub(super) fn interpolate(args: &Value) -> InterpolateOptions {
    let resize = match &args["size"] {
        Value::Null => Resize::ScaleFactor(list(&args["scale_factor"], |n| n.as_f64().unwrap())),
        size => Resize::Size(list(size, |n| n.as_u64().unwrap() as usize)),
    };
    let mode = match args["mode"].as_str().unwrap() {
        "nearest" => InterpolateMode::Nearest,
        "nearest-exact" => InterpolateMode::NearestExact,
        "linear" => InterpolateMode::Linear,
        "bilinear" => InterpolateMode::Bilinear,
        "trilinear" => InterpolateMode::Trilinear,
        "bicubic" => InterpolateMode::Bicubic,
        _ => InterpolateMode::Area,
    };
    InterpolateOptions {
        resize,
        mode,
        align_corners: args["align_corners"] == true,
        antialias: args["antialias"] == true,
    }
}

/// Our outputs for a case of this family and their tolerance, or `None` if the name is unknown here.
pub(crate) fn run(case: &Case, inputs: &[Tensor]) -> Option<(Outputs, Tolerance)> {
    use Tolerance as T;
    let (x, args) = (&inputs[0], &case.args);
    let one = |out: Result<Tensor>, tolerance| Some((out.map(|out| vec![out]), tolerance));
    let both = |out: Result<(Tensor, Tensor)>| Some((out.map(|(a, b)| vec![a, b]), T::EXACT));
    let p = args["norm_type"].as_f64().unwrap_or(2.0);
    match case.op.as_str() {
        "conv1d" => one(x.conv1d(&inputs[1], conv(args)), T::CONTRACTION),
        "conv2d" => one(x.conv2d(&inputs[1], conv(args)), T::CONTRACTION),
        "conv3d" => one(x.conv3d(&inputs[1], conv(args)), T::CONTRACTION),
        "conv_transpose1d" => one(
            x.conv_transpose1d(&inputs[1], transpose(args)),
            T::CONTRACTION,
        ),
        "conv_transpose2d" => one(
            x.conv_transpose2d(&inputs[1], transpose(args)),
            T::CONTRACTION,
        ),
        "conv_transpose3d" => one(
            x.conv_transpose3d(&inputs[1], transpose(args)),
            T::CONTRACTION,
        ),
        "max_pool1d" => both(x.max_pool1d_with_indices(pool(args))),
        "max_pool2d" => both(x.max_pool2d_with_indices(pool(args))),
        "max_pool3d" => both(x.max_pool3d_with_indices(pool(args))),
        "avg_pool1d" => one(x.avg_pool1d(mean(args)), T::CONTRACTION),
        "avg_pool2d" => one(x.avg_pool2d(mean(args)), T::CONTRACTION),
        "avg_pool3d" => one(x.avg_pool3d(mean(args)), T::CONTRACTION),
        "adaptive_avg_pool1d" => one(x.adaptive_avg_pool1d(adaptive(args)), T::CONTRACTION),
        "adaptive_avg_pool2d" => one(x.adaptive_avg_pool2d(adaptive(args)), T::CONTRACTION),
        "adaptive_avg_pool3d" => one(x.adaptive_avg_pool3d(adaptive(args)), T::CONTRACTION),
        "adaptive_max_pool1d" => both(x.adaptive_max_pool1d_with_indices(adaptive(args))),
        "adaptive_max_pool2d" => both(x.adaptive_max_pool2d_with_indices(adaptive(args))),
        "adaptive_max_pool3d" => both(x.adaptive_max_pool3d_with_indices(adaptive(args))),
        "lp_pool1d" => one(lp_pool::<1>(x, p, norm(args)), T::CONTRACTION),
        "lp_pool2d" => one(lp_pool::<2>(x, p, norm(args)), T::CONTRACTION),
        "lp_pool3d" => one(lp_pool::<3>(x, p, norm(args)), T::CONTRACTION),
        "im2col" => one(x.im2col(columns(args)), T::EXACT),
        "col2im" => one(
            x.col2im(sizes(&args["output_size"]), columns(args)),
            T::CONTRACTION,
        ),
        "interpolate" => {
            let nearest = args["mode"].as_str().unwrap().starts_with("nearest");
            let tolerance = if nearest { T::EXACT } else { T::CONTRACTION };
            one(x.interpolate(&interpolate(args)), tolerance)
        }
        _ => None,
    }
}

/// If a factor leaves a size unchanged, or doubles it, PyTorch's backward pass copies the gradient although its forward pass
/// does not copy the image, except that of `nearest` in two dimensions. Our gradient is always that of the forward pass.
const HARDLY: &str = "PyTorch copies where a factor leaves the size as it is";

pub(crate) const DIFFERENT: &Different = &[
    ("op.interpolate.nearest1d_hardly.f32", "gin0", HARDLY),
    ("op.interpolate.nearest3d_by_odd.f32", "gin0", HARDLY),
    ("op.interpolate.nearest3d_by_odd.f64", "gin0", HARDLY),
    ("op.interpolate.nearest3d_hardly.f32", "gin0", HARDLY),
    ("op.interpolate.bicubic2d_hardly.f32", "gin0", HARDLY),
];

/// Pooling without indices.
pub(crate) fn values(case: &Case, inputs: &[Tensor]) -> Option<(Outputs, Tolerance)> {
    let (x, args) = (&inputs[0], &case.args);
    let out = match case.op.as_str() {
        "max_pool1d" => x.max_pool1d(pool(args)),
        "max_pool2d" => x.max_pool2d(pool(args)),
        "max_pool3d" => x.max_pool3d(pool(args)),
        "adaptive_max_pool1d" => x.adaptive_max_pool1d(adaptive(args)),
        "adaptive_max_pool2d" => x.adaptive_max_pool2d(adaptive(args)),
        "adaptive_max_pool3d" => x.adaptive_max_pool3d(adaptive(args)),
        _ => return run(case, inputs),
    };
    Some((out.map(|out| vec![out]), Tolerance::EXACT))
}
