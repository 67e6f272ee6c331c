//! Logits of the next token, and whole texts, token for token.

use module_nn::AttentionOptions;
use module_nn::data::pad_batch;
use module_nn::generate::{
    self, EarlyStopping, GenerationConfig, LanguageModel, generate, with_cache, without_cache,
};
use module_nn::prelude::*;
use module_nn::rnn::PaddingSide;
use module_tests::golden::{Tolerance, assert_close};
use serde_json::Value;

use super::{number, recorded_in};

#[test]
fn scores_are_changed_as_by_transformers() {
    for file in ["language_models", "suppressed_texts"] {
        compare_scores(file);
    }
}

fn compare_scores(file: &str) {
    let (cases, tensors) = recorded_in(file, "processors");
    let of = |name: &str| tensors.get(name).unwrap().clone();
    for (n, case) in cases.iter().enumerate() {
        let mut scores = of("processors.scores");
        let ids = of("processors.ids");
        if let Some(penalty) = case["repetition_penalty"].as_f64() {
            scores = generate::repetition_penalty(&scores, &ids, penalty).unwrap();
        }
        if let Some(tokens) = case["suppress_tokens"].as_array() {
            let tokens: Vec<i64> = tokens.iter().filter_map(Value::as_i64).collect();
            scores = generate::suppress_tokens(&scores, &tokens).unwrap();
        }
        if let Some(temperature) = case["temperature"].as_f64() {
            scores = generate::temperature(&scores, temperature).unwrap();
        }
        if case["top_k"].is_u64() {
            scores = generate::top_k(&scores, number(&case["top_k"])).unwrap();
        }
        if let Some(p) = case["top_p"].as_f64() {
            scores = generate::top_p(&scores, p, 1).unwrap();
        }
        if let Some(p) = case["min_p"].as_f64() {
            scores = generate::min_p(&scores, p, 1).unwrap();
        }
        let expected = of(&format!("processors{n}.out"));
        assert_close(
            &scores,
            &expected,
            Tolerance::ELEMENTWISE,
            &format!("{case}"),
        );
    }
}

fn config(case: &Value) -> GenerationConfig {
    let mut known = case.as_object().unwrap().clone();
    known.remove("prompt");
    known.remove("seed");
    known.insert("max_new_tokens".to_owned(), 8.into());
    if let Some(early) = known.get_mut("early_stopping") {
        *early = match early {
            Value::Bool(true) => "immediate",
            Value::Bool(false) => "heuristic",
            _ => "never",
        }
        .into();
    }
    serde_json::from_value(Value::Object(known)).unwrap()
}

#[test]
fn texts_are_those_of_transformers_token_for_token() {
    for file in ["language_models", "suppressed_texts"] {
        compare_texts(file);
    }
}

fn compare_texts(file: &str) {
    let (cases, tensors) = recorded_in(file, "texts");
    let of = |name: &str| tensors.get(name).unwrap().clone();
    let [first, second] = ["texts.first", "texts.second"].map(of);
    for (n, case) in cases.iter().enumerate() {
        let forward = |ids: Tensor| -> Result<Tensor> {
            let length = ids.size(1)?;
            let logits = first.embedding(&ids.narrow(1, length - 1..length)?, None)?;
            match length {
                1 => Ok(logits),
                _ => {
                    let before = ids.narrow(1, length - 2..length - 1)?;
                    logits.add(&second.embedding(&before, None)?)
                }
            }
        };
        let prompt = of(&format!("texts.prompt{}", case["prompt"]));
        let seed = case["seed"].as_u64().unwrap();
        let ids = fork_rng(seed, || {
            generate(&mut without_cache(forward), &prompt, &config(case))
        });
        let (ids, expected) = (ids.unwrap(), of(&format!("texts{n}.out")));
        assert_eq!(ids.shape(), expected.shape(), "{case}");
        let [ids, expected] = [ids, expected].map(|x| x.to_vec::<i64>().unwrap());
        assert_eq!(ids, expected, "{case}");
    }
}

#[derive(Module)]
struct Decoder {
    words: Embedding,
    layers: Vec<GroupedQueryAttention>,
    head: Linear,
}

impl Decoder {
    fn new() -> Result<Self> {
        let attention =
            GroupedQueryAttentionConfig::new(12, 3).rotary(RotaryEmbeddingConfig::new(4));
        Ok(Self {
            words: Embedding::new(17, 12)?,
            layers: vec![attention.build()?, attention.build()?],
            head: Linear::new(12, 17)?,
        })
    }
}

impl Forward<(Tensor, Vec<KeyValueCache>)> for Decoder {
    type Output = (Tensor, Vec<KeyValueCache>);

    fn forward(&self, (ids, caches): (Tensor, Vec<KeyValueCache>)) -> Result<Self::Output> {
        let mut x = self.words.call(ids)?;
        let mut longer = Vec::new();
        for (layer, cache) in self.layers.iter().zip(caches) {
            let (y, cache) = layer.call((x.clone(), cache))?;
            x = x.add(&y)?;
            longer.push(cache);
        }
        Ok((self.head.call(x)?, longer))
    }
}

