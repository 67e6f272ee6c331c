//! Modules that cannot be adapted, and that a refusal leaves nothing half changed.

use std::sync::Arc;

use module_nn::ModuleError;
use module_nn::lora::{self, InitLoraWeights, LoraBias, LoraConfig, LoraError};
use module_nn::parametrize::weight_norm;
use module_nn::prelude::*;

use super::{Net, adapted, assert_same, random, snapshot};

#[derive(Module)]
struct Zoo {
    linear: Linear,
    norm: LayerNorm,
    batch: BatchNorm1d,
    grouped: Conv2d,
    limited: Embedding,
    normed: module_nn::parametrize::Parametrized<Linear, module_nn::parametrize::WeightNorm>,
    apart: MultiheadAttention,
    attention: MultiheadAttention,
    shared: Arc<Linear>,
}

fn zoo() -> (Zoo, Arc<Linear>) {
    let shared = Arc::new(Linear::new(2, 2).unwrap());
    let zoo = Zoo {
        linear: Linear::new(4, 3).unwrap(),
        norm: LayerNorm::new(4).unwrap(),
        batch: BatchNorm1d::new(4).unwrap(),
        grouped: Conv2dConfig::new(4, 6, 3).groups(2).build().unwrap(),
        limited: EmbeddingConfig::new(5, 4).max_norm(1.0).build().unwrap(),
        normed: weight_norm(Linear::new(4, 3).unwrap(), Some(0)).unwrap(),
        apart: MultiheadAttentionConfig::new(4, 2).kdim(3).build().unwrap(),
        attention: MultiheadAttention::new(4, 2).unwrap(),
        shared: shared.clone(),
    };
    (zoo, shared)
}

#[test]
fn matches_that_cannot_be_adapted_are_named() {
    let (mut zoo, _shared) = zoo();
    let before = snapshot(&zoo);
    let plain = LoraConfig::new;
    let pissa = || plain().init_lora_weights(InitLoraWeights::Pissa);
    let cases = [
        (
            "norm",
            plain(),
            "LayerNorm",
            "only Linear, TransposedLinear, Conv1d to Conv3d",
        ),
        (
            "limited",
            plain(),
            "Embedding",
            "only Linear, TransposedLinear, Conv1d to Conv3d",
        ),
        ("", plain(), "Zoo", "select them by their own paths"),
        (
            "grouped",
            plain().r(3),
            "Conv2d",
            "r = 3 must be divisible by its 2 groups",
        ),
        (
            "grouped",
            plain().r(4).use_dora(true),
            "Conv2d",
            "DoRA is not defined for its 2 groups",
        ),
        (
            "normed",
            plain(),
            "ParametrizedLinear",
            "its weight is computed",
        ),
        (
            "apart",
            plain(),
            "MultiheadAttention",
            "weights of their own",
        ),
        (
            "attention",
            plain().use_dora(true),
            "MultiheadAttention",
            "DoRA is not defined",
        ),
        (
            "linear",
            pissa().r(4),
            "Linear",
            "3 singular values, fewer than r = 4",
        ),
        (
            "grouped",
            pissa().r(2),
            "Conv2d",
            "PiSSA is for linear layers",
        ),
    ];
    for (path, config, kind, reason) in cases {
        // A layer before it must not be adapted either.
        let select = Select::from("linear").or(Select::path(path));
        let error = lora::add_adapter(&mut zoo, "default", select, &config).unwrap_err();
        let Some(LoraError::NotAdaptable {
            path: at,
            kind: of,
            reason: why,
        }) = error.downcast_ref()
        else {
            panic!("{path}: {error}");
        };
        assert_eq!((at.as_str(), *of), (path, kind));
        assert!(why.contains(reason), "{path}: {why}");
    }
    let error = lora::add_adapter(&mut zoo, "default", ["linear", "shared"], &plain()).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(ModuleError::SharedModule { path, .. }) if path == "shared")
    );
    let saved = plain().modules_to_save(["batch"]);
    let error = lora::add_adapter(&mut zoo, "default", "linear", &saved).unwrap_err();
    assert!(
        error.to_string().contains("`batch` (BatchNorm1d)"),
        "{error}"
    );
    let saved = plain().modules_to_save(["linaer"]);
    let error = lora::add_adapter(&mut zoo, "default", "linear", &saved).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`linaer` selects nothing; did you mean `linear`?"
    );
    let after = snapshot(&zoo);
    assert!(after.keys().eq(before.keys()));
    for (key, value) in before.iter() {
        assert_same(after.get(key).unwrap(), value, key);
    }
    assert!(zoo.parameters().all(|parameter| parameter.requires_grad()));
}

