//! T5 of Hugging Face's transformers: what it computes, and what it answers.

use std::cell::RefCell;
use std::rc::Rc;

use module_examples::models::pretrained::{Pretrained, read_config, read_json};
use module_examples::models::t5::{Memory, T5, T5Config};
use module_nn::generate::{GenerationConfig, generate, with_cache};
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::compare::{BOUNDS, compare, compare_fresh, compare_tensor, directory, ids};

#[derive(Deserialize)]
struct Answer {
    config: GenerationConfig,
    source: Vec<Vec<i64>>,
    mask: Vec<Vec<i64>>,
    ids: Vec<Vec<i64>>,
}

#[test]
fn t5_is_transformers() {
    for name in ["t5", "t5_gated"] {
        let model = T5::from_pretrained(directory(name)).unwrap();
        assert!(!model.is_training());
        compare(name, &model, &BOUNDS, |model, inputs| {
            model.call((inputs[0].clone(), inputs[1].clone(), inputs[2].clone()))
        });
    }
}

#[test]
fn targets_in_pieces_are_targets_at_once() {
    for name in ["t5", "t5_gated"] {
        let model = T5::from_pretrained(directory(name)).unwrap();
        let recorded = StateDict::load(directory(&format!("{name}.safetensors"))).unwrap();
        let [source, mask, targets] =
            ["input0", "input1", "input2"].map(|key| recorded.get(key).unwrap().clone());
        let mut memory = no_grad(|| model.encode(source, mask)).unwrap();
        let mut pieces = Vec::new();
        for piece in [0..5, 5..6, 6..9, 9..14] {
            let logits;
            let piece = targets.narrow(1, piece).unwrap();
            (logits, memory) = no_grad(|| model.call((piece, memory))).unwrap();
            pieces.push(logits);
        }
        let logits = Tensor::cat(&pieces, 1).unwrap();
        compare_tensor(&logits, recorded.get("eval/f32/output").unwrap(), 1e-5);
    }
}

#[test]
fn t5_answers_as_transformers_token_for_token() {
    for name in ["t5", "t5_gated"] {
        let model = T5::from_pretrained(directory(name)).unwrap();
        let answers: Vec<Answer> = read_json(directory(&format!("{name}_texts.json"))).unwrap();
        assert_eq!(answers.len(), 10);
        for (n, answer) in answers.iter().enumerate() {
            let (source, mask) = (ids(&answer.source), ids(&answer.mask));
            let memory = no_grad(|| model.encode(source, mask)).unwrap();
            let start = model.start(answer.ids.len()).unwrap();
            let mut cached = with_cache(memory.clone(), |ids, memory| model.call((ids, memory)));
            // The whole answer each time, with the encoded source.
            let nothing = start.narrow(1, 0..0).unwrap();
            let mut whole =
                with_cache((memory, nothing), |new, (memory, ids): (Memory, Tensor)| {
                    let ids = Tensor::cat(&[ids, new], 1)?;
                    let (logits, _) = model.call((ids.clone(), memory.clone()))?;
                    Ok((logits, (memory, ids)))
                });
            let expected = ids(&answer.ids);
            for said in [
                generate(&mut cached, &start, &answer.config).unwrap(),
                generate(&mut whole, &start, &answer.config).unwrap(),
            ] {
                assert_eq!(said.shape(), expected.shape(), "{name} {n}");
                let [said, expected] = [&said, &expected].map(|x| x.to_vec::<i64>().unwrap());
                assert_eq!(said, expected, "{name} {n}");
            }
        }
    }
}

/// The recorded buckets of one set of arguments, for the positions from -300 on.
#[derive(Deserialize)]
struct Buckets {
    num_buckets: usize,
    max_distance: usize,
    bidirectional: bool,
    buckets: Vec<f64>,
}

