//! Initializers for parameters, by layer type over a tree, and the recommended ones.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_core::Tolerance;
use module_nn::init::{self, Constant, Nonlinearity, Normal, Recommended, XavierUniform};
use module_nn::prelude::*;

fn numbers(parameter: &Parameter) -> Vec<f32> {
    parameter.detach().to_vec().unwrap()
}

#[test]
fn a_parameter_owns_the_initializer_it_was_given_last() {
    let layer = Linear::new(4, 3).unwrap();
    layer.weight().initialize(Constant(0.25)).unwrap();
    layer
        .weight()
        .set(Tensor::zeros([3, 4], DType::F32).unwrap())
        .unwrap();
    layer.reset_parameters().unwrap();
    assert_eq!(numbers(layer.weight()), [0.25; 12]);

    // A parameter created from a tensor can be redrawn from then on; a refusal changes nothing.
    let parameter = Parameter::new(Tensor::from([1.0_f32, 2.0])).unwrap();
    assert!(parameter.initialize(init::Eye).is_err());
    assert!(!parameter.can_reset());
    assert_eq!(numbers(&parameter), [1.0, 2.0]);
    parameter.initialize(Constant(3.0)).unwrap();
    parameter.reset(&module_nn::Generator::new(0)).unwrap();
    assert_eq!(numbers(&parameter), [3.0, 3.0]);
}

#[test]
fn initializers_reach_the_modules_of_one_type() {
    let net = Sequential::new()
        .push(Linear::new(2, 2).unwrap())
        .push(Conv2d::new(1, 1, 1).unwrap());
    let net = net.push(Sequential::new().push(Linear::new(2, 1).unwrap()));
    let mut paths = Vec::new();
    init::each(&net, |path, linear: &Linear| {
        paths.push(path.to_owned());
        linear.weight().initialize(Constant(1.0))
    })
    .unwrap();
    assert_eq!(paths, ["0", "2.0"]);
    let mut order = Vec::new();
    init::apply(&net, |path, module| {
        order.push(format!("{path}: {}", module.kind()));
        Ok(())
    })
    .unwrap();
    assert_eq!(
        order,
        [
            "0: Linear",
            "1: Conv2d",
            "2.0: Linear",
            "2: Sequential",
            ": Sequential"
        ]
    );
}

#[derive(Module)]
struct Own {
    scale: Parameter,
}

#[derive(Module)]
struct Net {
    conv: Conv2d,
    norm: BatchNorm2d,
    hidden: Linear,
    lstm: LSTM,
    attention: MultiheadAttention,
    words: Embedding,
    own: Own,
}

fn normal(shape: impl Into<Shape>) -> Parameter {
    Parameter::with_init(
        shape,
        Normal {
            mean: 3.0,
            std: 1.0,
        },
    )
    .unwrap()
}

fn net() -> Net {
    Net {
        conv: Conv2d::new(8, 64, 3).unwrap(),
        norm: BatchNorm2d::new(64).unwrap(),
        hidden: Linear::new(100, 200).unwrap(),
        lstm: LSTM::new(30, 16).unwrap(),
        attention: MultiheadAttention::new(32, 4).unwrap(),
        words: EmbeddingConfig::new(50, 40).padding_idx(1).build().unwrap(),
        own: Own { scale: normal(3) },
    }
}

/// The root mean square.
fn spread(parameter: &Parameter) -> f64 {
    let square = parameter
        .detach()
        .to_dtype(DType::F64)
        .unwrap()
        .square()
        .unwrap();
    square.mean(..).unwrap().item::<f64>().unwrap().sqrt()
}

