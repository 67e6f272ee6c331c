//! Invalid adapters, their errors, and that nothing has changed afterwards.

use module_nn::LoadProblems;
use module_nn::lora::{
    self, InitLoraWeights, LoraConfig, LoraError, PeftAdapter, PeftConfig, PeftError,
};
use module_nn::prelude::*;

use super::folder;
use super::models::{Model, base};

fn config(field: &str) -> Result<PeftConfig> {
    let json = format!(r#"{{"peft_type": "LORA", "target_modules": ["q_proj"], {field}}}"#);
    PeftConfig::from_json(&json)
}

#[test]
fn fields_that_change_the_computation_are_refused() {
    let refused = [
        ("use_qalora", "true"),
        ("lora_bias", "true"),
        ("loftq_config", r#"{"loftq_bits":4}"#),
        ("megatron_config", r#"{"x":1}"#),
        ("eva_config", r#"{"rho":2.0}"#),
        ("corda_config", r#"{"beta":1}"#),
        ("layer_replication", "[[0,4]]"),
        ("trainable_token_indices", "[3]"),
        ("alora_invocation_tokens", "[5]"),
        ("something_to_come", "1"),
        ("init_lora_weights", r#""olora""#),
        ("init_lora_weights", r#""pissa_niter_4""#),
    ];
    for (field, value) in refused {
        let error = config(&format!(r#""{field}": {value}"#)).unwrap_err();
        let found = error.downcast_ref::<PeftError>();
        assert!(
            matches!(found, Some(PeftError::Field { field: own, value: given, .. }) if own == field && given == value),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains(&format!("`{field}` is {value}: ")),
            "{error}"
        );
    }
    for neutral in ["null", "false", "[]", "{}"] {
        config(&format!(r#""something_to_come": {neutral}"#)).unwrap();
    }
    config(
        r#""qalora_group_size": 16, "megatron_core": "megatron.core", "peft_version": "0.21.2""#,
    )
    .unwrap();
    config(r#""auto_mapping": {"parent_library": "x"}, "init_lora_weights": "eva""#).unwrap();
}

#[test]
fn other_methods_and_broken_files_are_refused() {
    for (json, says) in [
        (
            r#"{"peft_type": "LOHA", "target_modules": ["x"]}"#,
            "`peft_type` is `LOHA`",
        ),
        (r#"{"target_modules": ["x"]}"#, "`peft_type` is ``"),
        (r#"{"peft_type": "LORA"}"#, "`target_modules` is null"),
        (
            r#"{"peft_type": "LORA", "target_modules": 3}"#,
            "not a configuration of PEFT",
        ),
        (
            r#"{"peft_type": "LORA", "r": "four"}"#,
            "not a configuration of PEFT",
        ),
        (r#"{"peft_type": "LORA""#, "not a configuration of PEFT"),
    ] {
        let error = PeftConfig::from_json(json).unwrap_err();
        assert!(error.downcast_ref::<PeftError>().is_some(), "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
    let model = base("transformer");
    let malformed = PeftConfig::new("layers.(", LoraConfig::new());
    assert!(malformed.select(&*model).is_err());
    let nothing = PeftConfig::new(["query"], LoraConfig::new());
    let error = nothing.select(&*model).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(r#"`target_modules` is ["query"]"#),
        "{error}"
    );
}

/// Everything that an adapter could have changed.
fn state(model: &dyn Model) -> Vec<(String, Vec<f32>, bool)> {
    let values = model.named_parameters().map(|(path, parameter)| {
        let values = parameter.detach().to_vec::<f32>().unwrap();
        (path, values, parameter.requires_grad())
    });
    values.collect()
}

#[test]
fn tensors_that_do_not_fit_are_named_and_nothing_changes() {
    for name in ["plain", "bias_all", "pissa", "embedding_dora"] {
        let whole = PeftAdapter::load(folder(name)).unwrap();
        let mut model = base("transformer");
        let before = state(&*model);
        let keys: Vec<String> = whole.tensors.keys().map(str::to_owned).collect();
        for key in keys
            .iter()
            .filter(|key| key.contains("lora_") || key.ends_with("k_proj.bias"))
        {
            let mut less = whole.clone();
            less.tensors.remove(key);
            let error = less.add_to(&mut *model, "mine").unwrap_err();
            let problems: &LoadProblems = error.downcast_ref().expect("problems");
            assert_eq!(problems.missing, std::slice::from_ref(key), "{error}");

            let mut other = whole.clone();
            other.tensors.insert(key.clone(), Tensor::from([0.5_f32]));
            let error = other.add_to(&mut *model, "mine").unwrap_err();
            let problems: &LoadProblems = error.downcast_ref().expect("problems");
            assert_eq!(problems.mismatched.len(), 1, "{error}");
            assert_eq!(problems.mismatched[0].key, *key);

            let mut more = whole.clone();
            more.tensors
                .insert("base_model.model.more", Tensor::from([0.5_f32]));
            let error = more.add_to(&mut *model, "mine").unwrap_err();
            let problems: &LoadProblems = error.downcast_ref().expect("problems");
            assert_eq!(problems.unexpected, ["base_model.model.more"], "{error}");
        }
        assert!(state(&*model) == before, "{name}");
        assert!(lora::adapter_names(&*model).is_empty());
        whole.add_to(&mut *model, "mine").unwrap();
        let error = whole.add_to(&mut *model, "mine").unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(LoraError::Exists { .. })),
            "{error}"
        );
    }
}

#[test]
fn an_adapter_that_is_not_there_is_not_saved() {
    let model = base("transformer");
    let folder = std::env::temp_dir().join(format!("no-adapter-{}", std::process::id()));
    let error = lora::save_pretrained(&*model, "mine", &folder).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(LoraError::NoSuchAdapter { .. })),
        "{error}"
    );
    assert!(!folder.exists());
    let mut model = model;
    let error = lora::load_pretrained(&mut *model, &folder, "mine").unwrap_err();
    assert!(error.to_string().contains("adapter_config.json"), "{error}");
}

#[test]
fn adapters_whose_base_was_drawn_are_not_written() {
    let mut model = base("transformer");
    let config = LoraConfig::new()
        .r(2)
        .init_lora_weights(InitLoraWeights::PissaNiter(4));
    lora::add_adapter(&mut *model, "default", "**.up", &config).unwrap();
    let error = PeftAdapter::of(&*model, "default").unwrap_err();
    let found = error.downcast_ref::<PeftError>();
    assert!(
        matches!(found, Some(PeftError::Field { field, value, .. })
            if field == "init_lora_weights" && value == "\"pissa_niter_4\""),
        "{error}"
    );
}

#[test]
fn parameters_that_are_not_weights_of_recurrent_layers_are_refused() {
    let parameters = |names: &[&str]| {
        let mut config = PeftConfig::new([""; 0], LoraConfig::new().r(2));
        config.target_parameters = names.iter().map(|&name| name.to_owned()).collect();
        config
    };
    let model = base("readings");
    let json = r#"{"peft_type": "LORA", "r": 2, "target_parameters": ["weight_hh"]}"#;
    let mut read = PeftConfig::from_json(json).unwrap();
    read.inference_mode = true;
    assert_eq!(read, parameters(&["weight_hh"]));
    read.select(&*model).unwrap();
    for (name, path) in [
        ("head.weight", "head.weight"),
        ("bias_ih_l1", "lstm.bias_ih_l1"),
    ] {
        let error = parameters(&["weight_hh", name])
            .select(&*model)
            .unwrap_err();
        let found = error.downcast_ref::<PeftError>();
        assert!(
            matches!(found, Some(PeftError::Field { field, value, .. })
                if field == "target_parameters" && *value == format!("`{path}`")),
            "{error}"
        );
    }
    assert!(parameters(&["weight_hh_l7"]).select(&*model).is_err());
    // Layers are named as modules, weights as parameters.
    let error = PeftConfig::new(["weight_hh"], LoraConfig::new().r(2));
    assert!(error.select(&*model).is_err());
}
