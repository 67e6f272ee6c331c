//! Wrong arguments and inputs give typed errors that quote the values and contain the module's path.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::sync::Arc;

use module_nn::functional::{CrossEntropyOptions, cross_entropy};
use module_nn::optim::{AdamWConfig, SGDConfig};
use module_nn::prelude::*;
use module_nn::{IndexMap, PaddingMode};

#[track_caller]
fn assert_error<T>(result: Result<T>, expected: &str) {
    match result {
        Ok(_) => panic!("no error instead of: {expected}"),
        Err(error) => assert_eq!(error.to_string(), expected),
    }
}

fn zeros(shape: impl Into<Shape>) -> Tensor {
    Tensor::zeros(shape, DType::F32).unwrap()
}

#[test]
fn linear_refuses_empty_sizes() {
    assert_error(
        Linear::new(0, 2),
        "Linear: in_features = 0: must be at least 1",
    );
    assert_error(
        Linear::new(2, 0),
        "Linear: out_features = 0: must be at least 1",
    );
    let huge = Linear::new(1 << 40, 1 << 40);
    assert!(matches!(
        huge.map(drop).unwrap_err().kind(),
        ErrorKind::Shape(ShapeError::TooLarge { .. })
    ));
}

#[test]
fn conv2d_refuses_what_does_not_fit_together() {
    let config = |inputs, outputs| Conv2dConfig::new(inputs, outputs, [3, 2]);
    assert_error(
        config(0, 1).build(),
        "Conv2d: in_channels = 0: must be at least 1",
    );
    assert_error(
        config(1, 0).build(),
        "Conv2d: out_channels = 0: must be at least 1",
    );
    assert_error(
        Conv2d::new(1, 1, [3, 0]),
        "Conv2d: kernel_size = (3, 0): each must be at least 1",
    );
    assert_error(
        config(1, 1).stride(0).build(),
        "Conv2d: stride = (0, 0): each must be at least 1",
    );
    assert_error(
        config(1, 1).dilation([0, 1]).build(),
        "Conv2d: dilation = (0, 1): each must be at least 1",
    );
    assert_error(
        config(4, 6).groups(0).build(),
        "Conv2d: groups = 0: must be at least 1",
    );
    assert_error(
        config(4, 6).groups(3).build(),
        "Conv2d: groups = 3: must divide in_channels = 4",
    );
    assert_error(
        config(6, 4).groups(3).build(),
        "Conv2d: groups = 3: must divide out_channels = 4",
    );
    assert_error(
        config(1, 1).padding(Padding::Same).stride(2).build(),
        "Conv2d: stride = (2, 2): must be 1 with padding = same",
    );
}

#[test]
fn batch_norm_refuses_numbers_out_of_range() {
    assert_error(
        BatchNorm2d::new(0),
        "BatchNorm2d: num_features = 0: must be at least 1",
    );
    assert_error(
        BatchNorm1dConfig::new(1).eps(-1e-3).build(),
        "BatchNorm1d: eps = -0.001: must be at least 0",
    );
    assert_error(
        BatchNorm1dConfig::new(1).momentum(1.5).build(),
        "BatchNorm1d: momentum = 1.5: must be between 0 and 1",
    );
    assert!(BatchNorm2dConfig::new(1).eps(f64::NAN).build().is_err());
}

#[test]
fn other_layers_refuse_numbers_out_of_range() {
    assert_error(
        Dropout::new(1.1),
        "Dropout: p = 1.1: must be between 0 and 1",
    );
    assert_error(
        Dropout::new(-0.1),
        "Dropout: p = -0.1: must be between 0 and 1",
    );
    assert!(Dropout::new(f64::NAN).is_err());
    assert_error(
        MaxPool2d::new([2, 0]),
        "MaxPool2d: kernel_size = (2, 0): each must be at least 1",
    );
    assert_error(
        MaxPool2dConfig::new(3).padding(2).build(),
        "MaxPool2d: padding = (2, 2): must be at most half of kernel_size = (3, 3)",
    );
    assert_error(
        MaxPool2dConfig::new(3).stride([1, 0]).build(),
        "MaxPool2d: stride = (1, 0): each must be at least 1",
    );
    assert_error(
        CrossEntropyLossConfig::new().label_smoothing(1.5).build(),
        "CrossEntropyLoss: label_smoothing = 1.5: must be between 0 and 1",
    );
    assert_error(
        CrossEntropyLossConfig::new().weight(zeros([2, 2])).build(),
        "CrossEntropyLoss: expected a weight [classes], got shape [2, 2]",
    );
}

