//! Llama of Hugging Face's transformers, `LlamaForCausalLM`, and Mistral and Qwen3, whose keys are the same.
//!
//! Source: Touvron et al., *LLaMA: Open and Efficient Foundation Language Models* (2023).

use module_nn::RotaryScaling;
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::pretrained::{IGNORED, Pretrained};
use super::transformers::{self, Activation, Caches, call_layers};

/// transformers' `config.json`.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the names are transformers'")]
pub struct LlamaConfig {
    pub model_type: ModelType,
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub num_key_value_heads: Option<usize>,
    pub head_dim: Option<usize>,
    pub hidden_act: Activation,
    pub max_position_embeddings: usize,
    pub rms_norm_eps: f64,
    pub initializer_range: f64,
    pub pad_token_id: Option<isize>,
    #[serde(default)]
    pub tie_word_embeddings: bool,
    #[serde(default)]
    pub attention_bias: bool,
    #[serde(default)]
    pub attention_dropout: f64,
    #[serde(default)]
    pub mlp_bias: bool,
    /// The base and the scaling of the rotary embeddings; older files have `rope_theta` and `rope_scaling` instead.
    #[serde(alias = "rope_scaling")]
    pub rope_parameters: Option<Map<String, Value>>,
    pub rope_theta: Option<f64>,
    pub sliding_window: Option<usize>,
    /// Qwen3's: whether it uses windows at all.
    #[serde(default)]
    pub use_sliding_window: bool,
    /// Qwen3's: the number of layers before the first one with a window.
    #[serde(default)]
    pub max_window_layers: usize,
    /// Qwen3's: the kind of each layer, instead of `max_window_layers`.
    pub layer_types: Option<Vec<LayerType>>,
    /// Arguments that must have the value of this model.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The models with Llama's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelType {
    /// Llama 1 to 3.
    Llama,
    /// With a sliding window.
    Mistral,
    /// With normalized queries and keys for each head.
    Qwen3,
}

/// The tokens that a layer attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerType {
    /// All preceding ones.
    FullAttention,
    /// Those in the window.
    SlidingAttention,
}

impl LlamaConfig {
    /// The window of a layer.
    fn window(&self, layer: usize) -> Option<usize> {
        let windowed = match (self.model_type, &self.layer_types) {
            (ModelType::Llama, _) => false,
            (ModelType::Mistral, _) => true,
            (ModelType::Qwen3, Some(kinds)) => {
                kinds.get(layer) == Some(&LayerType::SlidingAttention)
            }
            (ModelType::Qwen3, None) => layer >= self.max_window_layers,
        };
        let windowed = windowed && (self.use_sliding_window || self.model_type != ModelType::Qwen3);
        self.sliding_window.filter(|_| windowed)
    }

    fn head_dim(&self) -> usize {
        self.head_dim
            .unwrap_or(self.hidden_size / self.num_attention_heads.max(1))
    }

    fn rotary(&self) -> Result<RotaryEmbeddingConfig> {
        let mut given = self.rope_parameters.clone().unwrap_or_default();
        let theta = given.remove("rope_theta").and_then(|theta| theta.as_f64());
        // By the name in older files.
        let kind = given.remove("type").unwrap_or(json!("default"));
        given.entry("rope_type").or_insert(kind);
        given
            .entry("max_position_embeddings")
            .or_insert(json!(self.max_position_embeddings));
        let scaling: RotaryScaling = serde_json::from_value(given.into())
            .map_err(|error| Error::custom(format!("Llama: rope_parameters: {error}")))?;
        let theta = theta.or(self.rope_theta).unwrap_or(1e4);
        let rotary = RotaryEmbeddingConfig::new(self.head_dim());
        Ok(rotary.rope_theta(theta).scaling(scaling))
    }
}

/// `(N, L)` token ids to `(N, L, vocab_size)` logits for the token after each; with caches, to the logits and the caches.
#[derive(Module)]
pub struct Llama {
    model: Decoder,
    lm_head: Linear,
}

#[derive(Module)]
struct Decoder {
    embed_tokens: Embedding,
    layers: Vec<DecoderLayer>,
    norm: RMSNorm,
}

#[derive(Module)]
struct DecoderLayer {
    self_attn: GroupedQueryAttention,
    mlp: Mlp,
    input_layernorm: RMSNorm,
    post_attention_layernorm: RMSNorm,
}

