//! GPT-2 of Hugging Face's transformers, `GPT2LMHeadModel`.
//!
//! Keys are those of the current library. Older files (`openai-community/gpt2`) hold the model without its head and contain
//! masks as `attn.bias`: `LoadOptions::new().remap(Remap::new().prefix("", "transformer")).ignore("**.attn.bias")`.
//!
//! Source: Radford et al., *Language Models are Unsupervised Multitask Learners* (2019).

use module_nn::AttentionOptions;
use module_nn::init::Normal;
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::pretrained::{IGNORED, Pretrained};
use super::transformers::{self, Activation, Caches, call_layers, dropout_p, join_heads};

/// transformers' `config.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are transformers'")]
pub struct GPT2Config {
    pub vocab_size: usize,
    pub n_positions: usize,
    pub n_embd: usize,
    pub n_layer: usize,
    pub n_head: usize,
    pub n_inner: Option<usize>,
    pub activation_function: Activation,
    pub resid_pdrop: f64,
    pub embd_pdrop: f64,
    pub attn_pdrop: f64,
    pub layer_norm_epsilon: f64,
    pub initializer_range: f64,
    pub scale_attn_weights: bool,
    pub scale_attn_by_inverse_layer_idx: bool,
    pub tie_word_embeddings: bool,
    /// Arguments that must have the value of this model.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Default for GPT2Config {
    fn default() -> Self {
        Self {
            vocab_size: 50257,
            n_positions: 1024,
            n_embd: 768,
            n_layer: 12,
            n_head: 12,
            n_inner: None,
            activation_function: Activation::GeluNew,
            resid_pdrop: 0.1,
            embd_pdrop: 0.1,
            attn_pdrop: 0.1,
            layer_norm_epsilon: 1e-5,
            initializer_range: 0.02,
            scale_attn_weights: true,
            scale_attn_by_inverse_layer_idx: false,
            tie_word_embeddings: true,
            rest: Map::new(),
        }
    }
}

/// `(N, L)` token ids to `(N, L, vocab_size)` logits for the token after each; with caches, to the logits and the caches.
#[derive(Module)]
pub struct GPT2 {
    transformer: Transformer,
    lm_head: Linear,
}

#[derive(Module)]
struct Transformer {
    wte: Embedding,
    wpe: Embedding,
    drop: Dropout,
    h: Vec<Block>,
    ln_f: LayerNorm,
}

#[derive(Module)]
struct Block {
    ln_1: LayerNorm,
    attn: Attention,
    ln_2: LayerNorm,
    mlp: Mlp,
}

#[derive(Module)]
struct Attention {
    heads: usize,
    scale: f64,
    dropout: f64,
    c_attn: TransposedLinear,
    c_proj: TransposedLinear,
    resid_dropout: Dropout,
    training: Training,
}

#[derive(Module)]
struct Mlp {
    c_fc: TransposedLinear,
    c_proj: TransposedLinear,
    act: Box<dyn Layer>,
    dropout: Dropout,
}

impl Forward<(Tensor, KeyValueCache)> for Attention {
    type Output = (Tensor, KeyValueCache);

    fn forward(&self, (x, mut cache): (Tensor, KeyValueCache)) -> Result<Self::Output> {
        let past = cache.len();
        // `[batch, length, 3 · width]` to three of `[batch, heads, length, width / heads]`.
        let qkv = self.c_attn.call(x)?;
        let qkv = qkv.unflatten(-1, [3, self.heads as isize, -1])?;
        let [q, k, v] = qkv.permute([2, 0, 3, 1, 4])?.unbind_array(0)?;
        let (k, v) = cache.append(k, v)?;
        let options = AttentionOptions::new()
            .causal_with(past)
            .dropout_p(dropout_p(&self.training, self.dropout))
            .scale(self.scale);
        let y = q.scaled_dot_product_attention(&k, &v, options)?;
        let y = self.c_proj.call(join_heads(&y)?)?;
        Ok((self.resid_dropout.call(y)?, cache))
    }
}

impl Forward for Mlp {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.c_proj.call(self.act.call(self.c_fc.call(x)?)?)?;
        self.dropout.call(x)
    }
}

impl Forward<(Tensor, KeyValueCache)> for Block {
    type Output = (Tensor, KeyValueCache);

