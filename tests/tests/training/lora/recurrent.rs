//! Adapters for the weights of recurrent layers and cells.

use module_nn::lora::{self, Combination, InitLoraWeights, LoraBias, LoraConfig, LoraError};
use module_nn::prelude::*;
use module_nn::rnn::pack_sequence;

use super::{assert_close, assert_same, differs, random, snapshot};

fn lstm() -> LSTM {
    let config = LSTMConfig::new(3, 4).num_layers(2).bidirectional(true);
    fork_rng(4, || config.build()).unwrap()
}

fn sequence() -> Tensor {
    fork_rng(3, || Tensor::randn([5, 2, 3], DType::F32)).unwrap()
}

fn output(lstm: &LSTM) -> Tensor {
    lstm.call(sequence()).unwrap().0
}

/// The output of a layer without adapters, to whose weights these adapter products are added.
fn output_with(lstm: &LSTM, parts: &[(&str, f64)]) -> Tensor {
    let plain = lstm.config().build().unwrap();
    for (key, parameter) in plain.named_parameters() {
        let mut value = lstm.get_parameter(&key).unwrap().detach();
        for (name, scale) in parts {
            let factor =
                |of: &str| lstm.get_parameter(&format!("adapters.{key}.lora_{of}.{name}.weight"));
            if let (Ok(a), Ok(b)) = (factor("A"), factor("B")) {
                let delta = b.detach().matmul(&a.detach()).unwrap();
                value = value.add(delta.mul(*scale).unwrap()).unwrap();
            }
        }
        parameter.set(value).unwrap();
    }
    output(&plain)
}

#[test]
fn each_weight_has_its_keys_and_a_plain_layer_shows_none() {
    let mut cell = GRUCell::new(3, 4).unwrap();
    let plain: Vec<String> = cell.named_parameters().map(|(key, _)| key).collect();
    assert_eq!(plain, ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]);
    assert_eq!(cell.tree().to_string(), "GRUCell(3, 4)");
    let weights = [
        ("weight_ih".to_owned(), "GRUCell"),
        ("weight_hh".to_owned(), "GRUCell"),
    ];
    assert_eq!(lora::adaptable_layers(&cell), weights);

    let report = lora::add_adapter(&mut cell, "default", "weight_hh", &random(2)).unwrap();
    assert_eq!(report.matched, ["weight_hh"]);
    assert_eq!(report.trainable, 2 * 4 + 12 * 2);
    assert_eq!(
        cell.tree().to_string(),
        "GRUCell(\n  3, 4\n  (adapters): ModuleDict(\n    (weight_hh): Adapters(\n      (lora_dropout): ModuleDict(\n        \
         (default): Identity()\n      )\n      (lora_A): ModuleDict(\n        (default): Linear(in_features=4, \
         out_features=2, bias=False)\n      )\n      (lora_B): ModuleDict(\n        (default): Linear(in_features=2, \
         out_features=12, bias=False)\n      )\n    )\n  )\n)"
    );
    // Another adapter of the other weight too.
    lora::add_adapter(&mut cell, "other", "", &random(1)).unwrap();
    let state = cell.state_dict().unwrap();
    let added: Vec<&str> = state.keys().filter(|key| key.contains("lora_")).collect();
    assert_eq!(
        added,
        [
            "adapters.weight_ih.lora_A.other.weight",
            "adapters.weight_ih.lora_B.other.weight",
            "adapters.weight_hh.lora_A.default.weight",
            "adapters.weight_hh.lora_A.other.weight",
            "adapters.weight_hh.lora_B.default.weight",
            "adapters.weight_hh.lora_B.other.weight",
        ]
    );
    for name in ["other", "default"] {
        lora::delete_adapter(&mut cell, name).unwrap();
    }
    assert_eq!(cell.tree().to_string(), "GRUCell(3, 4)");
    assert!(cell.state_dict().unwrap().keys().eq(plain.iter()));
}

