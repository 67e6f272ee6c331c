//! Embeddings beside those that transformers recorded, and models that are not what we embed with.

use std::path::PathBuf;

use module_examples::models::pretrained::read_json;
use module_nn::Tolerance;
use module_nn::prelude::*;
use module_serve::DATA;
use module_serve::sentence_encoder::SentenceEncoder;
use module_serve::sentence_tokenizer::{SentenceTokenizer, TooManyTokens};
use serde_json::{Value, json};

use crate::support::tiny;

/// A copy of the tiny model with another file.
fn with_file(name: &str, content: &Value) -> PathBuf {
    let copy = format!("serve-{}-{}", name.replace('/', "-"), std::process::id());
    let dir = std::env::temp_dir().join(copy);
    std::fs::create_dir_all(dir.join("1_Pooling")).unwrap();
    for file in std::fs::read_dir(tiny()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), dir.join(file.file_name())).unwrap();
    }
    std::fs::write(dir.join(name), content.to_string()).unwrap();
    dir
}

fn load(dir: &PathBuf) -> Result<SentenceEncoder> {
    SentenceEncoder::from_dir(dir, &SentenceTokenizer::from_dir(dir)?)
}

#[test]
fn the_tiny_model_embeds_as_transformers_does() {
    let sentences: Vec<String> = read_json(format!("{DATA}/sentences.json")).unwrap();
    let recorded = StateDict::load(format!("{DATA}/tiny.safetensors")).unwrap();
    let recorded = recorded.get("embeddings").unwrap();
    let tokenizer = SentenceTokenizer::from_dir(tiny()).unwrap();
    let encoder = load(&tiny()).unwrap();
    let texts = sentences.iter().map(|text| tokenizer.encode(text).unwrap());
    let texts: Vec<Vec<u32>> = texts.collect();
    // The file of the tokenizer cuts at 128.
    assert!(texts.iter().any(|text| text.len() > 128));
    let bound = Tolerance::new().rtol(0.0).atol(1e-6);
    let together = encoder.embed(&texts).unwrap();
    assert!(together.allclose(recorded, bound).unwrap());
    for (index, text) in texts.iter().enumerate() {
        let alone = encoder.embed(&[text]).unwrap().squeeze(0).unwrap();
        let expected = recorded.select(0, index as isize).unwrap();
        assert!(alone.allclose(&expected, bound).unwrap(), "{index}");
    }
}

#[test]
fn a_text_of_too_many_tokens_is_refused() {
    let tokenizer = SentenceTokenizer::from_dir(tiny()).unwrap();
    assert_eq!(tokenizer.encode(&"cat ".repeat(254)).unwrap().len(), 256);
    let error = tokenizer.encode(&"cat ".repeat(255)).unwrap_err();
    let problem: &TooManyTokens = error.downcast_ref().unwrap();
    assert_eq!((problem.tokens, problem.limit), (257, 256));
}

#[test]
fn models_that_pool_otherwise_or_do_not_fit_their_tokenizer_are_refused() {
    let mean = json!({"word_embedding_dimension": 16, "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false});
    let cls = json!({"pooling_mode_mean_tokens": false, "pooling_mode_cls_token": true});
    let both = json!({"pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": true});
    for (pooling, right) in [(mean, true), (cls, false), (both, false)] {
        let dir = with_file("1_Pooling/config.json", &pooling);
        let loaded = load(&dir);
        std::fs::remove_dir_all(dir).unwrap();
        assert_eq!(loaded.is_ok(), right, "{pooling}");
    }
    let dir = with_file("sentence_bert_config.json", &json!({"max_seq_length": 257}));
    let error = load(&dir).map(drop).unwrap_err().to_string();
    std::fs::remove_dir_all(dir).unwrap();
    assert!(
        error.contains("256 positions, its tokenizer needs 257"),
        "{error}"
    );
}
