//! Models without values until they are loaded or initialized.

use module_nn::prelude::*;
use module_nn::rng::Generator;

use super::{Net, assert_same, floats, net};

fn draw() -> Vec<f32> {
    Tensor::rand([3], DType::F32).unwrap().to_vec().unwrap()
}

#[test]
fn a_deferred_model_draws_nothing_and_knows_its_shapes() {
    let expected = fork_rng(5, draw);
    let (model, drawn) = fork_rng(5, || (deferred(net), draw()));
    assert_eq!(drawn, expected);
    assert_eq!(model.num_parameters(), net().num_parameters());
    assert_eq!(model.tree().to_string(), net().tree().to_string());
    let weight = model.head.weight();
    assert!(!weight.has_values() && weight.requires_grad());
    assert_eq!(
        (weight.shape().to_string().as_str(), weight.dtype()),
        ("[2, 4]", DType::F32)
    );
    assert_eq!(
        weight.tensor().to_string(),
        "tensor(..., size=(2, 4), requires_grad=True)"
    );
    model.double().unwrap();
    assert_eq!(weight.dtype(), DType::F64);
    model.to_device(&Device::cpu()).unwrap();
    // Parameters created from tensors, and buffers, have values.
    assert!(model.scale.has_values());
    assert!(model.buffers().all(|buffer| buffer.tensor().has_values()));
    // The mode ends with the closure, even after a panic.
    let panicked = std::panic::catch_unwind(|| deferred(|| panic!("stop")));
    assert!(panicked.is_err() && net().head.weight().has_values());
    deferred(|| {
        deferred(net);
        assert!(!net().head.weight().has_values());
    });
}

#[test]
fn no_memory_is_allocated() {
    // 4 TiB, more than any machine has.
    let layer = deferred(|| Linear::new(1 << 20, 1 << 20)).unwrap();
    assert_eq!(layer.num_parameters(), (1 << 40) + (1 << 20));
    assert!(deferred(|| Linear::new(1 << 40, 1 << 40)).is_err());
}

#[test]
fn using_a_parameter_without_values_is_an_error_that_names_it() {
    let model = deferred(net);
    let none = |what: &str| {
        format!("{what} has no values yet; load a checkpoint or call `reset_parameters`")
    };
    assert_eq!(
        model.state_dict().unwrap_err().to_string(),
        none("`encoder.0.fc1.weight`")
    );
    assert!(
        model
            .save(std::env::temp_dir().join("never.safetensors"))
            .is_err()
    );
    let x = Tensor::zeros([5, 4], DType::F32).unwrap();
    assert_eq!(
        model.head.call(x.clone()).unwrap_err().to_string(),
        format!("Linear: {}", none("a parameter of shape [2, 4]"))
    );
    let weight = model.head.weight().tensor();
    let results = [
        weight.to_host().map(drop),
        weight.to_vec::<f32>().map(drop),
        weight.sum(..).map(drop),
        weight.add(1.0).map(drop),
        weight.t().and_then(|w| w.contiguous()).map(drop),
        weight.to_dtype(DType::F64).map(drop),
        x.matmul(&weight.t().unwrap()).map(drop),
        x.add(weight.narrow(0, 0..1).unwrap()).map(drop),
        Tensor::cat(&[&weight, &weight], 0).map(drop),
    ];
    for result in results {
        let error = result.unwrap_err();
        assert_eq!(error.to_string(), none("a parameter of shape [2, 4]"));
        assert!(matches!(error.kind(), ErrorKind::NoValues { .. }));
    }
}

#[test]
fn loading_fills_it_without_a_copy() {
    let other = net();
    let state = other.state_dict().unwrap();
    let model = deferred(net);
    assert!(model.load_state_dict(&state).unwrap().not_loaded.is_empty());
    assert_same(&model.state_dict().unwrap(), &state, "loaded");
    let (mine, theirs) = (
        model.head.weight().detach(),
        state.get("head.weight").unwrap(),
    );
    assert!(mine.shares_memory_with(theirs));

    let failed = deferred(net);
    let mut short = state.clone();
    short.remove("head.bias");
    assert!(failed.load_state_dict(&short).is_err());
    assert!(!failed.head.weight().has_values());
}

#[test]
fn a_partial_load_names_the_parameters_without_values() {
    let model: Net = deferred(net);
    let state = net().state_dict().unwrap();
    let select = LoadOptions::new().select(["encoder", "scale", "table"]);
    let report = model.load_state_dict_with(&state, select).unwrap();
    assert_eq!(report.not_loaded, ["head.weight", "head.bias"]);
    assert!(model.state_dict().is_err());
    report.reset_not_loaded(&model).unwrap();
    assert!(model.state_dict().is_ok());
}

#[test]
fn drawing_gives_the_values_of_a_model_that_was_not_deferred() {
    let layers = || [Linear::new(3, 4).unwrap(), Linear::new(4, 2).unwrap()];
    let seeded = |draw: fn() -> [Linear; 2]| fork_rng(3, draw).state_dict().unwrap();
    let expected = seeded(|| [Linear::new(3, 4).unwrap(), Linear::new(4, 2).unwrap()]);
    let model = deferred(layers);
    model.reset_parameters_with(&Generator::new(3)).unwrap();
    assert_same(&model.state_dict().unwrap(), &expected, "drawn");

    // Or by hand, one by one.
    let layer = deferred(|| Linear::new(2, 1)).unwrap();
    layer.weight().set(Tensor::from([[1.0_f32, 2.0]])).unwrap();
    assert!(layer.weight().has_values());
    assert!(layer.bias().get().unwrap().set(floats([1.0, 2.0])).is_err());
}
