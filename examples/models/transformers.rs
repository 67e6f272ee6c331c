//! Code shared by models of Hugging Face's transformers.

use module_nn::init::{self, Normal};
use module_nn::prelude::*;
use module_nn::{Approximate, AttentionOptions};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::initialize::draw;
use super::pretrained::{self, IGNORED};

/// An activation, with transformers' name.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// The exact one.
    Gelu,
    /// The tanh approximation.
    #[serde(alias = "gelu_pytorch_tanh")]
    GeluNew,
    /// ReLU.
    Relu,
    /// The sigmoid approximation.
    QuickGelu,
    /// Also known as swish.
    #[serde(alias = "swish")]
    Silu,
}

impl Activation {
    /// Builds the layer.
    ///
    /// # Errors
    ///
    /// None for these activations.
    pub fn build(self) -> Result<Box<dyn Layer>> {
        let gelu = GELUConfig::new();
        Ok(match self {
            Self::Gelu => Box::new(gelu.build()?),
            Self::GeluNew => Box::new(gelu.approximate(Approximate::Tanh).build()?),
            Self::QuickGelu => Box::new(QuickGELU(Marker::new())),
            Self::Relu => Box::new(ReLU::new()),
            Self::Silu => Box::new(SiLU::new()),
        })
    }
}

/// `x · sigmoid(1.702 x)`, nearly GELU.
#[derive(Module)]
struct QuickGELU(Marker);

impl Forward for QuickGELU {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        x.mul(&x.mul(1.702)?.sigmoid()?)
    }
}

/// [`check_rest`](pretrained::check_rest) with the arguments that all of transformers' configurations have and no model
/// uses: older versions also stored generation settings there.
///
/// # Errors
///
/// The first argument that is unknown, or differs from the model's value.
pub fn check_rest(
    model: &'static str,
    rest: &Map<String, Value>,
    only: &[(&str, Value)],
) -> Result<()> {
    let ignored = [
        "_name_or_path",
        "architectures",
        "bad_words_ids",
        "begin_suppress_tokens",
        "bos_token_id",
        "chunk_size_feed_forward",
        "cross_attention_hidden_size",
        "decoder_start_token_id",
        "diversity_penalty",
        "do_sample",
        "dtype",
        "early_stopping",
        "encoder_no_repeat_ngram_size",
        "eos_token_id",
        "exponential_decay_length_penalty",
        "finetuning_task",
        "forced_bos_token_id",
        "forced_eos_token_id",
        "gradient_checkpointing",
        "id2label",
        "label2id",
        "length_penalty",
        "max_length",
        "min_length",
        "no_repeat_ngram_size",
        "num_beam_groups",
        "num_beams",
        "num_return_sequences",
        "output_attentions",
        "output_hidden_states",
        "output_past",
        "output_scores",
        "pad_token_id",
        "prefix",
        "problem_type",
        "remove_invalid_values",
        "repetition_penalty",
        "return_dict",
        "return_dict_in_generate",
        "sep_token_id",
        "suppress_tokens",
        "task_specific_params",
        "temperature",
        "tf_legacy_loss",
        "tie_encoder_decoder",
        "tie_word_embeddings",
        "tokenizer_class",
        "top_k",
        "top_p",
        "torch_dtype",
        "torchscript",
        "transformers_version",
        "typical_p",
        "use_bfloat16",
        "use_cache",
    ];
    let ignored = ignored.map(|name| (name, json!(IGNORED)));
    let never = [
        ("add_cross_attention", json!(false)),
        ("is_decoder", json!(false)),
        ("pruned_heads", json!({})),
    ];
    pretrained::check_rest(model, rest, &[&ignored[..], &never, only].concat())
}

/// Draws embeddings and linear layers from a normal distribution, with biases of 0.
///
/// # Errors
///
/// None for a model that was just built.
pub fn initialize(model: &impl Module, std: f64) -> Result<()> {
    let normal = Normal { mean: 0.0, std };
    init::each(model, |_, layer: &Embedding| {
        layer.weight().initialize(normal)
    })?;
    init::each(model, |_, layer: &TransposedLinear| {
        layer.weight().initialize(normal)
    })?;
    init::each(model, |_, layer: &Linear| {
        draw(layer.weight(), layer.bias(), normal)
    })
}

