//! Whisper of Hugging Face's transformers: what it hears, computes and writes.

use module_examples::models::pretrained::{
    Pretrained, UnsupportedArgument, read_config, read_json,
};
use module_examples::models::whisper::{
    Caches, LogMel, LogMelConfig, Whisper, WhisperConfig, WhisperGenerationConfig,
};
use module_nn::generate::{generate, without_cache};
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::compare::{BOUNDS, compare, compare_fresh, compare_tensor, directory};

const NAMES: [&str; 2] = ["whisper", "whisper_options"];

fn features() -> StateDict {
    StateDict::load(directory("whisper_features.safetensors")).unwrap()
}

/// The features of the recorded sounds; the third is longer than a chunk, and transformers truncates it.
fn heard(front: &LogMel) -> Tensor {
    let recorded = features();
    let all = (0..4).map(|i| {
        let wave = recorded.get(&format!("wave/{i}")).unwrap();
        let samples = wave.size(0).unwrap().min(front.chunk_samples());
        let wave = wave.narrow(0, 0..samples).unwrap();
        front.call(wave.unsqueeze(0).unwrap()).unwrap()
    });
    Tensor::cat(&all.collect::<Vec<_>>(), 0).unwrap()
}

#[test]
fn sound_is_heard_as_by_transformers() {
    let recorded = features();
    let get = |key: &str| recorded.get(key).unwrap();
    for name in NAMES {
        let front = LogMel::from_pretrained(directory(name)).unwrap();
        let all = heard(&front);
        assert_eq!(all.dtype(), DType::F32);
        // The library computes in F32 with PyTorch and in F64 without it, which leaves three roundings to F32.
        compare_tensor(&all, get(&format!("{name}/features")), 1e-5);
        compare_tensor(&all, get(&format!("{name}/exact")), 2e-7);
    }
}

#[test]
fn silence_and_near_silence_give_the_features_of_transformers() {
    let recorded = StateDict::load(directory("whisper_quiet.safetensors")).unwrap();
    let get = |key: &str| recorded.get(key).unwrap();
    for name in NAMES {
        let front = LogMel::from_pretrained(directory(name)).unwrap();
        let hear = |key| front.call(get(key).unsqueeze(0).unwrap()).unwrap();
        let all = Tensor::cat(&["wave/0", "wave/1"].map(hear), 0).unwrap();
        compare_tensor(&all, get(name), 1e-5);
    }
}

#[test]
fn fresh_weights_are_as_wide_as_transformers() {
    let fresh: Value = read_json(directory("whisper_fresh.json")).unwrap();
    let mut given: Map<String, Value> = read_config(directory("whisper")).unwrap();
    given.extend(fresh["config"].as_object().unwrap().clone());
    let config: WhisperConfig = serde_json::from_value(given.into()).unwrap();
    let model = fork_rng(0, || Whisper::new(&config)).unwrap();
    compare_fresh(&model, fresh["widths"].as_object().unwrap());
}

#[test]
fn sounds_are_a_batch_each_with_its_own_loudness() {
    let recorded = features();
    let front = LogMel::from_pretrained(directory("whisper")).unwrap();
    let [quiet, loud] = [0, 2].map(|i| recorded.get(&format!("wave/{i}")).unwrap().clone());
    let quiet = quiet.mul(0.01).unwrap();
    let loud = loud.narrow(0, 0..front.chunk_samples()).unwrap();
    let missing = loud.size(0).unwrap() - quiet.size(0).unwrap();
    let padded = quiet.pad([0, missing as isize], 0.0).unwrap();
    let both = Tensor::stack(&[padded, loud.clone()], 0).unwrap();
    let both = front.call(both).unwrap();
    for (i, wave) in [quiet, loud].into_iter().enumerate() {
        let alone = front.call(wave.unsqueeze(0).unwrap()).unwrap();
        let row = both.narrow(0, i..i + 1).unwrap();
        compare_tensor(&row, &alone, 1e-6);
    }
}

#[test]
fn whisper_is_transformers() {
    for name in NAMES {
        let model = Whisper::from_pretrained(directory(name)).unwrap();
        assert!(!model.is_training());
        compare(name, &model, &BOUNDS, |model, inputs| {
            let sound = model.encode(inputs[0].clone())?;
            let (logits, _) = model.call((inputs[1].clone(), sound.clone(), Caches::new()))?;
            Tensor::cat(&[sound.flatten(1, -1)?, logits.flatten(1, -1)?], 1)
        });
        // The encoder's positions are not trained, and equal those of a fresh model.
        let key = "model.encoder.embed_positions.weight";
        let positions = model.get_parameter(key).unwrap();
        assert!(positions.is_frozen() && positions.grad().is_none());
        let config: WhisperConfig = read_config(directory(name)).unwrap();
        let fresh = Whisper::new(&config).unwrap();
        let fresh = fresh.get_parameter(key).unwrap();
        model.to_dtype(DType::F32).unwrap();
        compare_tensor(&fresh.detach(), &positions.detach(), 1e-5);
    }
}

