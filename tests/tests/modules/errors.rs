//! Wrong arguments and inputs give typed errors that quote the values and contain the module's path.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod paths;

use std::sync::Arc;

use module_nn::functional::{CrossEntropyOptions, cross_entropy, ctc_loss};
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
fn conv2d_refuses_sizes_that_do_not_fit_together() {
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
    assert_error(
        loss(&Tensor::from([0_i64])),
        "cross_entropy: [2, 3] and [1] do not fit: a target holds integer classes of shape [2] or \
         floating-point probabilities of shape [2, 3]; its dtype is int64",
    );
    assert!(loss(&Tensor::from([[0_i64], [1]])).is_err());
    assert!(loss(&zeros([2])).is_err());
    let weight = zeros([2]);
    let options = CrossEntropyOptions::new().weight(&weight);
    assert_error(
        cross_entropy(&zeros([2, 3]), &Tensor::from([0_i64, 1]), options),
        "cross_entropy: expected a weight [3], got shape [2]",
    );
}

#[test]
fn ctc_loss_refuses_log_probabilities_with_the_batch_first() {
    let targets = Tensor::from([[1_i64], [2]]);
    let loss = |shape: [usize; 3], times: &[usize]| {
        ctc_loss(
            &zeros(shape),
            &targets,
            times,
            [1, 1],
            &CTCLossConfig::new(),
        )
    };
    assert_error(
        loss([2, 5, 3], &[5, 4]),
        "ctc_loss: expected log-probabilities [time, batch, labels] of 2 sequence(s), as many as input_lengths \
         (`transpose(0, 1)` turns [batch, time, labels] into this), got shape [2, 5, 3]",
    );
    assert_error(
        loss([5, 2, 3], &[5, 4, 3]),
        "ctc_loss: expected input_lengths of shape [2], got shape [3]",
    );
    assert_error(
        loss([5, 2, 3], &[5, 6]),
        "ctc_loss: input_lengths = 6: must be between 0 and the 5 time step(s) of the input",
    );
}

#[test]
fn sequential_refuses_invalid_keys() {
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
