//! BERT of Hugging Face's transformers, `BertModel`, with its pooler; also the encoder of sentence-transformers' MiniLM.
//!
//! Source: Devlin et al., *BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding* (2018).

use module_nn::AttentionOptions;
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::pretrained::{IGNORED, Pretrained};
use super::transformers::{self, Activation, dropout_p, join_heads, split_heads};

/// transformers' `config.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are transformers'")]
pub struct BertConfig {
    pub vocab_size: usize,
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub intermediate_size: usize,
    pub hidden_act: Activation,
    pub hidden_dropout_prob: f64,
    pub attention_probs_dropout_prob: f64,
    pub max_position_embeddings: usize,
    pub type_vocab_size: usize,
    pub initializer_range: f64,
    pub layer_norm_eps: f64,
    pub pad_token_id: Option<isize>,
    /// Arguments that must have the value of this model.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Default for BertConfig {
    fn default() -> Self {
        Self {
            vocab_size: 30522,
            hidden_size: 768,
            num_hidden_layers: 12,
            num_attention_heads: 12,
            intermediate_size: 3072,
            hidden_act: Activation::Gelu,
            hidden_dropout_prob: 0.1,
            attention_probs_dropout_prob: 0.1,
            max_position_embeddings: 512,
            type_vocab_size: 2,
            initializer_range: 0.02,
            layer_norm_eps: 1e-12,
            pad_token_id: Some(0),
            rest: Map::new(),
        }
    }
}

/// `(N, L)` token ids to `(N, L, hidden_size)` states of the tokens and `(N, hidden_size)` of the text.
///
/// It is called with the ids, or with three tensors of their shape: the ids, the segment of each token, and a mask that is
/// 0 for padding.
#[derive(Module)]
pub struct Bert {
    embeddings: Embeddings,
    encoder: Encoder,
    pooler: Pooler,
}

#[derive(Module)]
struct Embeddings {
    word_embeddings: Embedding,
    position_embeddings: Embedding,
    token_type_embeddings: Embedding,
    #[module(rename = "LayerNorm")]
    norm: LayerNorm,
    dropout: Dropout,
}

#[derive(Module)]
struct Encoder {
    layer: Vec<Layer>,
}

#[derive(Module)]
struct Layer {
    attention: Attention,
    intermediate: Intermediate,
    output: Output,
}

#[derive(Module)]
struct Attention {
    #[module(rename = "self")]
    attend: SelfAttention,
    output: Output,
}

#[derive(Module)]
struct SelfAttention {
    heads: usize,
    dropout: f64,
    query: Linear,
    key: Linear,
    value: Linear,
    training: Training,
}

#[derive(Module)]
struct Intermediate {
    dense: Linear,
    act: Box<dyn module_nn::Layer>,
}

/// The end of a residual branch.
#[derive(Module)]
struct Output {
    dense: Linear,
    #[module(rename = "LayerNorm")]
    norm: LayerNorm,
    dropout: Dropout,
}

#[derive(Module)]
struct Pooler {
    dense: Linear,
    activation: Tanh,
}

impl Forward<(Tensor, Tensor)> for Embeddings {
    type Output = Tensor;

    fn forward(&self, (ids, kinds): (Tensor, Tensor)) -> Result<Tensor> {
        let positions = Tensor::arange(0, ids.size(1)? as i64, ())?;
        let x = self.word_embeddings.call(ids)?;
        let x = x.add(&self.token_type_embeddings.call(kinds)?)?;
        let x = x.add(&self.position_embeddings.call(positions)?)?;
        self.dropout.call(self.norm.call(x)?)
    }
}

impl Forward<(Tensor, Tensor)> for SelfAttention {
    type Output = Tensor;

    fn forward(&self, (x, mask): (Tensor, Tensor)) -> Result<Tensor> {
        let query = split_heads(&self.query.call(x.clone())?, self.heads)?;
        let key = split_heads(&self.key.call(x.clone())?, self.heads)?;
        let value = split_heads(&self.value.call(x)?, self.heads)?;
        let options = AttentionOptions::new()
            .attn_mask(&mask)
            .dropout_p(dropout_p(&self.training, self.dropout));
        let y = query.scaled_dot_product_attention(&key, &value, options)?;
        join_heads(&y)
    }
}

/// The output of the branch, and its input.
impl Forward<(Tensor, Tensor)> for Output {
    type Output = Tensor;

