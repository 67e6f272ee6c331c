//! T5 of Hugging Face's transformers, `T5ForConditionalGeneration`: the original T5, and T5 1.1 and Flan-T5 with gated
//! feed-forward layers.
//!
//! Source: Raffel et al., *Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer* (2019).

mod blocks;

use std::path::Path;

use module_nn::init::{Constant, Normal};
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::pretrained::{IGNORED, Pretrained, read_config, read_weights};
use super::transformers;
pub use blocks::Memory;
use blocks::Stack;

/// transformers' `config.json`.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the names are transformers'")]
pub struct T5Config {
    pub vocab_size: usize,
    pub d_model: usize,
    pub d_kv: usize,
    pub d_ff: usize,
    pub num_layers: usize,
    pub num_decoder_layers: Option<usize>,
    pub num_heads: usize,
    pub relative_attention_num_buckets: usize,
    pub relative_attention_max_distance: Option<usize>,
    pub dropout_rate: f64,
    pub layer_norm_epsilon: f64,
    pub initializer_factor: f64,
    #[serde(default)]
    pub feed_forward_proj: FeedForwardProj,
    pub pad_token_id: i64,
    pub decoder_start_token_id: i64,
    /// Whether the head shares the embedding table; true if absent.
    pub tie_word_embeddings: Option<bool>,
    /// Whether the decoder's output is scaled by `d_model**-0.5` before the head; if absent, only if the head is tied.
    pub scale_decoder_outputs: Option<bool>,
    /// Arguments that must have the value of this model.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The activation of the feed-forward layers.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedForwardProj {
    /// The original T5's.
    #[default]
    Relu,
    /// T5 1.1's, with the tanh approximation.
    GatedGelu,
}

impl T5Config {
    /// Draws from a normal distribution with variance 1 / `over`, scaled by the initializer factor.
    fn normal(&self, shape: [usize; 2], over: usize) -> Result<Parameter> {
        let std = self.initializer_factor / (over as f64).sqrt();
        Parameter::with_init(shape, Normal { mean: 0.0, std })
    }

    fn linear(&self, from: usize, to: usize, over: usize) -> Result<Linear> {
        Linear::from_parts(self.normal([to, from], over)?, Bias::Absent)
    }

    fn norm(&self) -> Result<RMSNorm> {
        let weight = Parameter::with_init([self.d_model], Constant(self.initializer_factor))?;
        let norm = RMSNormConfig::new(self.d_model).eps(self.layer_norm_epsilon);
        norm.from_parts(weight)
    }

    fn is_tied(&self) -> bool {
        self.tie_word_embeddings.unwrap_or(true)
    }

    fn max_distance(&self) -> usize {
        self.relative_attention_max_distance.unwrap_or(128)
    }

    /// Refuses numbers of buckets that cannot be divided logarithmically: the encoder uses half of them in each direction.
    fn check_buckets(&self) -> Result<()> {
        let (buckets, distance) = (self.relative_attention_num_buckets, self.max_distance());
        if buckets >= 4 && buckets / 2 < distance {
            return Ok(());
        }
        let name = "relative_attention_num_buckets";
        let problem = format!(
            "must be at least 4, and less than twice relative_attention_max_distance, {distance}"
        );
        Err(Error::argument("T5", name, buckets, problem))
    }
}

/// Token ids of sources and of the beginnings of their targets, to `(N, L, vocab_size)` logits for the token after each
/// target token.
///
/// It is called with three tensors: sources `(N, S)`, a mask that is 0 for padding `(N, S)`, and targets `(N, L)`. To
/// generate, [`encode`](Self::encode) the sources once, and call the model with new tokens and the memory.
#[derive(Module)]
pub struct T5 {
    start: i64,
    padding: i64,
    scale: f64,
    shared: Embedding,
    encoder: Stack,
    decoder: Stack,
    lm_head: Linear,
}

impl Pretrained for T5 {
    type Config = T5Config;

