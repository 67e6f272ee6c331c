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
            Self::Relu => Box::new(ReLU::new()),
            Self::Silu => Box::new(SiLU::new()),
        })
    }
}

/// [`check_rest`](pretrained::check_rest) with what all of transformers' configurations have and no model computes with.
///
/// # Errors
///
/// The first argument that is unknown, or has another value than the model has.
pub fn check_rest(model: &str, rest: &Map<String, Value>, only: &[(&str, Value)]) -> Result<()> {
    let ignored = [
        "_name_or_path",
        "architectures",
        "bos_token_id",
        "dtype",
        "eos_token_id",
        "gradient_checkpointing",
        "task_specific_params",
        "torch_dtype",
        "transformers_version",
        "use_cache",
    ];
    let ignored = ignored.map(|name| (name, json!(IGNORED)));
    pretrained::check_rest(model, rest, &[&ignored, only].concat())
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
