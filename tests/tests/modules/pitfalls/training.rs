//! Optimizers, gradients and losses.

use module_nn::functional::{
    CrossEntropyOptions, Reduction, cross_entropy, l1_loss, mse_loss, soft_margin_loss,
};
use module_nn::prelude::*;

use super::{backward, changed, images, net, step};

#[test]
fn pitfall_28_a_frozen_parameter_stays_to_the_last_bit() {
    let model = net();
    let config = AdamWConfig::new(0.1).weight_decay(0.5);
    let mut optimizer = config.build(&model).unwrap();
    // Moments and gradients are there when the layer is frozen.
    (0..3).for_each(|_| step(&model, &mut optimizer));
    model.hidden.freeze(Select::all()).unwrap();
    assert!(model.hidden.weight().grad().is_none());
    let before = model.state_dict().unwrap();
    for _ in 0..100 {
        step(&model, &mut optimizer);
    }
    let moved = changed(&before, &model.state_dict().unwrap());
    assert!(
        !moved.iter().any(|key| key.starts_with("hidden.")),
        "{moved:?}"
    );
    assert!(moved.contains(&"head.weight".to_owned()));

    // Its old momentum is gone when it is trained again.
    model.hidden.unfreeze(Select::all()).unwrap();
    let frozen = model.hidden.weight().detach();
    model.zero_grad();
    backward(&model, images(1));
    model.hidden.zero_grad();
    optimizer.step(&model).unwrap();
    let now = model.hidden.weight().detach();
    assert_eq!(
        now.to_vec::<f32>().unwrap(),
        frozen.to_vec::<f32>().unwrap()
    );
}

#[test]
fn pitfall_28_a_gradient_from_before_freezing_is_dropped() {
    let model = net();
    let mut optimizer = SGD::new(&model, 0.1).unwrap();
    backward(&model, images(1));
    model.head.freeze(Select::all()).unwrap();
    assert!(model.head.weight().grad().is_none());
    let before = model.state_dict().unwrap();
    optimizer.step(&model).unwrap();
    let moved = changed(&before, &model.state_dict().unwrap());
    assert!(
        !moved.iter().any(|key| key.starts_with("head.")),
        "{moved:?}"
    );
    assert!(moved.contains(&"hidden.weight".to_owned()));
}

#[test]
fn pitfall_30_a_layer_replaced_after_the_optimizer_was_built_is_named() {
    let mut model = net();
    let mut optimizer = SGD::new(&model, 0.1).unwrap();
    model.head = Linear::new(4, 2).unwrap();
    backward(&model, images(1));
    let before = model.state_dict().unwrap();
    let error = optimizer.step(&model).unwrap_err();
    let Some(OptimizerError::Parameters { paths }) = error.downcast_ref() else {
        panic!("{error}");
    };
    assert_eq!(paths, &["head.weight", "head.bias"]);
    assert!(changed(&before, &model.state_dict().unwrap()).is_empty());
}

#[test]
fn pitfall_30_an_optimizer_of_a_part_is_an_error() {
    let model = net();
    let mut optimizer = SGD::new(&model.head, 0.1).unwrap();
    backward(&model, images(1));
    let error = optimizer.step(&model).unwrap_err();
    assert!(error.to_string().contains("`hidden.weight`"), "{error}");
    optimizer.step(&model.head).unwrap();
}

#[test]
fn pitfall_34_an_operation_without_gradient_is_an_error_in_backward() {
    let x = Tensor::from([1.0_f32, 2.0]).with_grad().unwrap();
    let y = x.detach().mul(2.0).unwrap();
    let y = y.record([&x], |_| module_nn::NoGradient("quantize"));
    let error = y.sum(..).unwrap().backward().unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Autograd(AutogradError::NoGradient { op: "quantize" })
        ),
        "{error}"
    );
    assert!(x.grad().is_none());
}

#[test]
fn pitfall_37_a_buffer_keeps_no_graph() {
    let buffer = Buffer::new(Tensor::from([1.0_f32]).with_grad().unwrap());
    assert!(!buffer.tensor().requires_grad());
    let tracked = Tensor::from([2.0_f32])
        .with_grad()
        .unwrap()
        .mul(2.0)
        .unwrap();
    buffer.set(tracked).unwrap();
    assert!(!buffer.tensor().requires_grad());

    // Running statistics of an input that is trained do not link one step to the next.
    let (norm, x) = (BatchNorm1d::new(3).unwrap(), images(0).with_grad().unwrap());
    for _ in 0..3 {
        backward(&norm, x.clone());
        assert!(
            norm.buffers()
                .all(|buffer| !buffer.tensor().requires_grad())
        );
    }
}