#[test]
fn names_and_arguments_are_checked() {
    let mut net = adapted();
    let keys = snapshot(&net);
    let plain = LoraConfig::new;
    let exists = lora::add_adapter(&mut net, "default", "head", &plain()).unwrap_err();
    assert!(matches!(
        exists.downcast_ref(),
        Some(LoraError::Exists { .. })
    ));
    for name in ["", "a.b"] {
        let error = lora::add_adapter(&mut net, name, "head", &plain()).unwrap_err();
        assert!(matches!(
            error.downcast_ref(),
            Some(ModuleError::InvalidKey { .. })
        ));
    }
    let configs = [
        (plain().r(0), "r = 0"),
        (plain().lora_dropout(1.5), "lora_dropout = 1.5"),
        (plain().lora_alpha(f64::NAN), "lora_alpha = NaN"),
        (plain().rank_pattern([("head", 0)]), "rank_pattern = 0"),
        (plain().rank_pattern([("(", 1)]), "pattern `"),
        (plain().rank_pattern([("haed", 1)]), "rank_pattern = `haed`"),
        (
            plain().alpha_pattern([("head", 1), ("query", 2)]),
            "alpha_pattern = `query`",
        ),
    ];
    for (config, quoted) in configs {
        let error = lora::add_adapter(&mut net, "other", "head", &config).unwrap_err();
        assert!(error.to_string().contains(quoted), "{error}");
    }
    let error = lora::set_adapter(&net, ["defualt"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "set_adapter: there is no adapter `defualt`; the model has `default`"
    );
    assert!(lora::delete_adapter(&mut net, "other").is_err());
    assert!(lora::adapter_config(&net, "other").is_err());
    assert!(lora::set_scale(&net, "default", f64::NAN).is_err());
    assert!(snapshot(&net).keys().eq(keys.keys()));
    for json in [
        r#"{"init_lora_weights": "eva"}"#,
        r#"{"init_lora_weights": "pissa_niter_"}"#,
        r#"{"init_lora_weights": "pissa_niter_-1"}"#,
        r#"{"rr": 2}"#,
        r#"{"bias": "some"}"#,
    ] {
        assert!(serde_json::from_str::<LoraConfig>(json).is_err(), "{json}");
    }
}

#[test]
fn one_adapter_trains_biases_and_keeps_working_beside_others() {
    let mut net = Net::new();
    let trained = |net: &Net| {
        let all = net
            .named_parameters()
            .filter(|(_, own)| own.requires_grad());
        let keys = all.map(|(key, _)| key).filter(|key| !key.contains("lora_"));
        keys.collect::<Vec<String>>()
    };
    let biased = random(2).bias(LoraBias::LoraOnly);
    lora::add_adapter(&mut net, "one", "query", &biased).unwrap();
    let error = lora::add_adapter(&mut net, "two", "head", &biased).unwrap_err();
    let says = "bias = lora_only: must be none, because `one` trains biases already";
    assert!(error.to_string().contains(says), "{error}");
    lora::add_adapter(&mut net, "two", "head", &random(2)).unwrap();
    assert_eq!(trained(&net), ["query.bias"]);
    lora::set_adapter(&net, ["two"]).unwrap();
    assert_eq!(trained(&net), ["query.bias"]);
    lora::delete_adapter(&mut net, "one").unwrap();
    lora::add_adapter(&mut net, "three", "head", &biased).unwrap();
    assert_eq!(trained(&net), ["head.bias"]);
}

#[test]
fn adapters_that_cannot_be_joined_are_named() {
    use module_nn::lora::Combination;
    let mut net = adapted();
    lora::add_adapter(&mut net, "wide", "query", &random(3)).unwrap();
    lora::add_adapter(&mut net, "dora", "query", &random(2).use_dora(true)).unwrap();
    let keys = snapshot(&net);
    let mut join = |names: &[(&str, f64)], name: &str| {
        lora::add_weighted_adapter(&mut net, names, name, Combination::Linear)
            .unwrap_err()
            .to_string()
    };
    assert!(join(&[("default", 1.0), ("wide", 1.0)], "both").contains("their ranks are [2, 3]"));
    assert!(join(&[("default", 1.0), ("dora", 1.0)], "both").contains("DoRA's magnitudes"));
    assert!(join(&[("default", 1.0), ("none", 1.0)], "both").contains("no adapter `none`"));
    assert!(join(&[("default", 1.0)], "wide").contains("an adapter `wide` already"));
    assert!(join(&[("default", f64::NAN)], "both").contains("must be finite"));
    assert!(join(&[], "both").contains("must name one at least"));
    assert!(snapshot(&net).keys().eq(keys.keys()));
    let copies = LoraConfig::new().r(2).modules_to_save(["head"]);
    lora::add_adapter(&mut net, "first", "query", &copies).unwrap();
    lora::add_adapter(&mut net, "second", "query", &copies).unwrap();
    let error = lora::set_adapter(&net, ["first", "second"]).unwrap_err();
    assert!(error.to_string().contains("meet in `head`"), "{error}");
    assert!(Net::new().state_dict().is_ok());
}
