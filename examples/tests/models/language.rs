//! Models of Hugging Face's transformers: what they compute, and what they say.

use module_examples::models::bert::Bert;
use module_examples::models::gpt2::{GPT2, GPT2Config};
use module_examples::models::llama::{Llama, LlamaConfig};
use module_examples::models::pretrained::{Pretrained, read_config, read_json};
use module_examples::models::transformers::Caches;
use module_nn::generate::{GenerationConfig, generate, with_cache, without_cache};
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::compare::{BOUNDS, compare, compare_forward, compare_tensor, directory, ids};

#[derive(Deserialize)]
struct Text {
    config: GenerationConfig,
    prompt: Vec<Vec<i64>>,
    ids: Vec<Vec<i64>>,
}

/// Compares a model with the original: its outputs, in one pass and in pieces, and its generated texts, token for token.
fn compare_language_model<M>(name: &str, model: &M, caches: &Caches)
where
    M: Module
        + Forward<Tensor, Output = Tensor>
        + Forward<(Tensor, Caches), Output = (Tensor, Caches)>,
{
    compare_forward(name, model, &BOUNDS);
    model.to_dtype(DType::F32).unwrap();
    let _ = model.load(directory(name)).unwrap();
    model.eval();

    let recorded = StateDict::load(directory(&format!("{name}.safetensors"))).unwrap();
    let all = recorded.get("input").unwrap();
    let (mut pieces, mut seen) = (Vec::new(), caches.clone());
    for piece in [0..5, 5..6, 6..9, 9..11] {
        let logits;
        let piece = all.narrow(1, piece).unwrap();
        (logits, seen) = no_grad(|| model.call((piece, seen))).unwrap();
        pieces.push(logits);
    }
    let logits = Tensor::cat(&pieces, 1).unwrap();
    compare_tensor(&logits, recorded.get("eval/f32/output").unwrap(), 1e-5);

    let texts: Vec<Text> = read_json(directory(&format!("{name}_texts.json"))).unwrap();
    assert_eq!(texts.len(), 8);
    for (n, text) in texts.iter().enumerate() {
        let (prompt, expected) = (ids(&text.prompt), ids(&text.ids));
        let mut whole = without_cache(|ids| model.call(ids));
        let mut cached = with_cache(caches.clone(), |ids, seen| model.call((ids, seen)));
        for said in [
            generate(&mut whole, &prompt, &text.config).unwrap(),
            generate(&mut cached, &prompt, &text.config).unwrap(),
        ] {
            assert_eq!(said.shape(), expected.shape(), "{name} {n}");
            let [said, expected] = [&said, &expected].map(|x| x.to_vec::<i64>().unwrap());
            assert_eq!(said, expected, "{name} {n}");
        }
    }
}

#[test]
fn gpt2_is_transformers() {
    for name in ["gpt2", "gpt2_options"] {
        let model = GPT2::from_pretrained(directory(name)).unwrap();
        assert!(!model.is_training());
        compare_language_model(name, &model, &Caches::new());
    }
}

#[test]
fn gpt2_ties_its_head_where_the_configuration_says_so() {
    for (name, tied) in [("gpt2", true), ("gpt2_options", false)] {
        let config: GPT2Config = read_config(directory(name)).unwrap();
        let model = fork_rng(0, || GPT2::new(&config)).unwrap();
        let [words, head] = ["transformer.wte.weight", "lm_head.weight"];
        let [words, head] = [words, head].map(|key| model.get_parameter(key).unwrap());
        words.initialize(module_nn::init::zeros()).unwrap();
        let head = head.detach().abs().unwrap().max(..).unwrap();
        assert_eq!(head.item::<f32>().unwrap() == 0.0, tied, "{name}");
    }
}

#[test]
fn bert_is_transformers() {
    let model = Bert::from_pretrained(directory("bert")).unwrap();
    let call = |model: &Bert, inputs: &[Tensor]| {
        let inputs = (inputs[0].clone(), inputs[1].clone(), inputs[2].clone());
        let (hidden, pooled) = model.call(inputs)?;
        Tensor::cat(&[hidden, pooled.unsqueeze(1)?], 1)
    };
    compare("bert", &model, &BOUNDS, call);

    // Ids alone are a text of one segment without padding.
    let ids = Tensor::from([[3_i64, 9, 1, 4]]);
    let (kinds, mask) = (ids.zeros_like().unwrap(), ids.ones_like().unwrap());
    let (expected, _) = model.call((ids.clone(), kinds, mask)).unwrap();
    let (actual, _) = model.call(ids).unwrap();
    assert!(actual.equal(&expected).unwrap());
}

#[test]
fn llama_mistral_and_qwen3_are_transformers() {
    for (name, windows) in [
        ("llama", [None, None]),
        ("mistral", [Some(4), Some(4)]),
        ("qwen3", [None, Some(3)]),
    ] {
        let model = Llama::from_pretrained(directory(name)).unwrap();
        // Caches keep everything, or no more than the window.
        for caches in [Caches::new(), model.caches()] {
            compare_language_model(name, &model, &caches);
        }
        let mut caches = model.caches();
        let ids = Tensor::from([[1_i64; 9]]);
        (_, caches) = no_grad(|| model.call((ids, caches))).unwrap();
        for (cache, window) in caches.iter().zip(windows) {
            assert_eq!(cache.len(), 9);
            assert_eq!(cache.kept(), window.map_or(9, |window| window - 1));
        }
    }
}

