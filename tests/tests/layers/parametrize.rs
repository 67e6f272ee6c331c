//! Computed weights: removing, redrawing, training.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::parametrize::{SpectralNormConfig, spectral_norm, weight_norm};
use module_nn::prelude::*;
use module_tests::golden::{Tolerance, assert_close};

fn linear() -> Linear {
    fork_rng(0, || Linear::new(5, 3)).unwrap()
}

fn image() -> Tensor {
    fork_rng(1, || Tensor::randn([2, 5], DType::F32)).unwrap()
}

#[test]
fn a_removed_parametrization_leaves_the_computed_weight() {
    let layer = weight_norm(linear(), Some(0)).unwrap();
    let g = layer
        .get_parameter("parametrizations.weight.original0")
        .unwrap();
    g.set(Tensor::from([[2.0_f32], [3.0], [0.5]])).unwrap();
    let (weight, y) = (layer.weight().unwrap(), layer.call(image()).unwrap());
    let id = layer
        .get_parameter("parametrizations.weight.original1")
        .unwrap()
        .id();
    let plain = layer.remove().unwrap();
    assert_close(
        &plain.weight().detach(),
        &weight.detach(),
        Tolerance::EXACT,
        "weight",
    );
    assert_close(
        &plain.call(image()).unwrap(),
        &y,
        Tolerance::EXACT,
        "output",
    );
    assert_eq!(plain.weight().id(), id);
    assert_eq!(
        plain.state_dict().unwrap().keys().collect::<Vec<_>>(),
        ["weight", "bias"]
    );

    let layer = spectral_norm(linear(), &SpectralNormConfig::new()).unwrap();
    layer.eval();
    let y = layer.call(image()).unwrap();
    let plain = layer.remove().unwrap();
    assert_close(
        &plain.call(image()).unwrap(),
        &y,
        Tolerance::EXACT,
        "output",
    );
}

#[test]
fn length_and_direction_are_drawn_anew_together() {
    let layer = weight_norm(linear(), Some(0)).unwrap();
    fork_rng(7, || layer.reset_parameters()).unwrap();
    let v = layer
        .get_parameter("parametrizations.weight.original1")
        .unwrap()
        .detach();
    assert_close(
        &layer.weight().unwrap().detach(),
        &v,
        Tolerance::ELEMENTWISE,
        "weight",
    );
    let first = layer.state_dict().unwrap();
    fork_rng(7, || layer.reset_parameters()).unwrap();
    for (key, value) in layer.state_dict().unwrap().iter() {
        assert_close(value, first.get(key).unwrap(), Tolerance::EXACT, key);
    }
}

#[test]
fn the_spectral_norm_comes_near_to_one_and_moves_in_training_only() {
    let layer = spectral_norm(linear(), &SpectralNormConfig::new()).unwrap();
    let u = || {
        layer
            .get_buffer("parametrizations.weight.0._u")
            .unwrap()
            .tensor()
            .to_vec::<f32>()
            .unwrap()
    };
    layer.eval();
    let before = u();
    layer.call(image()).unwrap();
    assert_eq!(u(), before);
    layer.train();
    let other = fork_rng(5, || Tensor::randn([3, 5], DType::F32)).unwrap();
    layer.originals().next().unwrap().set(other).unwrap();
    for _ in 0..50 {
        layer.call(image()).unwrap();
    }
    assert_ne!(u(), before);
    // The greatest eigenvalue of W Wᵀ, by many steps from all directions.
    let weight = layer.weight().unwrap().detach();
    let mut square = weight.matmul(&weight.t().unwrap()).unwrap();
    for _ in 0..6 {
        square = square.matmul(&square).unwrap();
    }
    let trace = square
        .diagonal(0, 0, 1)
        .unwrap()
        .sum(..)
        .unwrap()
        .item::<f32>()
        .unwrap();
    assert!((trace.powf(1.0 / 64.0) - 1.0).abs() < 0.02, "{trace}");
}

#[test]
fn a_computed_weight_is_trained_through_its_originals() {
    let layer = weight_norm(linear(), Some(0)).unwrap();
    let mut optimizer = SGD::new(&layer, 0.1).unwrap();
    let loss = || {
        layer
            .call(image())
            .unwrap()
            .square()
            .unwrap()
            .sum(..)
            .unwrap()
    };
    let first = loss().item::<f32>().unwrap();
    for _ in 0..20 {
        layer.zero_grad();
        loss().backward().unwrap();
        optimizer.step(&layer).unwrap();
    }
    assert!(loss().item::<f32>().unwrap() < 0.2 * first);
}