/// Refuses a number of heads that does not divide the width.
///
/// # Errors
///
/// Such a number, or no heads.
pub fn check_heads(model: &'static str, width: usize, heads: usize) -> Result<()> {
    if heads != 0 && width.is_multiple_of(heads) {
        return Ok(());
    }
    let problem = format!("must divide the width, {width}");
    Err(Error::argument(model, "heads", heads, problem))
}

/// The probability of dropping attention weights: 0 in evaluation mode.
pub fn dropout_p(training: &Training, p: f64) -> f64 {
    if training.is_training() { p } else { 0.0 }
}

/// `[batch, length, width]` to `[batch, heads, length, width / heads]`.
///
/// # Errors
///
/// A number of heads that does not divide the width.
pub fn split_heads(x: &Tensor, heads: usize) -> Result<Tensor> {
    x.unflatten(-1, [heads as isize, -1])?.transpose(1, 2)
}

/// `[batch, heads, length, width / heads]` to `[batch, length, width]`.
///
/// # Errors
///
/// Another number of dimensions.
pub fn join_heads(x: &Tensor) -> Result<Tensor> {
    x.transpose(1, 2)?.flatten(2, -1)
}

/// Attention with separate linear layers for keys, values, queries and the output.
#[derive(Module)]
pub struct Attention {
    pub(super) heads: usize,
    /// Whether attention is causal, with the queries as the last positions of the keys.
    pub(super) is_causal: bool,
    pub(super) dropout: f64,
    pub(super) k_proj: Linear,
    pub(super) v_proj: Linear,
    pub(super) q_proj: Linear,
    pub(super) out_proj: Linear,
    pub(super) training: Training,
}

impl Attention {
    /// The keys and values of an input.
    ///
    /// # Errors
    ///
    /// Another width.
    pub fn keys_and_values(&self, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let (key, value) = (self.k_proj.call(x.clone())?, self.v_proj.call(x.clone())?);
        Ok((
            split_heads(&key, self.heads)?,
            split_heads(&value, self.heads)?,
        ))
    }
}

/// The queries' input, keys and values, and a mask that is true where a key is visible; without a mask all are.
impl Forward<(Tensor, (Tensor, Tensor), Option<Tensor>)> for Attention {
    type Output = Tensor;

    fn forward(
        &self,
        (x, (key, value), is_seen): (Tensor, (Tensor, Tensor), Option<Tensor>),
    ) -> Result<Tensor> {
        let mut options = AttentionOptions::new()
            .attn_mask(is_seen.as_ref())
            .dropout_p(dropout_p(&self.training, self.dropout));
        if self.is_causal {
            let past = key.size(2)?.saturating_sub(x.size(1)?);
            options = options.causal_with(past);
        }
        let query = split_heads(&self.q_proj.call(x)?, self.heads)?;
        let y = query.scaled_dot_product_attention(&key, &value, options)?;
        self.out_proj.call(join_heads(&y)?)
    }
}

/// The cache of each layer; a layer whose cache is missing has not seen anything yet.
pub type Caches = Vec<KeyValueCache>;

/// Calls layers in sequence, each with its cache.
///
/// # Errors
///
/// Those of the layers.
pub fn call_layers<L>(layers: &[L], mut x: Tensor, caches: Caches) -> Result<(Tensor, Caches)>
where
    L: Module + Forward<(Tensor, KeyValueCache), Output = (Tensor, KeyValueCache)>,
{
    let (mut caches, mut seen) = (caches.into_iter(), Caches::new());
    for layer in layers {
        let cache;
        (x, cache) = layer.call((x, caches.next().unwrap_or_default()))?;
        seen.push(cache);
    }
    Ok((x, seen))
}