#[test]
fn adapters_are_parts_of_the_weights_however_they_are_used() {
    let mut lstm = lstm();
    let plain = output(&lstm);
    lora::add_adapter(&mut lstm, "one", "", &random(2)).unwrap();
    lora::add_adapter(&mut lstm, "two", "weight_ih_*", &random(3).lora_alpha(6)).unwrap();
    assert_eq!(lora::adapted_layers(&lstm, "one").unwrap().len(), 8);
    assert_eq!(lora::adapted_layers(&lstm, "two").unwrap().len(), 4);

    let one = output(&lstm);
    assert!(differs(&one, &plain));
    assert_close(&one, &output_with(&lstm, &[("one", 4.0)]), "the first");
    lora::set_adapter(&lstm, ["one", "two"]).unwrap();
    let both = output_with(&lstm, &[("one", 4.0), ("two", 2.0)]);
    assert_close(&output(&lstm), &both, "both");
    lora::set_scale(&lstm, "one", -0.5).unwrap();
    let scaled = output_with(&lstm, &[("one", -2.0), ("two", 2.0)]);
    assert_close(&output(&lstm), &scaled, "scaled");
    let without = lora::disable_adapters(&lstm, || output(&lstm)).unwrap();
    assert_same(&without, &plain, "disabled");

    let parts = [("one", 0.5), ("two", -1.0)];
    lora::add_weighted_adapter(&mut lstm, &parts, "sum", Combination::Cat).unwrap();
    lora::set_adapter(&lstm, ["sum"]).unwrap();
    let joined = output_with(&lstm, &[("one", -1.0), ("two", -2.0)]);
    assert_close(&output(&lstm), &joined, "joined");

    let before = snapshot(&lstm);
    let paths = lora::merge(&mut lstm).unwrap();
    assert_eq!(paths.len(), 8);
    assert_close(&output(&lstm), &joined, "merged");
    let key = "adapters.weight_hh_l1.lora_merged.sum.scale";
    assert!(lstm.state_dict().unwrap().contains_key(key));
    lora::unmerge(&mut lstm).unwrap();
    for (key, value) in snapshot(&lstm).iter() {
        assert_close(value, before.get(key).unwrap(), key);
    }
    lora::merge_and_unload(&mut lstm).unwrap();
    assert_close(&output(&lstm), &joined, "unloaded");
    assert_eq!(lstm.state_dict().unwrap().len(), 16);
}

#[test]
fn packed_sequences_and_first_states_reach_the_adapters() {
    let mut lstm = lstm();
    lora::add_adapter(&mut lstm, "default", "", &random(2)).unwrap();
    let expected = output_with(&lstm, &[("default", 4.0)]);
    let steps = sequence();
    let rows: Vec<Tensor> = (0..2).map(|i| steps.select(1, i).unwrap()).collect();
    let (packed, _) = lstm.call(pack_sequence(&rows).unwrap()).unwrap();
    let expected = expected.reshape([10, 8]).unwrap();
    assert_close(packed.data(), &expected, "packed");
    let loss = packed.data().square().unwrap().sum(..).unwrap();
    loss.backward().unwrap();
    for (key, parameter) in lstm.named_parameters() {
        assert_eq!(parameter.grad().is_some(), key.contains("lora_"), "{key}");
    }
}

#[test]
fn biases_of_layers_whose_weights_are_adapted_are_trained_if_asked() {
    #[derive(Module)]
    struct Net {
        first: GRU,
        second: GRU,
    }

    let mut net = Net {
        first: GRU::new(3, 4).unwrap(),
        second: GRU::new(4, 4).unwrap(),
    };
    let config = random(1).bias(LoraBias::LoraOnly);
    lora::add_adapter(&mut net, "default", "first", &config).unwrap();
    let trained = net
        .named_parameters()
        .filter(|(_, own)| own.requires_grad());
    let trained: Vec<String> = trained.map(|(key, _)| key).collect();
    assert_eq!(trained[..2], ["first.bias_ih_l0", "first.bias_hh_l0"]);
    assert!(trained[2..].iter().all(|key| key.contains("lora_")));
}

#[test]
fn options_without_meaning_for_recurrent_weights_are_refused() {
    let mut lstm = lstm();
    let before = snapshot(&lstm);
    let pissa = |init| LoraConfig::new().r(1).init_lora_weights(init);
    for (config, says) in [
        (random(2).lora_dropout(0.1), "set `lora_dropout` to 0"),
        (random(2).use_dora(true), "set `use_dora` to false"),
        (pissa(InitLoraWeights::Pissa), "PiSSA is for linear layers"),
        (
            pissa(InitLoraWeights::PissaNiter(2)),
            "PiSSA is for linear layers",
        ),
    ] {
        let error = lora::add_adapter(&mut lstm, "default", "", &config).unwrap_err();
        let found = error.downcast_ref::<LoraError>();
        let Some(LoraError::NotAdaptable { path, kind, reason }) = found else {
            panic!("{error}");
        };
        assert_eq!((path.as_str(), *kind), ("weight_ih_l0", "LSTM"));
        assert!(reason.contains(says), "{reason}");
    }
    let error = lora::add_adapter(&mut lstm, "default", "weight_hh_l2", &random(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`weight_hh_l2` selects nothing; did you mean `weight_hh_l0`?"
    );
    let saved = random(1).modules_to_save(["weight_hh_l0"]);
    assert!(lora::add_adapter(&mut lstm, "default", "", &saved).is_err());
    assert!(snapshot(&lstm).keys().eq(before.keys()));
    assert!(lstm.parameters().all(|parameter| parameter.requires_grad()));
}