    fn new(config: &T5Config) -> Result<Self> {
        let (act, is_gated) = match config.feed_forward_proj {
            FeedForwardProj::Relu => ("relu", false),
            FeedForwardProj::GatedGelu => ("gelu_new", true),
        };
        let only = [
            ("model_type", json!("t5")),
            ("is_encoder_decoder", json!(true)),
            ("dense_act_fn", json!(act)),
            ("is_gated_act", json!(is_gated)),
            // For another head.
            ("classifier_dropout", json!(IGNORED)),
            // In older files; positions are relative.
            ("n_positions", json!(IGNORED)),
        ];
        transformers::check_rest("T5", &config.rest, &only)?;
        let inner = config.num_heads * config.d_kv;
        transformers::check_heads("T5", inner, config.num_heads)?;
        config.check_buckets()?;
        let words = || config.normal([config.vocab_size, config.d_model], 1);
        let shared = words()?;
        let head = match config.is_tied() {
            true => shared.share(),
            false => words()?,
        };
        let is_scaled = config.scale_decoder_outputs.unwrap_or(config.is_tied());
        let power = if is_scaled { -0.5 } else { 0.0 };
        Ok(Self {
            start: config.decoder_start_token_id,
            padding: config.pad_token_id,
            scale: (config.d_model as f64).powf(power),
            encoder: Stack::new(config, false, &shared)?,
            decoder: Stack::new(config, true, &shared)?,
            lm_head: Linear::from_parts(head, Bias::Absent)?,
            shared: Embedding::from_parts(shared)?,
        })
    }

    /// As in transformers, the head is tied unless the file has separate weights for it, because configurations of
    /// transformers 5 always say that it is tied.
    fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        let mut config: T5Config = read_config(&dir)?;
        let mut weights = read_weights(&dir)?;
        // In older files; it was never read.
        weights.remove("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");
        let is_scaled = config.scale_decoder_outputs.unwrap_or(config.is_tied());
        config.scale_decoder_outputs = Some(is_scaled);
        let tables = weights
            .get("shared.weight")
            .zip(weights.get("lm_head.weight"));
        let is_tied = tables.map(|(words, head)| words.equal(head)).transpose()?;
        config.tie_word_embeddings = Some(is_tied.unwrap_or(true));
        Self::from_weights(&config, &weights)
    }
}

impl T5 {
    /// Encodes sources, `(N, S)` token ids and a mask that is 0 for padding, into a memory for targets that follow.
    ///
    /// # Errors
    ///
    /// Other shapes, ids outside the vocabulary.
    pub fn encode(&self, ids: Tensor, mask: Tensor) -> Result<Memory> {
        let length = ids.size(1)? as isize;
        let mask = mask.ne(0)?.unsqueeze(1)?.unsqueeze(1)?;
        let seen = mask.expand([-1, -1, length, -1])?;
        let nothing = vec![Default::default(); self.encoder.block.len()];
        let (states, (_, mask)) = self.encoder.call((ids, seen, (nothing, mask)))?;
        let blocks = self.decoder.block.iter();
        let blocks: Result<_> = blocks.map(|block| block.remember(&states)).collect();
        Ok((blocks?, mask))
    }

    /// The start token for this many targets, `(N, 1)`.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub fn start(&self, targets: usize) -> Result<Tensor> {
        Tensor::full([targets, 1], self.start, DType::I64)
    }

    /// The decoder's input in training for the targets `labels` `(N, L)`: the start token, and each label but the last.
    /// Labels of -100, which are excluded from the loss, become padding.
    ///
    /// # Errors
    ///
    /// Labels that are not `I64` with two dimensions.
    pub fn shift_right(&self, labels: &Tensor) -> Result<Tensor> {
        let last = labels.size(1)?.saturating_sub(1);
        let targets = [self.start(labels.size(0)?)?, labels.narrow(1, 0..last)?];
        let targets = Tensor::cat(&targets, 1)?;
        targets.masked_fill(&targets.eq(-100)?, self.padding)
    }
}

/// New tokens of the targets, and the memory.
impl Forward<(Tensor, Memory)> for T5 {
    type Output = (Tensor, Memory);

    fn forward(&self, (ids, memory): (Tensor, Memory)) -> Result<Self::Output> {
        let past = memory.0.first().map_or(0, |(cache, _)| cache.len());
        let new = ids.size(1)?;
        let seen = Tensor::ones([new, past + new], DType::Bool)?.tril(past as i64)?;
        let (x, memory) = self.decoder.call((ids, seen, memory))?;
        Ok((self.lm_head.call(x.mul(self.scale)?)?, memory))
    }
}

impl Forward<(Tensor, Tensor, Tensor)> for T5 {
    type Output = Tensor;

    fn forward(&self, (ids, mask, targets): (Tensor, Tensor, Tensor)) -> Result<Tensor> {
        let (logits, _) = self.forward((targets, self.encode(ids, mask)?))?;
        Ok(logits)
    }
}