#[test]
fn a_cache_changes_no_text() {
    let net = fork_rng(3, Decoder::new).unwrap();
    let prompt = Tensor::from([[1_i64, 2, 3], [7, 5, 9]]);
    let caches = || vec![KeyValueCache::with_capacity(20); 2];
    for config in [
        GenerationConfig::new(10),
        GenerationConfig::new(10).num_beams(4).eos_token_id([4]),
        GenerationConfig::new(10)
            .num_beams(3)
            .early_stopping(EarlyStopping::Never),
        GenerationConfig::new(10).do_sample(true).top_p(0.9),
        GenerationConfig::new(6)
            .num_beams(3)
            .do_sample(true)
            .temperature(2.0),
    ] {
        let whole = |ids| Ok(net.call((ids, vec![KeyValueCache::new(); 2]))?.0);
        let plain = fork_rng(1, || generate(&mut without_cache(whole), &prompt, &config)).unwrap();
        let mut model = with_cache(caches(), |ids, caches| net.call((ids, caches)));
        let cached = fork_rng(1, || generate(&mut model, &prompt, &config)).unwrap();
        assert_eq!(
            cached.to_vec::<i64>().unwrap(),
            plain.to_vec::<i64>().unwrap(),
            "{config:?}"
        );
        assert_eq!(
            cached.narrow(1, 0..3).unwrap().to_vec::<i64>().unwrap(),
            [1, 2, 3, 7, 5, 9]
        );
    }
}

/// Keys and values of the target, and the encoder's output for the source, if there is one.
type Memory = (KeyValueCache, Option<Tensor>);

#[derive(Module)]
struct Translator {
    words: Embedding,
    target: GroupedQueryAttention,
    head: Linear,
}

impl Forward<(Tensor, Memory)> for Translator {
    type Output = (Tensor, Memory);

    fn forward(&self, (ids, (cache, source)): (Tensor, Memory)) -> Result<Self::Output> {
        let (mut x, cache) = self.target.call((self.words.call(ids)?, cache))?;
        if let Some(source) = &source {
            let read = x.scaled_dot_product_attention(source, source, AttentionOptions::new())?;
            x = x.add(&read)?;
        }
        Ok((self.head.call(x)?, (cache, source)))
    }
}

impl Translator {
    fn new() -> Result<Self> {
        Ok(Self {
            words: Embedding::new(17, 12)?,
            target: GroupedQueryAttention::new(12, 3)?,
            head: Linear::new(12, 17)?,
        })
    }
}

#[test]
fn each_text_keeps_its_own_source() {
    let net = fork_rng(3, Translator::new).unwrap();
    let start = Tensor::from([[1_i64], [1], [1]]);
    let sources = fork_rng(5, || Tensor::randn([3, 4, 12], DType::F32)).unwrap();
    let texts = |memory: Memory, start: &Tensor, config: &GenerationConfig| {
        let mut model = with_cache(memory, |ids, memory| net.call((ids, memory)));
        generate(&mut model, start, config).unwrap()
    };
    for config in [
        GenerationConfig::new(8),
        GenerationConfig::new(8).num_beams(4),
        GenerationConfig::new(8)
            .num_beams(3)
            .eos_token_id([4, 9])
            .pad_token_id(0),
    ] {
        let together = texts(
            (KeyValueCache::new(), Some(sources.clone())),
            &start,
            &config,
        );
        let together: Vec<Vec<i64>> = (0..3)
            .map(|row| together.select(0, row).unwrap().to_vec().unwrap())
            .collect();
        assert_ne!(together[0], together[1], "{config:?}");
        assert_ne!(together[1], together[2], "{config:?}");
        for (row, text) in together.iter().enumerate() {
            // Alone, without a cache: rows cannot be confused.
            let source = sources.narrow(0, row..row + 1).unwrap();
            let whole = |ids: Tensor| {
                let source = source.expand([ids.size(0)? as isize, -1, -1])?;
                Ok(net.call((ids, (KeyValueCache::new(), Some(source))))?.0)
            };
            let start = start.narrow(0, row..row + 1).unwrap();
            let alone = generate(&mut without_cache(whole), &start, &config).unwrap();
            let alone = alone.to_vec::<i64>().unwrap();
            // The others may be longer.
            assert_eq!(text[..alone.len()], alone, "{config:?}");
            assert!(text[alone.len()..].iter().all(|id| *id == 0));
        }
        let none = texts((KeyValueCache::new(), None), &start, &config);
        let none = none.select(0, 0).unwrap().to_vec::<i64>().unwrap();
        assert!(together.iter().any(|text| *text != none), "{config:?}");
    }
}