#[test]
fn positions_have_the_buckets_of_transformers() {
    let given: Value = read_config(directory("t5")).unwrap();
    let cases: Vec<Buckets> = read_json(directory("t5_buckets.json")).unwrap();
    for case in &cases {
        let mut given = given.clone();
        given["relative_attention_num_buckets"] = json!(case.num_buckets);
        given["relative_attention_max_distance"] = json!(case.max_distance);
        let model = T5::new(&config(&given)).unwrap();
        let stack = if case.bidirectional {
            "encoder"
        } else {
            "decoder"
        };
        let place = format!("{stack}.block.0.layer.0.SelfAttention.relative_attention_bias");
        // A table that contains its row numbers shows which row is added.
        let table = model.get_parameter(&format!("{place}.weight")).unwrap();
        let rows = Tensor::arange(0, case.num_buckets as i64, DType::F32).unwrap();
        let rows = rows.unsqueeze(1).unwrap().expand([-1, 3]).unwrap();
        table.set(rows).unwrap();
        let seen = Rc::new(RefCell::new(Tensor::from(0.0_f32)));
        let bias = seen.clone();
        let layer = model.get_submodule(&place).unwrap();
        let hook = layer.register_forward_hook(move |call| {
            *bias.borrow_mut() = call.outputs()[0].clone();
        });
        let ids = Tensor::zeros([1, 301], DType::I64).unwrap();
        let _ = no_grad(|| model.call((ids.clone(), ids.ones_like()?, ids))).unwrap();
        drop(hook);
        let bias = seen.borrow().select(0, 0).unwrap().select(0, 0).unwrap();
        let of_query = |query: isize| bias.select(0, query).unwrap().to_vec::<f32>().unwrap();
        let (behind, ahead) = (of_query(300), of_query(0));
        for (n, expected) in case.buckets.iter().enumerate() {
            let position = n as isize - 300;
            let found = match position {
                ..=0 => behind[n],
                _ if case.bidirectional => ahead[n - 300],
                _ => {
                    assert_eq!(ahead[n - 300], f32::NEG_INFINITY);
                    continue;
                }
            };
            let at = format!(
                "{} of {} at {position}",
                case.max_distance, case.num_buckets
            );
            assert_eq!(f64::from(found), *expected, "{at}");
        }
    }
}