#[test]
fn pitfall_38_a_loss_does_not_broadcast_its_target() {
    let logits = Tensor::zeros([8, 1], DType::F32).unwrap();
    for dtype in [DType::F32, DType::I64] {
        for shape in [vec![1], vec![1, 8], vec![8, 8], vec![]] {
            let target = Tensor::zeros(shape, dtype).unwrap();
            let result = cross_entropy(&logits, &target, CrossEntropyOptions::default());
            let error = result.unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::Shape(ShapeError::Mismatch { .. })),
                "{error}"
            );
        }
    }
    let floats = Tensor::zeros(8, DType::F32).unwrap();
    assert!(cross_entropy(&logits, &floats, CrossEntropyOptions::default()).is_err());

    // The losses for which PyTorch at most warns.
    let elementwise = [mse_loss, l1_loss, soft_margin_loss];
    for loss in elementwise {
        let error = loss(&logits, &floats, Reduction::Mean).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("[8, 1]") && text.contains("[8]"), "{text}");
    }
}

#[test]
fn pitfall_42_a_step_without_any_gradient_is_an_error() {
    let model = net();
    let before = model.state_dict().unwrap();
    let mut optimizers: [Box<dyn Optimizer>; 2] = [
        Box::new(SGD::new(&model, 0.1).unwrap()),
        Box::new(AdamW::new(&model, 0.1).unwrap()),
    ];
    for optimizer in &mut optimizers {
        let error = optimizer.step(&model).unwrap_err();
        assert!(
            matches!(
                error.downcast_ref(),
                Some(OptimizerError::NoGradients { .. })
            ),
            "{error}"
        );
    }
    assert!(changed(&before, &model.state_dict().unwrap()).is_empty());
}

#[test]
fn pitfall_45_a_second_backward_names_the_operation() {
    let x = Tensor::from([0.5_f32]).with_grad().unwrap();
    let y = x.tanh().unwrap().sum(..).unwrap();
    y.backward().unwrap();
    let grad = x.grad().unwrap().item::<f32>().unwrap();
    let error = y.backward().unwrap_err();
    let ErrorKind::Autograd(AutogradError::GraphFreed { op }) = error.kind() else {
        panic!("{error}");
    };
    assert!(error.to_string().contains(op), "{error}");
    assert_eq!(x.grad().unwrap().item::<f32>().unwrap(), grad);
}

#[test]
fn pitfall_49_batch_norm_of_one_value_per_channel_is_an_error_in_training() {
    let norm = BatchNorm1d::new(3).unwrap();
    let before = norm.state_dict().unwrap();
    let one = || Tensor::from([[1.0_f32, 2.0, 3.0]]);
    let error = norm.call(one()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "BatchNorm1d: batch_norm: expected more than one value per channel in training, got shape [1, 3]"
    );
    assert!(changed(&before, &norm.state_dict().unwrap()).is_empty());
    norm.eval();
    assert!(norm.call(one()).is_ok());
    let norm = BatchNorm2d::new(1).unwrap();
    let x = Tensor::zeros([1, 1, 1, 1], DType::F32).unwrap();
    assert!(norm.call(x).is_err());
}

#[test]
fn pitfall_58_targets_out_of_range_are_an_error_and_ignored_ones_give_the_nan_of_pytorch() {
    let logits = Tensor::from([[1.0_f32, 2.0], [0.5, -1.0]]);
    let loss = |target: [i64; 2], reduction| {
        let options = CrossEntropyOptions::default().reduction(reduction);
        cross_entropy(&logits, &Tensor::from(target), options)
    };
    for target in [[0, 2], [-1, 0], [7, -3]] {
        let error = loss(target, Reduction::Mean).unwrap_err().to_string();
        assert!(error.starts_with("cross_entropy"), "{error}");
    }
    // The mean over no targets, as in PyTorch; their sum is zero.
    let mean = loss([-100, -100], Reduction::Mean).unwrap();
    assert!(mean.item::<f32>().unwrap().is_nan());
    let sum = loss([-100, -100], Reduction::Sum).unwrap();
    assert_eq!(sum.item::<f32>().unwrap(), 0.0);
}