#[test]
fn optimizers_refuse_numbers_out_of_range() {
    let model = Linear::new(1, 1).unwrap();
    assert_error(
        SGDConfig::new(-1.0).build(&model),
        "SGD: lr = -1: must be at least 0",
    );
    assert_error(
        SGDConfig::new(1.0).momentum(-0.5).build(&model),
        "SGD: momentum = -0.5: must be at least 0",
    );
    assert_error(
        SGDConfig::new(1.0).nesterov(true).build(&model),
        "SGD: nesterov = true: needs a momentum above 0 and no dampening, not 0 and 0",
    );
    assert_error(
        AdamWConfig::new(1.0).betas((1.0, 0.9)).build(&model),
        "AdamW: betas.0 = 1: must be at least 0 and below 1",
    );
    assert_error(
        AdamWConfig::new(1.0).weight_decay(-1.0).build(&model),
        "AdamW: weight_decay = -1: must be at least 0",
    );
    assert!(AdamWConfig::new(f64::NAN).build(&model).is_err());
}

#[test]
fn layers_refuse_inputs_of_another_shape() {
    assert_error(
        Linear::new(3, 2).unwrap().call(zeros([2, 4])),
        "Linear: linear: expected an input whose last dimension is in_features = 3, got shape [2, 4]",
    );
    assert_error(
        Linear::new(3, 2).unwrap().call(zeros(())),
        "Linear: linear: expected an input whose last dimension is in_features = 3, got shape []",
    );
    let conv = Conv2d::new(3, 2, 3).unwrap();
    assert_error(
        conv.call(zeros([1, 4, 5, 5])),
        "Conv2d: conv2d: expected [batch, 3, height, width] or [3, height, width], got shape [1, 4, 5, 5]",
    );
    assert!(conv.call(zeros([3])).is_err());
    let small = conv.call(zeros([1, 3, 2, 5])).unwrap_err().to_string();
    assert!(
        small.starts_with("Conv2d: conv2d: ") && small.contains("[1, 3, 2, 5]"),
        "{small}"
    );
    let reflect = Conv2dConfig::new(1, 1, 3)
        .padding(4)
        .padding_mode(PaddingMode::Reflect);
    assert_error(
        reflect.build().unwrap().call(zeros([1, 1, 4, 4])),
        "Conv2d: pad: pad = [4, 4, 4, 4]: asks for 4 in dimension 3 of size 4, which has at most 3 to put there",
    );
    assert_error(
        BatchNorm2d::new(3).unwrap().call(zeros([2, 3, 4])),
        "BatchNorm2d: batch_norm: expected [batch, channels, height, width], got shape [2, 3, 4]",
    );
    assert_error(
        BatchNorm1d::new(3).unwrap().call(zeros([2, 4])),
        "BatchNorm1d: batch_norm: expected 3 channels in dimension 1, got shape [2, 4]",
    );
    let pool = MaxPool2d::new(3)
        .unwrap()
        .call(zeros([1, 1, 2, 2]))
        .unwrap_err();
    assert!(pool.to_string().contains("[1, 1, 2, 2]"), "{pool}");
    let flatten = Flatten::range(2, 1).call(zeros([1, 2, 3])).unwrap_err();
    assert_eq!(flatten.module_kind(), Some("Flatten"));
}

#[test]
fn layers_refuse_inputs_of_another_dtype() {
    let x = Tensor::zeros([1, 3], DType::F64).unwrap();
    let error = Linear::new(3, 2).unwrap().call(x).unwrap_err();
    let dtypes = (DType::F64, DType::F32);
    assert!(
        matches!(*error.kind(), ErrorKind::DType(DTypeError::Mismatch { lhs, rhs, .. }) if (lhs, rhs) == dtypes),
        "{error}"
    );
    let x = Tensor::zeros([1, 3], DType::I64).unwrap();
    let dropout = Dropout::new(0.5).unwrap().call(x).unwrap_err();
    assert!(
        matches!(
            dropout.kind(),
            ErrorKind::DType(DTypeError::Unsupported { .. })
        ),
        "{dropout}"
    );
}

#[test]
fn cross_entropy_refuses_targets_that_do_not_fit() {
    let loss =
        |target: &Tensor| cross_entropy(&zeros([2, 3]), target, CrossEntropyOptions::default());
    assert_error(
        loss(&Tensor::from([0_i64, 3])),
        "cross_entropy: target = 3: must be a class below 3",
    );
    assert_error(
        loss(&Tensor::from([0_i64, -1])),
        "cross_entropy: target = -1: must be a class below 3",
    );
    assert!(loss(&Tensor::from([0_i64])).is_err());
    assert!(loss(&Tensor::from([[0_i64], [1]])).is_err());
    assert!(loss(&zeros([2])).is_err());
    let weight = zeros([2]);
    let options = CrossEntropyOptions::new().weight(&weight);
    assert_error(
        cross_entropy(&zeros([2, 3]), &Tensor::from([0_i64, 1]), options),
        "cross_entropy: expected a weight [3], got shape [2]",
    );
}

/// A deeply nested convolution.
#[derive(Module)]
struct Block {
    conv1: Conv2d,
    conv2: Conv2d,
}

