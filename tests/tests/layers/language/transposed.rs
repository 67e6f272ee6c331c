//! A weight that is stored transposed, as in GPT-2 checkpoints.

use module_nn::lora::{InitLoraWeights, LoraConfig, add_adapter, merge};
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, quantize};
use module_tests::golden::{Tolerance, assert_close};

#[derive(Module, Forward)]
struct Of<L> {
    layer: L,
}

/// A linear layer and the same with its weight transposed.
fn pair() -> (Of<Linear>, Of<TransposedLinear>) {
    let layer = fork_rng(0, || Linear::new(5, 3)).unwrap();
    let weight = layer.weight().detach().t().unwrap().contiguous().unwrap();
    let bias = layer.bias().get().unwrap().share();
    let transposed = TransposedLinear::from_parts(Parameter::new(weight).unwrap(), bias).unwrap();
    (Of { layer }, Of { layer: transposed })
}

fn image(width: usize) -> Tensor {
    fork_rng(1, || Tensor::randn([2, 4, width], DType::F32)).unwrap()
}

#[test]
fn adapters_of_a_transposed_weight_are_those_of_a_linear_layer() {
    for use_dora in [false, true] {
        let (mut plain, mut other) = pair();
        let config = LoraConfig::new()
            .r(2)
            .init_lora_weights(InitLoraWeights::Random)
            .use_dora(use_dora);
        for model in [&mut plain as &mut dyn Module, &mut other] {
            fork_rng(2, || add_adapter(model, "default", "layer", &config)).unwrap();
        }
        let (ours, expected) = (other.state_dict().unwrap(), plain.state_dict().unwrap());
        assert!(ours.keys().eq(expected.keys()));
        for (key, value) in ours.iter().filter(|(key, _)| key.contains("lora_")) {
            assert_close(
                value,
                expected.get(key).unwrap(),
                Tolerance::CONTRACTION,
                key,
            );
        }
        let [y, same] = [plain.call(image(5)), other.call(image(5))].map(Result::unwrap);
        assert_close(&same, &y, Tolerance::CONTRACTION, "adapted");
        let base = pair().0.call(image(5)).unwrap();
        assert!(
            !y.allclose(&base, module_nn::Tolerance::new().atol(1e-3))
                .unwrap()
        );
        for model in [&mut plain as &mut dyn Module, &mut other] {
            assert_eq!(merge(model).unwrap(), ["layer"]);
        }
        let weight = plain.layer.weight().detach().t().unwrap();
        assert_close(
            &other.layer.weight().detach(),
            &weight,
            Tolerance::CONTRACTION,
            "merged",
        );
        assert_close(
            &other.call(image(5)).unwrap(),
            &y,
            Tolerance::CONTRACTION,
            "merged",
        );
    }
}

#[test]
fn what_a_transposed_weight_cannot_do_is_refused_by_name() {
    let (_, mut other) = pair();
    let error = quantize(&other, Select::all(), Scheme::Int8)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`layer.weight` of a Conv1D, which cannot compute with packed elements"),
        "{error}"
    );
    let config = LoraConfig::new()
        .r(2)
        .init_lora_weights(InitLoraWeights::Pissa);
    let error = add_adapter(&mut other, "default", "layer", &config)
        .unwrap_err()
        .to_string();
    assert!(error.contains("PiSSA is for linear layers"), "{error}");
}