#[test]
fn rotary_positions_are_read_from_older_configurations() {
    let given: Value = read_config(directory("llama")).unwrap();
    let logits = |config: &Value| -> Result<Tensor> {
        let config: LlamaConfig = serde_json::from_value(config.clone()).map_err(Error::custom)?;
        let model = Llama::new(&config)?;
        let _ = model.load(directory("llama"))?;
        model.eval();
        no_grad(|| model.call(Tensor::arange(0, 20, ())?.unsqueeze(0)?))
    };
    let expected = logits(&given).unwrap();

    // Until transformers 4 the base was next to the scaling, and the kind was first named `type`.
    for name in ["rope_type", "type"] {
        let mut older = given.clone();
        let fields = older.as_object_mut().unwrap();
        let mut scaling = fields.remove("rope_parameters").unwrap();
        let scaling_fields = scaling.as_object_mut().unwrap();
        let theta = scaling_fields.remove("rope_theta").unwrap();
        let kind = scaling_fields.remove("rope_type").unwrap();
        let _ = scaling_fields.insert(name.to_owned(), kind);
        let _ = fields.insert("rope_theta".to_owned(), theta);
        let _ = fields.insert("rope_scaling".to_owned(), scaling);
        assert!(logits(&older).unwrap().equal(&expected).unwrap(), "{name}");
    }

    // Each kind gives different positions, and an unknown one is refused.
    let with = |parameters: Value| {
        let mut other = given.clone();
        other["rope_parameters"] = parameters;
        logits(&other)
    };
    for parameters in [
        json!({"rope_type": "default", "rope_theta": 500.0}),
        json!({"rope_type": "linear", "factor": 2.0, "rope_theta": 500.0}),
        json!({"rope_type": "dynamic", "factor": 2.0, "max_position_embeddings": 8}),
    ] {
        assert!(!with(parameters).unwrap().equal(&expected).unwrap());
    }
    let error = with(json!({"rope_type": "longrope"})).unwrap_err();
    assert!(error.to_string().contains("longrope"), "{error}");
}

#[test]
fn unsupported_options_of_language_models_are_refused() {
    let mut config: Value = read_config(directory("gpt2")).unwrap();
    config["add_cross_attention"] = json!(true);
    let config: GPT2Config = serde_json::from_value(config).unwrap();
    let error = GPT2::new(&config).map(drop).unwrap_err().to_string();
    assert!(error.contains("add_cross_attention = true"), "{error}");

    let mut config: GPT2Config = read_config(directory("gpt2")).unwrap();
    config.n_head = 5;
    let error = GPT2::new(&config).map(drop).unwrap_err().to_string();
    assert!(error.contains("heads = 5"), "{error}");

    // A directory of another model.
    assert!(Llama::from_pretrained(directory("bert")).is_err());
    assert!(Bert::from_pretrained(directory("llama")).is_err());
}

#[test]
fn initial_weights_have_the_spread_of_the_configuration() {
    let mut config: GPT2Config = read_config(directory("gpt2")).unwrap();
    config.n_embd = 96;
    config.n_layer = 8;
    let model = fork_rng(0, || GPT2::new(&config)).unwrap();
    let std = |key: &str| {
        let values = model.get_parameter(key).unwrap().detach();
        let mean_square = values.mul(&values).unwrap().mean(..).unwrap();
        mean_square.item::<f32>().unwrap().sqrt()
    };
    for (key, expected) in [
        ("transformer.wte.weight", 0.4),
        ("transformer.h.7.attn.c_attn.weight", 0.4),
        ("transformer.h.7.attn.c_proj.weight", 0.1),
        ("transformer.h.0.mlp.c_proj.weight", 0.1),
    ] {
        assert!((std(key) / expected - 1.0).abs() < 0.05, "{key}");
    }
    assert_eq!(std("transformer.h.0.mlp.c_fc.bias"), 0.0);
}

#[test]
fn gpt2_of_the_first_files_is_read_by_two_rules() {
    let config = read_config(directory("gpt2")).unwrap();
    let [expected, model] = [(); 2].map(|()| GPT2::new(&config).unwrap());
    let state = StateDict::load(directory("gpt2")).unwrap();
    let _ = expected.load_state_dict(&state).unwrap();

    let mut older = state.strip_prefix("transformer").unwrap();
    let mask = Tensor::ones([1, 1, 24, 24], DType::F32).unwrap();
    for layer in 0..2 {
        let _ = older.insert(format!("h.{layer}.attn.bias"), mask.clone());
    }
    assert!(model.load_state_dict(&older).is_err());
    let rules = LoadOptions::new()
        .remap(Remap::new().prefix("", "transformer"))
        .ignore("**.attn.bias");
    let _ = model.load_state_dict_with(&older, rules).unwrap();
    let [model, expected] = [model, expected].map(|model| model.state_dict().unwrap());
    assert!(model.equal(&expected).unwrap());
}

#[test]
fn bert_of_older_files_is_read_without_their_positions() {
    let dir = std::env::temp_dir().join(format!("bert-positions-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::copy(
        directory("bert").join("config.json"),
        dir.join("config.json"),
    )
    .unwrap();
    let mut state = StateDict::load(directory("bert")).unwrap();
    let positions = Tensor::arange(0, 16, DType::I64).unwrap();
    let positions = positions.unsqueeze(0).unwrap();
    let _ = state.insert("embeddings.position_ids", positions);
    state.save(dir.join("model.safetensors")).unwrap();
    let [older, newer] = [dir.clone(), directory("bert")]
        .map(|dir| Bert::from_pretrained(dir).unwrap().state_dict().unwrap());
    assert!(older.equal(&newer).unwrap());
    std::fs::remove_dir_all(dir).unwrap();
}
