//! CLIP of Hugging Face's transformers.

use module_examples::models::clip::{CLIP, CLIPConfig};
use module_examples::models::pretrained::{Pretrained, read_config, read_json};
use module_nn::prelude::*;
use serde_json::{Value, json};

use crate::compare::{BOUNDS, compare, compare_fresh, directory};

/// The outputs of a whole pass and of each encoder, one after another.
fn outputs(model: &CLIP, inputs: &[Tensor]) -> Result<Tensor> {
    let (images, ids, mask) = (inputs[0].clone(), inputs[1].clone(), inputs.get(2).cloned());
    let (per_image, per_text) = model.call((ids.clone(), images.clone(), mask.clone()))?;
    let images = model.get_image_features(images)?;
    let parts = [
        per_image,
        per_text,
        images,
        model.get_text_features(ids, mask)?,
    ];
    let flat: Result<Vec<Tensor>> = parts.iter().map(|part| part.flatten(0, -1)).collect();
    Tensor::cat(&flat?, 0)
}

#[test]
fn clip_is_transformers() {
    for name in ["clip", "clip_masked"] {
        let model = CLIP::from_pretrained(directory(name)).unwrap();
        assert!(!model.is_training());
        compare(name, &model, &BOUNDS, outputs);
    }
}

fn config(value: &Value) -> CLIPConfig {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn fresh_weights_are_as_wide_as_transformers() {
    let fresh: Value = read_json(directory("clip_fresh.json")).unwrap();
    let mut given: Value = read_config(directory("clip")).unwrap();
    let changed = fresh["config"].as_object().unwrap().clone();
    given.as_object_mut().unwrap().extend(changed);
    let model = fork_rng(0, || CLIP::new(&config(&given))).unwrap();
    compare_fresh(&model, fresh["widths"].as_object().unwrap());
}

#[test]
fn a_text_ends_at_the_first_end_or_at_the_greatest_id_of_older_configurations() {
    let given: Value = read_config(directory("clip_masked")).unwrap();
    let features = |end: i64, ids: [[i64; 4]; 1]| {
        let mut given = given.clone();
        given["text_config"]["eos_token_id"] = json!(end);
        let model = fork_rng(0, || CLIP::new(&config(&given))).unwrap();
        model.eval();
        let features = no_grad(|| model.get_text_features(Tensor::from(ids), None)).unwrap();
        features.to_vec::<f32>().unwrap()
    };
    // Tokens after the end are not visible.
    assert_eq!(
        features(19, [[3, 19, 19, 22]]),
        features(19, [[3, 19, 5, 6]])
    );
    assert_ne!(features(19, [[3, 19, 5, 6]]), features(19, [[3, 5, 19, 6]]));
    // The largest id is 22 in the first text, and 19, the first of two, in the second.
    assert_eq!(features(2, [[3, 22, 19, 2]]), features(2, [[3, 22, 7, 2]]));
    assert_eq!(features(2, [[3, 19, 19, 2]]), features(2, [[3, 19, 5, 6]]));
    assert_ne!(
        features(2, [[3, 22, 19, 2]]),
        features(19, [[3, 22, 19, 2]])
    );
}

#[test]
fn configurations_of_older_files_are_read() {
    // The configuration of `openai/clip-vit-base-patch32`, written in full.
    let tower = r#"{
        "_name_or_path": "", "add_cross_attention": false, "architectures": null, "attention_dropout": 0.0,
        "bad_words_ids": null, "bos_token_id": 0, "chunk_size_feed_forward": 0, "cross_attention_hidden_size": null,
        "decoder_start_token_id": null, "diversity_penalty": 0.0, "do_sample": false, "dropout": 0.0,
        "early_stopping": false, "encoder_no_repeat_ngram_size": 0, "finetuning_task": null,
        "forced_bos_token_id": null, "forced_eos_token_id": null, "hidden_act": "quick_gelu",
        "id2label": {"0": "LABEL_0", "1": "LABEL_1"}, "initializer_factor": 1.0, "initializer_range": 0.02,
        "is_decoder": false, "is_encoder_decoder": false, "label2id": {"LABEL_0": 0, "LABEL_1": 1},
        "layer_norm_eps": 1e-05, "length_penalty": 1.0, "max_length": 20, "min_length": 0,
        "no_repeat_ngram_size": 0, "num_beam_groups": 1, "num_beams": 1, "num_hidden_layers": 12,
        "num_return_sequences": 1, "output_attentions": false, "output_hidden_states": false,
        "output_scores": false, "pad_token_id": 1, "prefix": null, "projection_dim": 512, "problem_type": null,
        "pruned_heads": {}, "remove_invalid_values": false, "repetition_penalty": 1.0, "return_dict": true,
        "return_dict_in_generate": false, "sep_token_id": null, "task_specific_params": null, "temperature": 1.0,
        "tie_encoder_decoder": false, "tie_word_embeddings": true, "tokenizer_class": null, "top_k": 50,
        "top_p": 1.0, "torch_dtype": null, "torchscript": false, "transformers_version": "4.16.0.dev0",
        "use_bfloat16": false
    }"#;
    let tower: Value = serde_json::from_str(tower).unwrap();
    let with = |more: Value| {
        let mut tower = tower.clone();
        let fields = tower.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        tower
    };
    let given = json!({
        "_name_or_path": "openai/clip-vit-base-patch32", "architectures": ["CLIPModel"], "initializer_factor": 1.0,
        "logit_scale_init_value": 2.6592, "model_type": "clip", "projection_dim": 512,
        "text_config": with(json!({
            "eos_token_id": 2, "hidden_size": 512, "intermediate_size": 2048, "max_position_embeddings": 77,
            "model_type": "clip_text_model", "num_attention_heads": 8, "vocab_size": 49408
        })),
        "text_config_dict": null, "transformers_version": null,
        "vision_config": with(json!({
            "eos_token_id": null, "hidden_size": 768, "image_size": 224, "intermediate_size": 3072,
            "model_type": "clip_vision_model", "num_attention_heads": 12, "patch_size": 32
        })),
        "vision_config_dict": null
    });
    let model = deferred(|| CLIP::new(&config(&given))).unwrap();
    assert_eq!(model.num_parameters(), 151_277_313);
    // Arguments that an encoder's configuration omits have the first model's values.
    let short = json!({
        "initializer_factor": 1.0, "logit_scale_init_value": 2.6592, "model_type": "clip", "projection_dim": 512,
        "text_config": {"eos_token_id": 2}, "vision_config": {}
    });
    let model = deferred(|| CLIP::new(&config(&short))).unwrap();
    assert_eq!(model.num_parameters(), 151_277_313);
    // In the oldest files, the configuration next to it takes precedence.
    let mut older = short;
    older["vision_config_dict"] = json!({"patch_size": 16});
    let model = deferred(|| CLIP::new(&config(&older))).unwrap();
    let patches = model.get_parameter("vision_model.embeddings.patch_embedding.weight");
    assert_eq!(patches.unwrap().shape(), [768, 3, 16, 16].into());
}

