//! What models of Hugging Face's transformers have in common.

use module_nn::Approximate;
use module_nn::init::{self, Normal, zeros};
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::pretrained::{self, IGNORED};

/// An activation by transformers' name.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// The exact one.
    Gelu,
    /// By the hyperbolic tangent.
    #[serde(alias = "gelu_pytorch_tanh")]
    GeluNew,
    /// Zero below zero.
    Relu,
    /// By a sigmoid.
    QuickGelu,
    /// Also known as swish.
    #[serde(alias = "swish")]
    Silu,
}

impl Activation {
    /// The layer.
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

/// [`check_rest`](pretrained::check_rest) with what all of transformers' configurations have and no model computes with:
/// older versions wrote how texts are generated into each.
///
/// # Errors
///
/// The first argument that is unknown, or has another value than the model has.
pub fn check_rest(model: &str, rest: &Map<String, Value>, only: &[(&str, Value)]) -> Result<()> {
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
    let draw = Normal { mean: 0.0, std };
    init::each(model, |_, layer: &Embedding| {
        layer.weight().initialize(draw)
    })?;
    init::each(model, |_, layer: &TransposedLinear| {
        layer.weight().initialize(draw)
    })?;
    init::each(model, |_, layer: &Linear| {
        layer.weight().initialize(draw)?;
        let bias = layer.bias().get();
        bias.map_or(Ok(()), |bias| bias.initialize(zeros()))
    })
}

/// Refuses a number of heads that does not divide the width.
///
/// # Errors
///
/// That, or no heads.
pub fn check_heads(model: &'static str, width: usize, heads: usize) -> Result<()> {
    if heads != 0 && width.is_multiple_of(heads) {
        return Ok(());
    }
    let problem = format!("must divide the width, {width}");
    Err(Error::argument(model, "heads", heads, problem))
}

/// The probability with which weights of an attention are dropped: 0 in evaluation.
pub fn dropout_p(training: &Training, p: f64) -> f64 {
    if training.is_training() { p } else { 0.0 }
}

/// What each layer remembers of a text; where there is none of a layer, it has seen nothing yet.
pub type Caches = Vec<KeyValueCache>;

/// Calls layers in turn, each with its cache.
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
