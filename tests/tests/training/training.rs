//! Training as a whole: the same seed gives the same model, and a step that fails is not half applied.
#![allow(clippy::unwrap_used)]

use module_nn::functional::{self, LinearCrossEntropyArguments, LinearCrossEntropyOptions};
use module_nn::prelude::*;
use module_tests::digits::Digits;

/// Five steps of a small network on synthetic images, including dropout.
fn trained(seed: u64) -> StateDict {
    fork_rng(seed, || {
        let model = Digits::new(4, 0.3).unwrap();
        let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1);
        let criterion = criterion.build().unwrap();
        let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&model).unwrap();
        for _ in 0..5 {
            let images = Tensor::randn([6, 1, 8, 8], DType::F32).unwrap();
            let labels = Tensor::from([0_i64, 1, 2, 3, 4, 5]);
            let loss = criterion.call((model.call(images).unwrap(), labels));
            model.zero_grad();
            loss.unwrap().backward().unwrap();
            optimizer.step(&model).unwrap();
        }
        model.state_dict().unwrap()
    })
}

fn bytes(state: &StateDict) -> Vec<(String, Vec<u8>)> {
    let bytes = |tensor: &Tensor| tensor.to_host().unwrap().to_le_bytes();
    let pairs = state.iter();
    pairs.map(|(key, t)| (key.to_owned(), bytes(t))).collect()
}

#[test]
fn the_same_seed_gives_the_same_model() {
    let first = bytes(&trained(3));
    assert_eq!(first, bytes(&trained(3)));
    assert_ne!(first, bytes(&trained(4)));
}

#[test]
fn a_state_that_a_cast_left_behind_is_an_error_before_anything_moves() {
    fn step(model: &Linear, optimizer: &mut dyn Optimizer) -> Result<()> {
        let dtype = model.weight().tensor().dtype();
        let x = Tensor::ones([3, 2], dtype)?;
        model.zero_grad();
        model.call(x)?.sum(..)?.backward()?;
        optimizer.step(model)
    }

    let model = Linear::new(2, 2).unwrap();
    let config = SGDConfig::new(0.1).momentum(0.9);
    let optimizers: [Box<dyn Optimizer>; 2] = [
        Box::new(config.build(&model).unwrap()),
        Box::new(AdamW::new(&model, 0.1).unwrap()),
    ];
    for mut optimizer in optimizers {
        model.float().unwrap();
        step(&model, &mut *optimizer).unwrap();
        model.double().unwrap();
        let before = bytes(&model.state_dict().unwrap());
        let error = step(&model, &mut *optimizer).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "step: parameter = weight: the state is float32 of shape [2, 2] on cpu"
            ),
            "{error}"
        );
        assert_eq!(bytes(&model.state_dict().unwrap()), before);
        // The state is intact: back in its dtype, training continues.
        model.float().unwrap();
        step(&model, &mut *optimizer).unwrap();
    }
}

#[test]
fn a_weight_that_is_paused_before_the_pass_gets_no_gradient() {
    let head = LinearConfig::new(3, 7).bias(false).build().unwrap();
    let options = LinearCrossEntropyOptions::new().batch_chunk_size(1);
    let arguments = LinearCrossEntropyArguments {
        options: Some(&options),
        ..Default::default()
    };
    let x = Tensor::ones([2, 3], ()).unwrap();
    let target = Tensor::from([0_i64, 6]);
    let loss =
        functional::linear_cross_entropy(&x, &head.weight().tensor(), &target, arguments).unwrap();
    // Nothing is left that the pass could compute.
    head.set_requires_grad(false);
    loss.backward().unwrap();
    assert!(head.weight().grad().is_none());
}
