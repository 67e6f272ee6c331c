//! Pausing keeps the gradient and the optimizer state; freezing drops both.

use module_nn::prelude::*;

use super::{network, train};

fn optimizers(model: &dyn Module) -> [Box<dyn Optimizer>; 2] {
    let sgd = SGDConfig::new(0.1).momentum(0.9).build(model);
    [
        Box::new(sgd.unwrap()),
        Box::new(AdamW::new(model, 0.1).unwrap()),
    ]
}

fn values(parameter: &Parameter) -> Vec<f32> {
    parameter.detach().to_vec().unwrap()
}

fn keys(optimizer: &dyn Optimizer, prefix: &str) -> usize {
    let state = optimizer.state().unwrap();
    let keys = state.tensors().keys();
    keys.filter(|key| key.starts_with(prefix)).count()
}

#[test]
fn a_gradient_stays_through_a_pause_and_none_is_added() {
    let weight = Parameter::new(Tensor::from([1.0_f32, 2.0])).unwrap();
    let loss = || weight.tensor().mul(3.0).unwrap().sum(..).unwrap();
    loss().backward().unwrap();
    let recorded_before = loss();
    weight.set_requires_grad(false);
    assert!(!weight.tensor().requires_grad());
    recorded_before.backward().unwrap();
    let grad = || weight.grad().unwrap().to_vec::<f32>().unwrap();
    assert_eq!(grad(), [3.0, 3.0]);
    weight.set_requires_grad(true);
    assert_eq!(grad(), [3.0, 3.0]);
    loss().backward().unwrap();
    assert_eq!(grad(), [6.0, 6.0]);
    assert_eq!(weight.freezes(), 0);
}

#[test]
fn a_paused_parameter_is_not_moved_and_its_state_is_saved_and_goes_on() {
    for kind in 0..2 {
        let run = |pause: &dyn Fn(&Sequential)| {
            let model = fork_rng(3, || network(3, 2));
            let mut optimizer = optimizers(&model).into_iter().nth(kind).unwrap();
            train(&model, &mut *optimizer, 1..4);
            let state = keys(&*optimizer, "0.weight.");
            assert!(state > 0);
            pause(&model);
            let weight = model.get_parameter("0.weight").unwrap();
            if !weight.requires_grad() {
                // It has the gradient of the last step, with which PyTorch would update it.
                assert!(weight.grad().is_some());
                let before = values(weight);
                optimizer.step(&model).unwrap();
                assert_eq!(values(weight), before);
                assert_eq!(keys(&*optimizer, "0.weight."), state);
            }
            model.set_requires_grad(true);
            // The other parameters have made a step that this one has not.
            values(weight)
                .into_iter()
                .chain({
                    optimizer.step(&model).unwrap();
                    values(weight)
                })
                .collect::<Vec<f32>>()
        };
        let straight = run(&|_| {});
        let paused = run(&|model| {
            let weight = model.get_parameter("0.weight").unwrap();
            weight.set_requires_grad(false);
        });
        let frozen = run(&|model| {
            let weight = model.get_parameter("0.weight").unwrap();
            let grad = weight.grad().unwrap();
            weight.freeze();
            weight.unfreeze();
            weight.set_grad(grad).unwrap();
        });
        // Resuming with the same gradient and state gives the same bits; without the state it does not.
        assert_eq!(paused, straight);
        assert_ne!(frozen, straight);
    }
}

#[test]
fn what_is_frozen_has_no_state_even_where_one_is_loaded() {
    for kind in 0..2 {
        let model = network(3, 2);
        let mut optimizer = optimizers(&model).into_iter().nth(kind).unwrap();
        train(&model, &mut *optimizer, 1..4);
        let saved = optimizer.state().unwrap();
        let weight = model.get_parameter("0.weight").unwrap();
        weight.freeze();
        assert!(weight.is_frozen() && weight.grad().is_none());
        assert_eq!(keys(&*optimizer, "0.weight."), 0);
        assert!(keys(&*optimizer, "2.weight.") > 0);
        optimizer.load_state(&saved).unwrap();
        assert_eq!(keys(&*optimizer, "0.weight."), 0);
        // Pausing a frozen parameter changes nothing, and resuming allows it to be trained.
        weight.set_requires_grad(false);
        assert!(weight.is_frozen() && weight.freezes() == 1);
        weight.set_requires_grad(true);
        assert!(!weight.is_frozen() && weight.requires_grad());
    }
}

#[test]
fn a_paused_parameter_that_is_frozen_then_loses_its_state_and_gradient() {
    let model = network(3, 2);
    let [_, mut optimizer] = optimizers(&model);
    train(&model, &mut *optimizer, 1..4);
    model.set_requires_grad(false);
    assert!(model.parameters().all(|p| p.grad().is_some()));
    model.freeze("0").unwrap();
    model.set_requires_grad(true);
    assert_eq!(keys(&*optimizer, "0."), 0);
    assert_eq!(keys(&*optimizer, "2."), 6);
    let grads = model.named_parameters().filter(|(_, p)| p.grad().is_some());
    assert_eq!(
        grads.map(|(path, _)| path).collect::<Vec<_>>(),
        ["2.weight", "2.bias"]
    );
}