#[test]
fn a_text_is_read_at_once_and_in_pieces() {
    for name in NAMES {
        let model = Whisper::from_pretrained(directory(name)).unwrap();
        let recorded = StateDict::load(directory(&format!("{name}.safetensors"))).unwrap();
        let [features, ids] = ["input0", "input1"].map(|key| recorded.get(key).unwrap().clone());
        let whole = no_grad(|| model.call((features.clone(), ids.clone()))).unwrap();
        let sound = no_grad(|| model.encode(features)).unwrap();
        let (mut pieces, mut caches) = (Vec::new(), Caches::new());
        for piece in [0..3, 3..4, 4..7] {
            let logits;
            let piece = ids.narrow(1, piece).unwrap();
            (logits, caches) = no_grad(|| model.call((piece, sound.clone(), caches))).unwrap();
            pieces.push(logits);
        }
        compare_tensor(&Tensor::cat(&pieces, 1).unwrap(), &whole, 1e-5);
        for (of_text, of_sound) in &caches {
            assert_eq!(
                (of_text.len(), of_sound.len()),
                (7, sound.size(1).unwrap()),
                "the sound is read once"
            );
        }
    }
}

#[derive(Deserialize)]
struct Text {
    changes: Map<String, Value>,
    ids: Vec<Vec<i64>>,
}

/// The file of a directory with changed arguments.
fn generation(name: &str, changes: Map<String, Value>) -> WhisperGenerationConfig {
    let file = directory(name).join("generation_config.json");
    let mut fields: Map<String, Value> = read_json(file).unwrap();
    fields.extend(changes);
    serde_json::from_value(fields.into()).unwrap()
}

#[test]
fn sound_is_written_as_by_transformers_token_for_token() {
    for (name, count) in [("whisper", 42), ("whisper_options", 15)] {
        let model = Whisper::from_pretrained(directory(name)).unwrap();
        let front = LogMel::from_pretrained(directory(name)).unwrap();
        let features = heard(&front);
        let sound = no_grad(|| model.encode(features.clone())).unwrap();
        let texts: Vec<Text> = read_json(directory(&format!("{name}_tokens.json"))).unwrap();
        assert_eq!(texts.len(), count);
        for Text { changes, ids } in texts {
            let config = generation(name, changes.clone());
            let written = model.generate(features.clone(), &config).unwrap();
            assert_eq!(written, ids, "{name} {changes:?}");

            // The same without a cache: everything is computed again for each token.
            let prompt = model.prompt(&sound, &config).unwrap();
            let begin = prompt.size(1).unwrap();
            let search = config.search(begin, model.max_target_positions()).unwrap();
            let mut whole = without_cache(|ids: Tensor| {
                let beams = ids.size(0)? / sound.size(0)?;
                let sound = sound.repeat_interleave(beams, 0)?;
                Ok(model.call((ids, sound, Caches::new()))?.0)
            });
            let written = generate(&mut whole, &prompt, &search).unwrap();
            for (row, ids) in ids.iter().enumerate() {
                let text = written.select(0, row as isize).unwrap();
                let text = text.to_vec::<i64>().unwrap().into_iter().skip(begin);
                let text: Vec<i64> = text.take_while(|id| *id != config.eos_token_id).collect();
                assert_eq!(&text, ids, "{name} {changes:?} without a cache");
            }
        }
    }
}

