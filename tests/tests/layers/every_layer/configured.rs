//! `config()` of every layer, and `weight()` and `bias()` of the layers that have them.

use std::any::Any;

use module_nn::TensorId;
use module_nn::prelude::*;
use module_tests::layers::Rebuilt;

use super::samples;

#[test]
fn every_layer_is_built_again_from_its_configuration() {
    let mut without = Vec::new();
    for sample in samples() {
        let rebuilt = fork_rng(0, || sample.entry.rebuild(&sample.case["kwargs"])).unwrap();
        let Some(Rebuilt { equal, modules }) = rebuilt else {
            without.push(sample);
            continue;
        };
        assert!(equal, "{}: another configuration", sample.name());
        let [first, again] = modules.each_ref().map(|built| built.module());
        let tree = |module: &dyn Module| module.tree().to_string();
        assert_eq!(tree(first), tree(again), "{}", sample.name());
        let keys = |module: &dyn Module| {
            module
                .state_dict()
                .unwrap()
                .keys()
                .map(str::to_owned)
                .collect()
        };
        let keys: [Vec<String>; 2] = [keys(first), keys(again)];
        assert_eq!(keys[0], keys[1], "{}", sample.name());
    }
    for sample in without {
        let name = sample.entry.name;
        let composed = name == "Sequential" || name.starts_with("Parametrized");
        let known = composed || sample.entry.takes_no_arguments();
        assert!(known, "{name} has no `config()`");
    }
}

/// The results of `weight()` and `bias()` of a layer.
type Accessor = fn(&dyn Any) -> [Option<TensorId>; 2];

/// One line per layer with a parameter `weight`.
macro_rules! accessors {
    ($($layer:ident $weight:ident $($bias:ident)?,)*) => {
        &[$((stringify!($layer), |layer| {
            let layer: &$layer = layer.downcast_ref().expect("a layer of this type");
            [$weight(layer.weight()), None $(.or($bias(layer.bias())))?]
        }),)*]
    };
}

/// A weight that always exists.
fn own(parameter: &Parameter) -> Option<TensorId> {
    Some(parameter.id())
}

fn maybe(parameter: &Maybe<Parameter>) -> Option<TensorId> {
    parameter.get().map(Parameter::id)
}

const ACCESSORS: &[(&str, Accessor)] = accessors! {
    BatchNorm1d maybe maybe,
    BatchNorm2d maybe maybe,
    BatchNorm3d maybe maybe,
    Bilinear own maybe,
    Conv1d own maybe,
    Conv2d own maybe,
    Conv3d own maybe,
    ConvTranspose1d own maybe,
    ConvTranspose2d own maybe,
    ConvTranspose3d own maybe,
    Embedding own,
    EmbeddingBag own,
    GroupNorm maybe maybe,
    InstanceNorm1d maybe maybe,
    InstanceNorm2d maybe maybe,
    InstanceNorm3d maybe maybe,
    LayerNorm maybe maybe,
    LayerNorm2d maybe maybe,
    Linear own maybe,
    NonDynamicallyQuantizableLinear own maybe,
    PReLU own,
    RMSNorm maybe,
    TransposedLinear own own,
};

#[test]
fn every_weight_and_bias_has_an_accessor() {
    for sample in samples() {
        let built = sample.built(0);
        for (path, module) in built.module().named_modules() {
            // Their weight is computed, and the inner layer has the accessors.
            if module.kind().starts_with("Parametrized") || module.kind() == "ParametrizationList" {
                continue;
            }
            let label = format!("{} at {path:?}", sample.name());
            let own = |name: &str| {
                let mut parameters = module.named_parameters();
                let (_, parameter) = parameters.find(|(path, _)| path == name)?;
                Some(parameter.id())
            };
            let expected = [own("weight"), own("bias")];
            let accessor = ACCESSORS
                .iter()
                .find(|(name, _)| super::printed_name(name) == module.kind());
            match accessor {
                Some((_, accessor)) => assert_eq!(accessor(module), expected, "{label}"),
                None => assert_eq!(
                    expected,
                    [None, None],
                    "{label}: give {} a method for its `weight` and its `bias`, and a line in `ACCESSORS`",
                    module.kind()
                ),
            }
        }
    }
}