impl Forward for Block {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.conv2.call(self.conv1.call(x)?)
    }
}

/// The second convolution expects a different number of channels than the first one produces.
fn block() -> Block {
    Block {
        conv1: Conv2d::new(1, 2, 1).unwrap(),
        conv2: Conv2d::new(3, 1, 1).unwrap(),
    }
}

#[derive(Module, Forward)]
enum Choice {
    Block(Box<Block>),
    #[expect(dead_code, reason = "a choice has two sides")]
    Identity(Identity),
}

#[derive(Module)]
struct Net {
    layer1: Block,
    sequence: Sequential,
    list: Vec<Block>,
    map: IndexMap<String, Block>,
    tuple: (ReLU, Block),
    boxed: Box<dyn Layer>,
    choice: Choice,
    shared: Arc<Block>,
}

/// Which member to call.
impl Forward<(Tensor, usize)> for Net {
    type Output = Tensor;

    fn forward(&self, (x, member): (Tensor, usize)) -> Result<Tensor> {
        match member {
            0 => self.layer1.call(x),
            1 => self.sequence.call(x),
            2 => self.list[1].call(x),
            3 => self.map["key"].call(x),
            4 => self.tuple.1.call(x),
            5 => self.boxed.call(x),
            6 => self.choice.call(x),
            7 => self.shared.call(x),
            _ => block().call(x),
        }
    }
}

fn net() -> Net {
    Net {
        layer1: block(),
        sequence: Sequential::new()
            .push(ReLU::new())
            .push_named("inner", Sequential::new().push(block()))
            .unwrap(),
        list: vec![block(), block()],
        map: IndexMap::from([("key".to_owned(), block())]),
        tuple: (ReLU::new(), block()),
        boxed: Box::new(Sequential::new().push(Arc::new(block()))),
        choice: Choice::Block(Box::new(block())),
        shared: Arc::new(block()),
    }
}

#[test]
fn an_error_carries_the_path_of_the_module_in_which_it_happened() {
    const PATHS: [&str; 8] = [
        "layer1.conv2",
        "sequence.inner.0.conv2",
        "list.1.conv2",
        "map.key.conv2",
        "tuple.1.conv2",
        "boxed.0.conv2",
        "choice.conv2",
        "shared.conv2",
    ];
    let net = net();
    for (member, path) in PATHS.into_iter().enumerate() {
        let error = net.call((zeros([1, 1, 4, 4]), member)).unwrap_err();
        assert_eq!(error.module_path(), Some(path));
        assert_eq!(error.module_kind(), Some("Conv2d"));
        let text = error.to_string();
        let rest = "conv2d: expected [batch, 3, height, width] or [3, height, width], got shape [1, 2, 4, 4]";
        assert_eq!(text, format!("{path} (Conv2d): {rest}"));
        assert!(net.get_submodule(path).is_ok());
    }
}

#[test]
fn an_unregistered_module_is_said_to_be_so() {
    let error = net().call((zeros([1, 1, 4, 4]), 8)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("conv2 (Conv2d, not registered in its caller): "),
        "{text}"
    );
}

#[test]
fn an_error_outside_of_every_call_has_no_path() {
    let error = zeros([2]).add(zeros([3])).unwrap_err();
    assert_eq!(error.module_path(), None);
    assert_eq!(error.module_kind(), None);
}

#[test]
fn a_path_that_names_nothing_suggests_the_nearest_name() {
    let net = net();
    assert_error(
        net.get_submodule("layer1.conv3").map(drop),
        "`conv3` in path `layer1.conv3` is no member of Block; did you mean `conv1`?",
    );
    assert_error(
        net.get_parameter("layer1.conv1.wieght").map(drop),
        "`wieght` in path `layer1.conv1.wieght` is no member of Conv2d; did you mean `weight`?",
    );
    assert_error(
        net.get_buffer("layer1.conv1.weight").map(drop),
        "`weight` in path `layer1.conv1.weight` is a parameter of Conv2d, not a buffer",
    );
    assert_error(
        net.get_submodule("list.7").map(drop),
        "`7` in path `list.7` is no member of ModuleList",
    );
}

#[test]
fn sequential_refuses_names_that_are_no_keys() {
    let push = |name: &str| {
        Sequential::new()
            .push(ReLU::new())
            .push_named(name, ReLU::new())
    };
    assert_error(
        push(""),
        "push_named: key `` must not be empty or contain `.`",
    );
    assert_error(
        push("a.b"),
        "push_named: key `a.b` must not be empty or contain `.`",
    );
    assert!(matches!(
        push("0").map(drop).unwrap_err().downcast_ref(),
        Some(ModuleError::DuplicateKey { .. })
    ));
    assert_error(
        Sequential::new().layer(0).map(drop),
        "layer: index = 0: there are 0 layer(s)",
    );
}