    fn forward(&self, (x, cache): (Tensor, KeyValueCache)) -> Result<Self::Output> {
        let (y, cache) = self.attn.call((self.ln_1.call(x.clone())?, cache))?;
        let x = x.add(&y)?;
        let y = self.mlp.call(self.ln_2.call(x.clone())?)?;
        Ok((x.add(&y)?, cache))
    }
}

impl Forward<(Tensor, Caches)> for Transformer {
    type Output = (Tensor, Caches);

    fn forward(&self, (ids, caches): (Tensor, Caches)) -> Result<Self::Output> {
        let past = caches.first().map_or(0, KeyValueCache::len);
        let positions = Tensor::arange(past as i64, (past + ids.size(1)?) as i64, ())?;
        let x = self.wte.call(ids)?.add(&self.wpe.call(positions)?)?;
        let (x, caches) = call_layers(&self.h, self.drop.call(x)?, caches)?;
        Ok((self.ln_f.call(x)?, caches))
    }
}

impl Pretrained for GPT2 {
    type Config = GPT2Config;

    fn new(config: &GPT2Config) -> Result<Self> {
        let (width, heads) = (config.n_embd, config.n_head);
        let only = [
            ("model_type", json!("gpt2")),
            // Only in half precision, in which transformers computes the scores in F32.
            ("reorder_and_upcast_attn", json!(false)),
            ("n_ctx", json!(config.n_positions)),
            // For another head.
            ("summary_activation", json!(IGNORED)),
            ("summary_first_dropout", json!(IGNORED)),
            ("summary_proj_to_labels", json!(IGNORED)),
            ("summary_type", json!(IGNORED)),
            ("summary_use_proj", json!(IGNORED)),
        ];
        transformers::check_rest("GPT2", &config.rest, &only)?;
        transformers::check_heads("GPT2", width, heads)?;
        let norm = || {
            LayerNormConfig::new(width)
                .eps(config.layer_norm_epsilon)
                .build()
        };
        let hidden = config.n_inner.unwrap_or(4 * width);
        let block = |i: usize| -> Result<Block> {
            let layer = match config.scale_attn_by_inverse_layer_idx {
                true => i as f64 + 1.0,
                false => 1.0,
            };
            let root = match config.scale_attn_weights {
                true => ((width / heads) as f64).sqrt(),
                false => 1.0,
            };
            Ok(Block {
                ln_1: norm()?,
                attn: Attention {
                    heads,
                    scale: 1.0 / root / layer,
                    dropout: config.attn_pdrop,
                    c_attn: TransposedLinear::new(width, 3 * width)?,
                    c_proj: TransposedLinear::new(width, width)?,
                    resid_dropout: Dropout::new(config.resid_pdrop)?,
                    training: Training::new(),
                },
                ln_2: norm()?,
                mlp: Mlp {
                    c_fc: TransposedLinear::new(width, hidden)?,
                    c_proj: TransposedLinear::new(hidden, width)?,
                    act: config.activation_function.build()?,
                    dropout: Dropout::new(config.resid_pdrop)?,
                },
            })
        };
        let head = LinearConfig::new(width, config.vocab_size).bias(false);
        let mut model = Self {
            transformer: Transformer {
                wte: Embedding::new(config.vocab_size, width)?,
                wpe: Embedding::new(config.n_positions, width)?,
                drop: Dropout::new(config.embd_pdrop)?,
                h: (0..config.n_layer).map(block).collect::<Result<_>>()?,
                ln_f: norm()?,
            },
            lm_head: head.build()?,
        };
        transformers::initialize(&model, config.initializer_range)?;
        // Layers whose output is added to the residual stream begin smaller.
        let std = config.initializer_range / (2.0 * config.n_layer as f64).sqrt();
        for block in &model.transformer.h {
            for last in [&block.attn.c_proj, &block.mlp.c_proj] {
                last.weight().initialize(Normal { mean: 0.0, std })?;
            }
        }
        if config.tie_word_embeddings {
            model.lm_head.tie_weight(model.transformer.wte.weight())?;
        }
        Ok(model)
    }
}

impl Forward<(Tensor, Caches)> for GPT2 {
    type Output = (Tensor, Caches);

    fn forward(&self, input: (Tensor, Caches)) -> Result<Self::Output> {
        let (x, caches) = self.transformer.call(input)?;
        Ok((self.lm_head.call(x)?, caches))
    }
}

impl Forward for GPT2 {
    type Output = Tensor;

    fn forward(&self, ids: Tensor) -> Result<Tensor> {
        let (logits, _) = self.forward((ids, Caches::new()))?;
        Ok(logits)
    }
}
