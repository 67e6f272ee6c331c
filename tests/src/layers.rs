//! Building layers from the constructor arguments that the golden files record.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::prelude::*;
use module_nn::{PaddingMode, Pair, Reduction};
use serde_json::Value;

/// A floating-point dtype by its name in the golden files.
pub fn dtype(name: &Value) -> DType {
    match name.as_str() {
        Some("f32") => DType::F32,
        Some("f64") => DType::F64,
        Some("f16") => DType::F16,
        Some("bf16") => DType::BF16,
        _ => panic!("an unknown dtype: {name}"),
    }
}

/// The constructor arguments of one case; an argument that no setter took is an error, so that
/// none is passed over.
struct Arguments(serde_json::Map<String, Value>);

impl Arguments {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    fn size(&mut self, name: &str) -> usize {
        let value = self.take(name).expect("a required argument");
        usize::try_from(value.as_u64().expect("a size")).unwrap()
    }

    fn pair(&mut self, name: &str) -> Option<Pair> {
        let size = |value: &Value| usize::try_from(value.as_u64().expect("a size")).unwrap();
        self.take(name).map(|value| match value.as_array() {
            Some(sizes) => Pair([size(&sizes[0]), size(&sizes[1])]),
            None => size(&value).into(),
        })
    }

    fn flag(&mut self, name: &str, default: bool) -> bool {
        let value = self.take(name);
        value.map_or(default, |value| value.as_bool().expect("a flag"))
    }

    fn number(&mut self, name: &str, default: f64) -> f64 {
        let value = self.take(name);
        value.map_or(default, |value| value.as_f64().expect("a number"))
    }

    fn integer(&mut self, name: &str, default: i64) -> i64 {
        let value = self.take(name);
        value.map_or(default, |value| value.as_i64().expect("an integer"))
    }

    fn done(self, layer: &str) {
        assert!(self.0.is_empty(), "{layer} does not take {:?}", self.0);
    }
}

/// The layer that a case describes: `layer` with `kwargs`, or a `Sequential` with `modules`.
pub fn build(case: &Value) -> Result<Box<dyn Layer>> {
    let name = case["layer"].as_str().expect("a layer");
    if name == "Sequential" {
        return Ok(Box::new(sequential(case)?));
    }
    let mut kwargs = Arguments(case["kwargs"].as_object().expect("arguments").clone());
    let layer: Box<dyn Layer> = match name {
        "Linear" => {
            let config = LinearConfig::new(kwargs.size("in_features"), kwargs.size("out_features"));
            Box::new(config.bias(kwargs.flag("bias", true)).build()?)
        }
        "Conv2d" => Box::new(conv2d(&mut kwargs)?),
        "BatchNorm1d" => Box::new(batch_norm(&mut kwargs).build_1d()?),
        "BatchNorm2d" => Box::new(batch_norm(&mut kwargs).build_2d()?),
        "ReLU" => Box::new(ReLU::new()),
        "Identity" => Box::new(Identity::new()),
        "Dropout" => Box::new(Dropout::new(kwargs.number("p", 0.5))?),
        "MaxPool2d" => Box::new(max_pool2d(&mut kwargs)?),
        "Flatten" => {
            let dim = |value| isize::try_from(value).unwrap();
            let start = dim(kwargs.integer("start_dim", 1));
            Box::new(Flatten::range(start, dim(kwargs.integer("end_dim", -1))))
        }
        _ => panic!("an unknown layer: {name}"),
    };
    kwargs.done(name);
    Ok(layer)
}

fn sequential(case: &Value) -> Result<Sequential> {
    let children = case["modules"].as_array().expect("a list of children");
    let mut layers = Sequential::new();
    for child in children {
        let name = child[0].as_str().expect("a name");
        layers = layers.push_named(name, build(&child[1])?)?;
    }
    Ok(layers)
}

fn conv2d(kwargs: &mut Arguments) -> Result<Conv2d> {
    let kernel = kwargs.pair("kernel_size").expect("a kernel");
    let (inputs, outputs) = (kwargs.size("in_channels"), kwargs.size("out_channels"));
    let mut config = Conv2dConfig::new(inputs, outputs, kernel)
        .groups(usize::try_from(kwargs.integer("groups", 1)).unwrap())
        .bias(kwargs.flag("bias", true));
    if let Some(stride) = kwargs.pair("stride") {
        config = config.stride(stride);
    }
    if let Some(dilation) = kwargs.pair("dilation") {
        config = config.dilation(dilation);
    }
    let named = kwargs.0.get("padding").and_then(Value::as_str);
    config = match named.map(str::to_owned).as_deref() {
        Some("same") => config.padding(Padding::Same),
        Some("valid") => config.padding(Padding::Valid),
        Some(other) => panic!("an unknown padding: {other}"),
        None => config.padding(kwargs.pair("padding").unwrap_or(0.into()).0),
    };
    kwargs.0.remove("padding");
    let mode = kwargs.take("padding_mode");
    let mode = match mode.as_ref().and_then(Value::as_str) {
        None | Some("zeros") => PaddingMode::Zeros,
        Some("reflect") => PaddingMode::Reflect,
        Some("replicate") => PaddingMode::Replicate,
        Some("circular") => PaddingMode::Circular,
        Some(other) => panic!("an unknown padding mode: {other}"),
    };
    config.padding_mode(mode).build()
}

fn batch_norm(kwargs: &mut Arguments) -> BatchNormConfig {
    let config = BatchNormConfig::new(kwargs.size("num_features"))
        .eps(kwargs.number("eps", 1e-5))
        .affine(kwargs.flag("affine", true))
        .track_running_stats(kwargs.flag("track_running_stats", true))
        .bias(kwargs.flag("bias", true));
    match kwargs.take("momentum") {
        None => config,
        // `None` is a cumulative average, which differs from an argument that is not given.
        Some(momentum) => config.momentum(momentum.as_f64()),
    }
}

fn max_pool2d(kwargs: &mut Arguments) -> Result<MaxPool2d> {
    let mut config = MaxPool2dConfig::new(kwargs.pair("kernel_size").expect("a window"))
        .ceil_mode(kwargs.flag("ceil_mode", false));
    if let Some(stride) = kwargs.pair("stride") {
        config = config.stride(stride);
    }
    if let Some(padding) = kwargs.pair("padding") {
        config = config.padding(padding);
    }
    if let Some(dilation) = kwargs.pair("dilation") {
        config = config.dilation(dilation);
    }
    config.build()
}

/// The loss that a case describes; its class weights are among the tensors.
pub fn build_loss(case: &Value, tensors: &StateDict) -> Result<CrossEntropyLoss> {
    let mut kwargs = Arguments(case["kwargs"].as_object().expect("arguments").clone());
    let reduction = kwargs.take("reduction");
    let reduction = match reduction.as_ref().and_then(Value::as_str) {
        Some("none") => Reduction::None,
        Some("sum") => Reduction::Sum,
        None | Some("mean") => Reduction::Mean,
        Some(other) => panic!("an unknown reduction: {other}"),
    };
    let weight = kwargs.take("weight").map(|weight| {
        let key = weight["tensor"].as_str().expect("the key of a tensor");
        tensors.get(key).expect("the class weights").clone()
    });
    let loss = CrossEntropyLossConfig::new()
        .weight(weight)
        .reduction(reduction)
        .label_smoothing(kwargs.number("label_smoothing", 0.0))
        .ignore_index(kwargs.integer("ignore_index", -100))
        .build();
    kwargs.done("CrossEntropyLoss");
    loss
}
