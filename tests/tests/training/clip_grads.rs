//! Gradient clipping compared with PyTorch, and invalid arguments.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::optim::{ClipGradNormConfig, OptimizerError, get_total_norm};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

fn parameters(gradients: &[Tensor]) -> Vec<Parameter> {
    let parameter = |grad: &Tensor| {
        let parameter = Parameter::new(grad.zeros_like().unwrap()).unwrap();
        parameter.set_grad(grad.clone()).unwrap();
        parameter
    };
    gradients.iter().map(parameter).collect()
}

fn number(value: &Value) -> f64 {
    match value.as_str() {
        Some(_) => f64::INFINITY,
        None => value.as_f64().expect("a number"),
    }
}

#[test]
fn gradients_are_clipped_as_by_pytorch() {
    let (case, tensors) = golden::load("clip_grads.safetensors");
    let cases = case["cases"].as_array().expect("cases");
    assert!(cases.len() >= 21);
    for (i, case) in cases.iter().enumerate() {
        let dtype = match case["dtype"].as_str().expect("a dtype") {
            "f64" => DType::F64,
            "bf16" => DType::BF16,
            _ => DType::F32,
        };
        let before = (0..3).map(|n| tensors.get(&format!("before.{n}")).expect("recorded"));
        let before: Vec<Tensor> = before.map(|x| x.to_dtype(dtype).unwrap()).collect();
        let model = parameters(&before);
        let kwargs = &case["kwargs"];
        if case["kind"] == "value" {
            clip_grad_value(&model, number(&kwargs["clip_value"])).unwrap();
        } else {
            let mut config = ClipGradNormConfig::new(number(&kwargs["max_norm"]));
            if !kwargs["norm_type"].is_null() {
                config = config.norm_type(number(&kwargs["norm_type"]));
            }
            let total = config.clip(&model).unwrap();
            let expected = number(&case["total"]);
            let close = match dtype {
                DType::F64 => 1e-12,
                DType::F32 => 1e-6,
                _ => 1e-2,
            };
            assert!((total / expected - 1.0).abs() < close, "{case}: {total}");
        }
        for (n, parameter) in model.iter().enumerate() {
            let after = tensors.get(&format!("{i}/after.{n}")).expect("recorded");
            compare(&parameter.grad().unwrap(), after, Tolerance::CONTRACTION)
                .unwrap_or_else(|text| panic!("{case}: {n}: {text}"));
        }
    }
}

#[test]
fn clipping_without_a_gradient_is_an_error() {
    let model = Linear::new(2, 1).unwrap();
    let error = clip_grad_norm(&model, 1.0).unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(OptimizerError::NoGradients {
            op: "clip_grad_norm"
        })
    ));
    assert!(clip_grad_value(&model, 1.0).is_err());
    assert_eq!(get_total_norm(&model, 2.0).unwrap(), 0.0);
}

#[test]
fn pitfall_59_a_norm_that_is_not_finite_is_an_error_if_asked_for() {
    let gradients = [Tensor::from([1.0_f32, 2.0]), Tensor::from([f32::NAN, 1.0])];
    let model = parameters(&gradients);
    let config = ClipGradNormConfig::new(1.0).error_if_nonfinite(true);
    let error = config.clip(&model).unwrap_err();
    assert_eq!(
        error.to_string(),
        "clip_grad_norm: the norm of the gradients is NaN, first that of `1`; skip the step, or lower the \
         learning rate or the loss scale"
    );
    // Nothing was changed.
    assert_eq!(
        model[0].grad().unwrap().to_vec::<f32>().unwrap(),
        [1.0, 2.0]
    );
    // Without the option the norm reaches every gradient.
    assert!(clip_grad_norm(&model, 1.0).unwrap().is_nan());
    assert!(model[0].grad().unwrap().to_vec::<f32>().unwrap()[0].is_nan());
}

#[test]
fn a_selection_is_clipped_by_itself() {
    let model = parameters(&[Tensor::from([3.0_f32, 4.0]), Tensor::from([6.0_f32, 8.0])]);
    let config = ClipGradNormConfig::new(1.0);
    assert_eq!(config.clip_selected(&model, "1").unwrap(), 10.0);
    assert_eq!(
        model[0].grad().unwrap().to_vec::<f32>().unwrap(),
        [3.0, 4.0]
    );
    let clipped = model[1].grad().unwrap().to_vec::<f32>().unwrap();
    assert!((clipped[0] - 0.6).abs() < 1e-6);
    let error = config.clip_selected(&model, "weight").unwrap_err();
    assert!(error.to_string().contains("weight"), "{error}");
}

#[test]
fn a_tied_parameter_counts_once() {
    let first = Parameter::new(Tensor::from([0.0_f32, 0.0])).unwrap();
    first.set_grad(Tensor::from([3.0_f32, 4.0])).unwrap();
    let model = vec![first.share(), first];
    assert_eq!(clip_grad_norm(&model, 10.0).unwrap(), 5.0);
}

#[test]
fn a_limit_below_zero_is_refused() {
    let model = parameters(&[Tensor::from([3.0_f32, 4.0])]);
    assert_eq!(
        clip_grad_norm(&model, -1.0).unwrap_err().to_string(),
        "clip_grad_norm: max_norm = -1: must be at least 0"
    );
    assert!(clip_grad_value(&model, f64::NAN).is_err());
}

#[test]
fn gradients_are_clipped_in_place_and_held_ones_stay() {
    let model = LinearConfig::new(2, 1).bias(false).build().unwrap();
    let backward = || {
        model.zero_grad();
        let x = Tensor::from([[3.0_f32, 4.0]]);
        model.call(x).unwrap().sum(..).unwrap().backward().unwrap();
    };
    backward();
    let held = model.weight().grad().unwrap();
    clip_grad_norm(&model, 1.0).unwrap();
    assert_eq!(held.to_vec::<f32>().unwrap(), [3.0, 4.0]);
    clip_grad_value(&model, 0.7).unwrap();
    let clipped = model.weight().grad().unwrap().to_vec::<f32>().unwrap();
    assert!(
        (clipped[0] - 0.6).abs() < 1e-6 && clipped[1] == 0.7,
        "{clipped:?}"
    );
}