    fn forward(&self, (x, residual): (Tensor, Tensor)) -> Result<Tensor> {
        let x = self.dropout.call(self.dense.call(x)?)?;
        self.norm.call(x.add(&residual)?)
    }
}

impl Forward<(Tensor, Tensor)> for Attention {
    type Output = Tensor;

    fn forward(&self, (x, mask): (Tensor, Tensor)) -> Result<Tensor> {
        let y = self.attend.call((x.clone(), mask))?;
        self.output.call((y, x))
    }
}

impl Forward for Intermediate {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.act.call(self.dense.call(x)?)
    }
}

impl Forward<(Tensor, Tensor)> for Layer {
    type Output = Tensor;

    fn forward(&self, input: (Tensor, Tensor)) -> Result<Tensor> {
        let x = self.attention.call(input)?;
        let y = self.intermediate.call(x.clone())?;
        self.output.call((y, x))
    }
}

impl Forward<(Tensor, Tensor)> for Encoder {
    type Output = Tensor;

    fn forward(&self, (mut x, mask): (Tensor, Tensor)) -> Result<Tensor> {
        for layer in &self.layer {
            x = layer.call((x, mask.clone()))?;
        }
        Ok(x)
    }
}

impl Forward for Pooler {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.activation.call(self.dense.call(x.select(1, 0)?)?)
    }
}

impl Pretrained for Bert {
    type Config = BertConfig;
    const UNUSED_KEYS: &'static [&'static str] = &["embeddings.position_ids"];

    fn new(config: &BertConfig) -> Result<Self> {
        let (width, heads) = (config.hidden_size, config.num_attention_heads);
        let only = [
            ("model_type", json!("bert")),
            ("position_embedding_type", json!("absolute")),
            // For another head.
            ("classifier_dropout", json!(IGNORED)),
        ];
        transformers::check_rest("Bert", &config.rest, &only)?;
        transformers::check_heads("Bert", width, heads)?;
        let norm = || {
            LayerNormConfig::new(width)
                .eps(config.layer_norm_eps)
                .build()
        };
        let dropout = || Dropout::new(config.hidden_dropout_prob);
        let output = |from| -> Result<Output> {
            Ok(Output {
                dense: Linear::new(from, width)?,
                norm: norm()?,
                dropout: dropout()?,
            })
        };
        let layer = |_| -> Result<Layer> {
            let attend = SelfAttention {
                heads,
                dropout: config.attention_probs_dropout_prob,
                query: Linear::new(width, width)?,
                key: Linear::new(width, width)?,
                value: Linear::new(width, width)?,
                training: Training::new(),
            };
            let intermediate = Intermediate {
                dense: Linear::new(width, config.intermediate_size)?,
                act: config.hidden_act.build()?,
            };
            Ok(Layer {
                attention: Attention {
                    attend,
                    output: output(width)?,
                },
                intermediate,
                output: output(config.intermediate_size)?,
            })
        };
        let layers: Result<_> = (0..config.num_hidden_layers).map(layer).collect();
        let words = EmbeddingConfig::new(config.vocab_size, width);
        let model = Self {
            embeddings: Embeddings {
                word_embeddings: words.padding_idx(config.pad_token_id).build()?,
                position_embeddings: Embedding::new(config.max_position_embeddings, width)?,
                token_type_embeddings: Embedding::new(config.type_vocab_size, width)?,
                norm: norm()?,
                dropout: dropout()?,
            },
            encoder: Encoder { layer: layers? },
            pooler: Pooler {
                dense: Linear::new(width, width)?,
                activation: Tanh::new(),
            },
        };
        transformers::initialize(&model, config.initializer_range)?;
        Ok(model)
    }
}

impl Forward<(Tensor, Tensor, Tensor)> for Bert {
    type Output = (Tensor, Tensor);

    fn forward(&self, (ids, kinds, mask): (Tensor, Tensor, Tensor)) -> Result<Self::Output> {
        let mask = mask.ne(0)?.unsqueeze(1)?.unsqueeze(1)?;
        let x = self.embeddings.call((ids, kinds))?;
        let x = self.encoder.call((x, mask))?;
        Ok((x.clone(), self.pooler.call(x)?))
    }
}

/// Texts of one segment, without padding.
impl Forward for Bert {
    type Output = (Tensor, Tensor);

    fn forward(&self, ids: Tensor) -> Result<Self::Output> {
        self.forward((ids.clone(), ids.zeros_like()?, ids.ones_like()?))
    }
}