#[derive(Module)]
struct Mlp {
    gate_proj: Linear,
    up_proj: Linear,
    down_proj: Linear,
    act_fn: Box<dyn Layer>,
}

impl Forward for Mlp {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let gate = self.act_fn.call(self.gate_proj.call(x.clone())?)?;
        self.down_proj.call(gate.mul(&self.up_proj.call(x)?)?)
    }
}

impl Forward<(Tensor, KeyValueCache)> for DecoderLayer {
    type Output = (Tensor, KeyValueCache);

    fn forward(&self, (x, cache): (Tensor, KeyValueCache)) -> Result<Self::Output> {
        let attended = (self.input_layernorm.call(x.clone())?, cache);
        let (y, cache) = self.self_attn.call(attended)?;
        let x = x.add(&y)?;
        let y = self.post_attention_layernorm.call(x.clone())?;
        Ok((x.add(&self.mlp.call(y)?)?, cache))
    }
}

impl Forward<(Tensor, Caches)> for Decoder {
    type Output = (Tensor, Caches);

    fn forward(&self, (ids, caches): (Tensor, Caches)) -> Result<Self::Output> {
        let x = self.embed_tokens.call(ids)?;
        let (x, caches) = call_layers(&self.layers, x, caches)?;
        Ok((self.norm.call(x)?, caches))
    }
}

impl Pretrained for Llama {
    type Config = LlamaConfig;

    fn new(config: &LlamaConfig) -> Result<Self> {
        let only = [("pretraining_tp", json!(IGNORED))];
        transformers::check_rest("Llama", &config.rest, &only)?;
        let (width, hidden) = (config.hidden_size, config.intermediate_size);
        let linear = |from, to| LinearConfig::new(from, to).bias(config.mlp_bias).build();
        let eps = config.rms_norm_eps;
        let norm = || RMSNormConfig::new(width).eps(eps).build();
        let attention = GroupedQueryAttentionConfig::new(width, config.num_attention_heads)
            .num_kv_heads(config.num_key_value_heads)
            .head_dim(config.head_dim())
            .bias(config.attention_bias)
            .out_bias(config.attention_bias)
            .dropout(config.attention_dropout)
            .rotary(config.rotary()?)
            .qk_norm_eps((config.model_type == ModelType::Qwen3).then_some(eps));
        let layer = |i| -> Result<DecoderLayer> {
            let windowed = attention.clone().sliding_window(config.window(i));
            Ok(DecoderLayer {
                self_attn: windowed.build()?,
                mlp: Mlp {
                    gate_proj: linear(width, hidden)?,
                    up_proj: linear(width, hidden)?,
                    down_proj: linear(hidden, width)?,
                    act_fn: config.hidden_act.build()?,
                },
                input_layernorm: norm()?,
                post_attention_layernorm: norm()?,
            })
        };
        let words = EmbeddingConfig::new(config.vocab_size, width);
        let mut model = Self {
            model: Decoder {
                embed_tokens: words.padding_idx(config.pad_token_id).build()?,
                layers: (0..config.num_hidden_layers)
                    .map(layer)
                    .collect::<Result<_>>()?,
                norm: norm()?,
            },
            lm_head: LinearConfig::new(width, config.vocab_size)
                .bias(false)
                .build()?,
        };
        transformers::initialize(&model, config.initializer_range)?;
        if config.tie_word_embeddings {
            model
                .lm_head
                .tie_weight(model.model.embed_tokens.weight())?;
        }
        Ok(model)
    }
}

impl Llama {
    /// Empty caches of the layers for a new text: those of layers with a window hold no more than that window.
    pub fn caches(&self) -> Caches {
        let windows = self.model.layers.iter();
        let windows = windows.map(|layer| layer.self_attn.config().sliding_window);
        let cache = |window| match window {
            Some(window) => KeyValueCache::new().sliding_window(window),
            None => KeyValueCache::new(),
        };
        windows.map(cache).collect()
    }
}

impl Forward<(Tensor, Caches)> for Llama {
    type Output = (Tensor, Caches);

    fn forward(&self, input: (Tensor, Caches)) -> Result<Self::Output> {
        let (x, caches) = self.model.call(input)?;
        Ok((self.lm_head.call(x)?, caches))
    }
}

impl Forward for Llama {
    type Output = Tensor;

    fn forward(&self, ids: Tensor) -> Result<Tensor> {
        let (logits, _) = self.forward((ids, Caches::new()))?;
        Ok(logits)
    }
}