fn config(value: &Value) -> T5Config {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn fresh_weights_are_as_wide_as_transformers() {
    let cases: Vec<Value> = read_json(directory("t5_fresh.json")).unwrap();
    for fresh in &cases {
        let mut given: Value = read_config(directory("t5_gated")).unwrap();
        for name in [
            "num_decoder_layers",
            "dense_act_fn",
            "is_gated_act",
            "relative_attention_max_distance",
        ] {
            let _ = given.as_object_mut().unwrap().remove(name);
        }
        let changed = fresh["config"].as_object().unwrap().clone();
        given.as_object_mut().unwrap().extend(changed);
        let model = fork_rng(0, || T5::new(&config(&given))).unwrap();
        compare_fresh(&model, fresh["widths"].as_object().unwrap());
    }
}

#[test]
fn the_head_is_tied_unless_there_are_weights_of_its_own() {
    let is_tied = |model: &T5| {
        let [words, head] = ["shared.weight", "lm_head.weight"];
        let [words, head] = [words, head].map(|key| model.get_parameter(key).unwrap());
        words.initialize(module_nn::init::zeros()).unwrap();
        let head = head.detach().abs().unwrap().max(..).unwrap();
        head.item::<f32>().unwrap() == 0.0
    };
    for (name, tied) in [("t5", true), ("t5_gated", false)] {
        // transformers 5 gives the same value for both.
        let given: Value = read_config(directory(name)).unwrap();
        assert_eq!(given["tie_word_embeddings"], true);
        let model = T5::from_pretrained(directory(name)).unwrap();
        assert_eq!(is_tied(&model), tied, "{name}");
        let mut older = given;
        older["tie_word_embeddings"] = json!(tied);
        assert_eq!(is_tied(&T5::new(&config(&older)).unwrap()), tied, "{name}");
    }
}

#[test]
fn t5_of_older_files_is_read() {
    let dir = std::env::temp_dir().join(format!("t5-older-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    // As written by transformers 4: the head is declared as not tied, and the outputs are scaled if it is tied.
    let mut given: Value = read_config(directory("t5_gated")).unwrap();
    let fields = given.as_object_mut().unwrap();
    for name in [
        "scale_decoder_outputs",
        "dense_act_fn",
        "is_gated_act",
        "is_decoder",
        "classifier_dropout",
    ] {
        let _ = fields.remove(name).unwrap();
    }
    fields.insert("tie_word_embeddings".to_owned(), json!(false));
    fields.insert("n_positions".to_owned(), json!(512));
    fields.insert("output_past".to_owned(), json!(true));
    std::fs::write(dir.join("config.json"), given.to_string()).unwrap();
    // Each name of a table has a copy, and there is one more key that is not used.
    let mut state = StateDict::load(directory("t5_gated")).unwrap();
    let words = state.get("shared.weight").unwrap().clone();
    for stack in ["encoder", "decoder"] {
        let _ = state.insert(format!("{stack}.embed_tokens.weight"), words.clone());
    }
    let unread = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";
    let _ = state.insert(unread, Tensor::zeros([8, 3], DType::F32).unwrap());
    state.save_sharded(&dir, 4096).unwrap();
    let [older, newer] = [dir.clone(), directory("t5_gated")].map(|dir| {
        let model = T5::from_pretrained(dir).unwrap();
        let ids = Tensor::from([[3_i64, 9, 1, 4]]);
        no_grad(|| model.call((ids.clone(), ids.ones_like()?, ids))).unwrap()
    });
    assert!(older.equal(&newer).unwrap());
    std::fs::remove_dir_all(dir).unwrap();

    // The configurations of `google-t5/t5-small` and `google/flan-t5-small`.
    let small = json!({
        "architectures": ["T5ForConditionalGeneration"], "d_ff": 2048, "d_kv": 64, "d_model": 512,
        "decoder_start_token_id": 0, "dropout_rate": 0.1, "eos_token_id": 1, "initializer_factor": 1.0,
        "is_encoder_decoder": true, "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512,
        "num_heads": 8, "num_layers": 6, "output_past": true, "pad_token_id": 0,
        "relative_attention_num_buckets": 32, "task_specific_params": {}, "use_cache": true, "vocab_size": 32128
    });
    let model = deferred(|| T5::new(&config(&small))).unwrap();
    assert_eq!(model.num_parameters(), 60_506_624);
    let mut flan = small;
    let fields = flan.as_object_mut().unwrap();
    let changed = json!({
        "d_ff": 1024, "feed_forward_proj": "gated-gelu", "num_decoder_layers": 8, "num_heads": 6, "num_layers": 8,
        "relative_attention_max_distance": 128, "tie_word_embeddings": false
    });
    fields.extend(changed.as_object().unwrap().clone());
    let model = deferred(|| T5::new(&config(&flan))).unwrap();
    assert_eq!(model.num_parameters(), 76_961_152);
}

#[test]
fn labels_are_shifted_to_inputs_of_the_decoder() {
    let model = T5::from_pretrained(directory("t5")).unwrap();
    let shifted = model.shift_right(&Tensor::from([[5_i64, -100, 7], [8, 9, 1]]));
    assert_eq!(
        shifted.unwrap().to_vec::<i64>().unwrap(),
        [0, 5, 0, 0, 8, 9]
    );
}

#[test]
fn unsupported_options_of_t5_are_refused() {
    let given: Value = read_config(directory("t5_gated")).unwrap();
    let refused = |name: &str, value: Value| {
        let mut given = given.clone();
        given[name] = value;
        T5::new(&config(&given)).map(drop).unwrap_err().to_string()
    };
    let error = refused("dense_act_fn", json!("relu"));
    assert!(
        error.contains(r#"dense_act_fn = "relu": this model has "gelu_new" only"#),
        "{error}"
    );
    let error = refused("is_decoder", json!(true));
    assert!(error.contains("is_decoder = true"), "{error}");
    assert!(refused("num_heads", json!(0)).contains("heads = 0"));
    for buckets in 0..4 {
        let error = refused("relative_attention_num_buckets", json!(buckets));
        let expected = format!("relative_attention_num_buckets = {buckets}: must be at least 4");
        assert!(error.contains(&expected), "{error}");
    }
    // Of 8 buckets, the decoder has 4 for single positions, and no distance for the others.
    for distance in 0..5 {
        let error = refused("relative_attention_max_distance", json!(distance));
        let expected = format!("less than twice relative_attention_max_distance, {distance}");
        assert!(error.contains(&expected), "{error}");
    }
    let mut least = given.clone();
    least["relative_attention_num_buckets"] = json!(4);
    least["relative_attention_max_distance"] = json!(3);
    assert!(T5::new(&config(&least)).is_ok());
    assert!(T5::from_pretrained(directory("bert")).is_err());
}