#[test]
fn unsupported_options_of_whisper_are_refused() {
    let with = |key: &str, value: Value| {
        let mut fields: Value = read_config(directory("whisper")).unwrap();
        fields[key] = value;
        let config: WhisperConfig = serde_json::from_value(fields).unwrap();
        Whisper::new(&config).map(drop).unwrap_err().to_string()
    };
    for (key, value, expected) in [
        (
            "apply_spec_augment",
            json!(true),
            "apply_spec_augment = true: this model has false only",
        ),
        (
            "encoder_layerdrop",
            json!(0.1),
            "encoder_layerdrop = 0.1: this model has 0.0 only",
        ),
        ("decoder_attention_heads", json!(5), "heads = 5"),
        ("rope_theta", json!(1.0), "does not know the argument"),
    ] {
        let error = with(key, value);
        assert!(error.contains(expected), "{error}");
    }

    let file = directory("whisper").join("preprocessor_config.json");
    for (key, value, expected) in [
        ("padding_side", json!("left"), "padding_side = \"left\""),
        (
            "dither",
            json!(1e-4),
            "dither = 0.0001: this model has 0.0 only",
        ),
        (
            "hop_length",
            json!(0),
            "LogMel: hop_length = 0: must be at least 1",
        ),
    ] {
        let mut fields: Value = read_json(&file).unwrap();
        fields[key] = value;
        let config: LogMelConfig = serde_json::from_value(fields).unwrap();
        let error = LogMel::new(&config).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    let model = Whisper::from_pretrained(directory("whisper")).unwrap();
    let silence = || Tensor::zeros([1, 80, 100], ()).unwrap();
    let error = model.encode(silence().narrow(2, 0..99).unwrap());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("[batch, 80, 100]"), "{error}");
    for (name, key, value, expected) in [
        (
            "whisper",
            "language",
            json!("xx"),
            "language = <|xx|>: must be one of <|de|>, <|en|>, <|fr|>",
        ),
        (
            "whisper",
            "task",
            json!("sing"),
            "task = sing: must be one of transcribe, translate",
        ),
        (
            "whisper_options",
            "language",
            json!("de"),
            "the model has no choice",
        ),
        (
            "whisper",
            "return_timestamps",
            json!(true),
            "return_timestamps = true: texts have no timestamps here; say false",
        ),
        (
            "whisper",
            "return_timestamps",
            json!("word"),
            "return_timestamps = \"word\": texts have no timestamps",
        ),
        (
            "whisper",
            "do_sample",
            json!(true),
            "do_sample = true: the likeliest text is written only; say false",
        ),
        (
            "whisper",
            "no_repeat_ngram_size",
            json!(3),
            "no_repeat_ngram_size = 3: this model has 0 only",
        ),
        (
            "whisper",
            "penalty_alpha",
            json!(0.6),
            "does not know the argument",
        ),
        (
            "whisper",
            "max_new_tokens",
            json!(17),
            "max_new_tokens = 17: must be at most 16 behind 4 tokens",
        ),
        (
            "whisper",
            "forced_decoder_ids",
            json!([[2, 24]]),
            "forced_decoder_ids = 2",
        ),
    ] {
        let config = generation(name, Map::from_iter([(key.to_owned(), value)]));
        let error = model.generate(silence(), &config).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn refusals_are_found_by_their_type() {
    let model = Whisper::from_pretrained(directory("whisper")).unwrap();
    let silence = Tensor::zeros([1, 80, 100], ()).unwrap();
    for name in ["return_timestamps", "do_sample"] {
        let config = generation("whisper", Map::from_iter([(name.to_owned(), json!(true))]));
        let error = model.generate(silence.clone(), &config).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Argument { name: found, .. } if *found == name),
            "{error}"
        );
    }
    let change = Map::from_iter([("no_repeat_ngram_size".to_owned(), json!(3))]);
    let error = model.generate(silence, &generation("whisper", change));
    let error = error.unwrap_err();
    let unsupported: &UnsupportedArgument = error.downcast_ref().unwrap();
    assert_eq!(unsupported.name, "no_repeat_ngram_size");
    assert_eq!(unsupported.supported, Some(json!(0)));

    // Null counts as absent.
    let null =
        ["do_sample", "return_timestamps", "min_length"].map(|name| (name.to_owned(), json!(null)));
    assert!(
        generation("whisper", Map::from_iter(null))
            .search(4, 20)
            .is_ok()
    );
}

#[test]
fn sound_that_is_longer_than_a_chunk_is_refused_and_not_cut() {
    let front = LogMel::from_pretrained(directory("whisper")).unwrap();
    let chunk = front.chunk_samples();
    assert_eq!(chunk, 16_000);
    let sound = Tensor::randn([2, 2 * chunk + 5], ()).unwrap();
    let error = front.call(sound.clone()).unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Argument {
                name: "samples",
                ..
            }
        ),
        "{error}"
    );
    let expected = "LogMel: samples = 32005: must be at most 16000, of 1 seconds; split the sound";
    assert!(error.to_string().contains(expected), "{error}");
    // As the error suggests.
    let chunks = sound.split(chunk, -1).unwrap();
    assert_eq!(chunks.len(), 3);
    for chunk in chunks {
        let features = front.call(chunk).unwrap();
        assert_eq!(**features.shape(), [2, 80, 100]);
    }
}

#[test]
fn configurations_of_published_checkpoints_are_read() {
    // The configuration of openai/whisper-tiny.
    let config = json!({
        "_name_or_path": "openai/whisper-tiny", "activation_dropout": 0.0, "activation_function": "gelu",
        "attention_dropout": 0.0, "d_model": 384, "decoder_attention_heads": 6, "decoder_ffn_dim": 1536,
        "decoder_layerdrop": 0.0, "decoder_layers": 4, "dropout": 0.0, "encoder_attention_heads": 6,
        "encoder_ffn_dim": 1536, "encoder_layerdrop": 0.0, "encoder_layers": 4, "init_std": 0.02,
        "max_source_positions": 1500, "max_target_positions": 448, "num_mel_bins": 80, "architectures": ["WhisperForConditionalGeneration"],
        "begin_suppress_tokens": [220, 50257], "bos_token_id": 50257, "decoder_start_token_id": 50258,
        "eos_token_id": 50257, "forced_decoder_ids": [[1, 50259], [2, 50359], [3, 50363]], "is_encoder_decoder": true,
        "max_length": 448, "model_type": "whisper", "num_hidden_layers": 4, "pad_token_id": 50257,
        "scale_embedding": false, "suppress_tokens": [1, 2, 7], "torch_dtype": "float32",
        "transformers_version": "4.27.0.dev0", "use_cache": true, "vocab_size": 51865,
    });
    let config: WhisperConfig = serde_json::from_value(config).unwrap();
    let model = deferred(|| Whisper::new(&config)).unwrap();
    assert_eq!(model.num_parameters(), 37_760_640);
}