#[test]
fn positions_of_older_files_are_not_read() {
    let dir = std::env::temp_dir().join(format!("clip-positions-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::copy(directory("clip/config.json"), dir.join("config.json")).unwrap();
    let mut state = StateDict::load(directory("clip")).unwrap();
    for (tower, count) in [("text", 9), ("vision", 10)] {
        let positions = Tensor::arange(0, count, DType::I64).unwrap();
        let key = format!("{tower}_model.embeddings.position_ids");
        let _ = state.insert(key, positions.unsqueeze(0).unwrap());
    }
    state.save(dir.join("model.safetensors")).unwrap();
    let [older, newer] = [dir.clone(), directory("clip")]
        .map(|dir| CLIP::from_pretrained(dir).unwrap().state_dict().unwrap());
    assert!(older.equal(&newer).unwrap());
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn unsupported_options_of_clip_are_refused() {
    let given: Value = read_config(directory("clip")).unwrap();
    let refused = |tower: &str, name: &str, value: Value| {
        let mut given = given.clone();
        given[tower][name] = value;
        CLIP::new(&config(&given))
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    let error = refused("text_config", "pruned_heads", json!({"1": [0]}));
    assert!(error.contains(r#"pruned_heads = {"1":[0]}"#), "{error}");
    let error = refused("vision_config", "num_attention_heads", json!(3));
    assert!(error.contains("heads = 3"), "{error}");
    let error = refused("vision_config", "patch_size", json!(0));
    assert!(error.contains("kernel_size"), "{error}");

    let model = CLIP::new(&config(&given)).unwrap();
    let images = Tensor::zeros([1, 3, 12, 8], DType::F32).unwrap();
    let error = model.get_image_features(images).unwrap_err().to_string();
    assert!(error.contains("[N, channels, 12, 12]"), "{error}");
    assert!(CLIP::from_pretrained(directory("bert")).is_err());
}