#[test]
fn a_pass_that_failed_takes_what_was_remembered_with_it() {
    let net = fork_rng(3, Translator::new).unwrap();
    let mut model = with_cache((KeyValueCache::new(), None), |ids, memory| {
        net.call((ids, memory))
    });
    let config = GenerationConfig::new(2);
    generate(&mut model, &Tensor::from([[1_i64, 2]]), &config).unwrap();
    let (cache, source) = model.cache().unwrap();
    assert_eq!(cache.len(), 3);
    assert!(source.is_none());
    let beyond_the_vocabulary = Tensor::from([[17_i64]]);
    assert!(generate(&mut model, &beyond_the_vocabulary, &config).is_err());
    assert!(model.cache().is_none());
    let lost = "generate: a pass failed, and what the model remembered is lost with it; make a new model by `with_cache`";
    let again = generate(&mut model, &Tensor::from([[1_i64]]), &config);
    assert_eq!(again.unwrap_err().to_string(), lost);
    let rows = model.select(&Tensor::from([0_i64]));
    assert_eq!(rows.unwrap_err().to_string(), lost);
}

#[test]
fn what_cannot_be_generated_is_refused() {
    let logits = |ids: Tensor| Tensor::zeros([ids.size(0)?, 3], DType::F32);
    let refused = |prompt: &Tensor, config: GenerationConfig| {
        let error = generate(&mut without_cache(logits), prompt, &config);
        error.unwrap_err().to_string()
    };
    let prompt = Tensor::from([[1_i64]]);
    for (config, expected) in [
        (GenerationConfig::new(0), "max_new_tokens = 0"),
        (GenerationConfig::new(1).num_beams(0), "num_beams = 0"),
        (GenerationConfig::new(1).temperature(0.0), "temperature = 0"),
        (GenerationConfig::new(1).top_k(0), "top_k = 0"),
        (GenerationConfig::new(1).top_p(1.5), "top_p = 1.5"),
        (
            GenerationConfig::new(1).suppress_tokens([3]),
            "index_fill: index 3",
        ),
        (
            GenerationConfig::new(1)
                .num_beams(2)
                .eos_token_id([0, 1, 2]),
            "vocabulary = 3",
        ),
    ] {
        let error = refused(&prompt, config);
        assert!(error.contains(expected), "{error}");
    }
    assert!(refused(&Tensor::from([1_i64]), GenerationConfig::new(1)).contains("[batch, length]"));
    let empty = Tensor::zeros([1, 0], DType::I64).unwrap();
    assert!(refused(&empty, GenerationConfig::new(1)).contains("prompt"));
    let wrong = |_: Tensor| Tensor::zeros([4, 3], DType::F32);
    let error = generate(
        &mut without_cache(wrong),
        &prompt,
        &GenerationConfig::new(1),
    );
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("logits [1, vocabulary]")
    );
}

#[test]
fn sequences_of_ids_become_a_batch_and_its_mask() {
    let texts = [vec![5_u32], vec![6, 7, 8], vec![9, 10]];
    let right = pad_batch(&texts, 1, PaddingSide::Right).unwrap();
    assert_eq!(
        right.ids.to_vec::<i64>().unwrap(),
        [5, 1, 1, 6, 7, 8, 9, 10, 1]
    );
    let mask = right
        .mask
        .to_dtype(DType::I64)
        .unwrap()
        .to_vec::<i64>()
        .unwrap();
    assert_eq!(mask, [1, 0, 0, 1, 1, 1, 1, 1, 0]);
    let left = pad_batch(&texts, 1, PaddingSide::Left).unwrap();
    assert_eq!(
        left.ids.to_vec::<i64>().unwrap(),
        [1, 1, 5, 6, 7, 8, 1, 9, 10]
    );
    assert_eq!(
        left.positions().unwrap().to_vec::<i64>().unwrap(),
        [0, 0, 0, 0, 1, 2, 0, 0, 1]
    );
    // The mask excludes the padding: a row is the same as when it is alone.
    let net = fork_rng(3, || GroupedQueryAttention::new(8, 2)).unwrap();
    let words = fork_rng(4, || Embedding::new(11, 8)).unwrap();
    let mask = left.mask.unsqueeze(1).unwrap().unsqueeze(1).unwrap();
    let input = GroupedQueryAttentionInput::new(words.call(left.ids).unwrap()).attn_mask(mask);
    let (y, _) = net.call(input).unwrap();
    let alone = words.call(Tensor::from([[9_i64, 10]])).unwrap();
    let alone = net.call(alone).unwrap().select(0, 0).unwrap();
    let row = y.select(0, 2).unwrap().narrow(0, 1..3).unwrap();
    assert_close(&row, &alone, Tolerance::CONTRACTION, "padded");
    let none: [Vec<u32>; 0] = [];
    let error = pad_batch(&none, 0, PaddingSide::Left)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "pad_batch: sequences = []: there must be at least one sequence"
    );
    let error = pad_batch(&[vec![1_u32], vec![]], 0, PaddingSide::Left)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "pad_batch: sequences = []: sequence 1 has no ids; leave it out or give it one"
    );
}