#[test]
fn recommended_initializers_have_the_spread_of_their_rules() {
    let net = net();
    let report = fork_rng(0, || {
        Recommended::new(Nonlinearity::Relu)
            .forget_bias(1.0)
            .apply(&net)
    })
    .unwrap();
    assert_eq!(report.unknown, ["own.scale"]);
    assert!(report.loaded.is_empty());
    assert_eq!(report.set.len(), net.parameters().count() - 1);
    let at = |path| net.get_parameter(path).unwrap();
    let near = |parameter: &Parameter, expected: f64| {
        let got = spread(parameter);
        assert!(
            (got / expected - 1.0).abs() < 0.06,
            "{got} instead of {expected}"
        );
    };
    near(net.conv.weight(), (2.0 / (64.0 * 9.0_f64)).sqrt());
    near(net.hidden.weight(), (2.0 / 100.0_f64).sqrt());
    near(at("attention.in_proj_weight"), (2.0 / 64.0_f64).sqrt());
    near(at("attention.out_proj.weight"), (2.0 / 64.0_f64).sqrt());
    near(at("lstm.weight_ih_l0"), (2.0 / 46.0_f64).sqrt());
    near(at("words.weight"), (49.0 / 50.0_f64).sqrt());
    assert!(
        numbers(at("words.weight"))[40..80]
            .iter()
            .all(|&x| x == 0.0)
    );
    let gate = at("lstm.weight_hh_l0").detach().narrow(0, 16..32).unwrap();
    let products = gate.matmul(&gate.t().unwrap()).unwrap();
    let one = Tensor::eye(16, 16, DType::F32).unwrap();
    assert!(
        products
            .allclose(&one, Tolerance::new().rtol(0.0).atol(1e-5))
            .unwrap()
    );
    let bias = numbers(at("lstm.bias_ih_l0"));
    assert!((0..64).all(|i| bias[i] == if (16..32).contains(&i) { 1.0 } else { 0.0 }));
    for zero in [
        at("lstm.bias_hh_l0"),
        at("attention.in_proj_bias"),
        net.hidden.bias().get().unwrap(),
    ] {
        assert!(numbers(zero).iter().all(|&x| x == 0.0));
    }

    // Each parameter owns its value.
    let first = net.state_dict().unwrap();
    fork_rng(1, || net.reset_parameters()).unwrap();
    near(net.conv.weight(), (2.0 / (64.0 * 9.0_f64)).sqrt());
    assert!(
        !net.conv
            .weight()
            .detach()
            .equal(first.get("conv.weight").unwrap())
            .unwrap()
    );

    let report = Recommended::new(Nonlinearity::Tanh)
        .residual(["hidden"], 0.1)
        .apply(&net)
        .unwrap();
    assert!(!report.set.is_empty());
    near(
        net.hidden.weight(),
        0.1 * 5.0 / 3.0 * (2.0 / 300.0_f64).sqrt(),
    );
    near(
        net.conv.weight(),
        5.0 / 3.0 * (2.0 / (72.0 * 9.0_f64)).sqrt(),
    );
}

#[test]
fn loaded_weights_are_kept_unless_asked() {
    let (net, other) = (net(), net());
    let mut part = StateDict::new();
    for (key, value) in other
        .state_dict()
        .unwrap()
        .iter()
        .filter(|(key, _)| key.starts_with("hidden."))
    {
        part.insert(key, value.clone());
    }
    let report = net
        .load_state_dict_with(&part, LoadOptions::new().strict(false))
        .unwrap();
    assert_eq!(report.loaded, ["hidden.weight", "hidden.bias"]);
    assert!(net.hidden.weight().is_loaded() && !net.conv.weight().is_loaded());
    let before = numbers(net.hidden.weight());
    // Training a loaded weight does not make it fresh.
    net.hidden
        .weight()
        .set(net.hidden.weight().detach())
        .unwrap();
    let report = Recommended::new(Nonlinearity::Relu).apply(&net).unwrap();
    assert_eq!(report.loaded, ["hidden.weight", "hidden.bias"]);
    assert_eq!(numbers(net.hidden.weight()), before);
    let report = Recommended::new(Nonlinearity::Relu)
        .overwrite_loaded(true)
        .apply(&net)
        .unwrap();
    assert!(report.loaded.is_empty());
    assert_ne!(numbers(net.hidden.weight()), before);
    // After redrawing, it is fresh.
    assert!(!net.hidden.weight().is_loaded());
    let _ = net.load_state_dict(&other.state_dict().unwrap()).unwrap();
    assert!(net.parameters().all(Parameter::is_loaded));
    net.hidden
        .weight()
        .initialize(XavierUniform::default())
        .unwrap();
    net.hidden.reset_parameters().unwrap();
    assert!(net.hidden.parameters().all(|p| !p.is_loaded()) && net.conv.weight().is_loaded());
}
