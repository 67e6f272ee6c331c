//! Text generation with a language model, token by token: greedy, sampled, and by beam search, like `generate` of Hugging
//! Face's transformers.
//!
//! [`generate`](generate()) takes any [`LanguageModel`]. [`with_cache`] makes one from a closure that gets the new token ids and the
//! cache, and [`without_cache`] from a closure that gets all token ids. [`GenerationConfig`] uses the names of transformers'
//! `generation_config.json`.
//!
//! # Example
//!
//! ```
//! use module_nn::generate::{GenerationConfig, generate, with_cache};
//! use module_nn::prelude::*;
//!
//! #[derive(Module)]
//! struct Tiny {
//!     words: Embedding,
//!     attention: GroupedQueryAttention,
//!     head: Linear,
//! }
//!
//! impl Forward<(Tensor, KeyValueCache)> for Tiny {
//!     type Output = (Tensor, KeyValueCache);
//!
//!     fn forward(&self, (ids, cache): (Tensor, KeyValueCache)) -> Result<Self::Output> {
//!         let (x, cache) = self.attention.call((self.words.call(ids)?, cache))?;
//!         Ok((self.head.call(x)?, cache))
//!     }
//! }
//!
//! let net = Tiny {
//!     words: Embedding::new(10, 8)?,
//!     attention: GroupedQueryAttention::new(8, 2)?,
//!     head: Linear::new(8, 10)?,
//! };
//! let prompt = Tensor::from([[1_i64, 2, 3]]);
//! let mut model = with_cache(KeyValueCache::with_capacity(8), |ids, cache| net.call((ids, cache)));
//! let ids = generate(&mut model, &prompt, &GenerationConfig::new(5).num_beams(2))?;
//! assert_eq!(ids.shape().to_string(), "[1, 8]");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Encoder–decoder models
//!
//! Encode the sources once, and keep the result next to the cache: beam search reorders its rows together with those of the
//! texts, so that each text keeps its own source. The prompt is the token that all targets begin with.
//!
//! ```
//! use module_nn::AttentionOptions;
//! use module_nn::generate::{GenerationConfig, generate, with_cache};
//! use module_nn::prelude::*;
//!
//! #[derive(Module)]
//! struct Translator {
//!     words: Embedding,
//!     encoder: TransformerEncoderLayer,
//!     decoder: GroupedQueryAttention,
//!     head: Linear,
//! }
//!
//! /// Keys and values of the target, and the encoded source.
//! type Memory = (KeyValueCache, Tensor);
//!
//! impl Forward<(Tensor, Memory)> for Translator {
//!     type Output = (Tensor, Memory);
//!
//!     fn forward(&self, (ids, (cache, source)): (Tensor, Memory)) -> Result<Self::Output> {
//!         let (x, cache) = self.decoder.call((self.words.call(ids)?, cache))?;
//!         let read = x.scaled_dot_product_attention(&source, &source, AttentionOptions::new())?;
//!         Ok((self.head.call(x.add(&read)?)?, (cache, source)))
//!     }
//! }
//!
//! let net = Translator {
//!     words: Embedding::new(10, 8)?,
//!     encoder: TransformerEncoderLayerConfig::new(8, 2).batch_first(true).build()?,
//!     decoder: GroupedQueryAttention::new(8, 2)?,
//!     head: Linear::new(8, 10)?,
//! };
//! net.eval();
//! let sources = Tensor::from([[4_i64, 5, 6, 7], [8, 9, 2, 3]]);
//! let encoded = no_grad(|| net.encoder.call(net.words.call(sources)?))?;
//! let memory = (KeyValueCache::new(), encoded);
//! let mut model = with_cache(memory, |ids, memory| net.call((ids, memory)));
//! let start = Tensor::zeros([2, 1], DType::I64)?;
//! let ids = generate(&mut model, &start, &GenerationConfig::new(5).num_beams(3))?;
//! assert_eq!(ids.shape().to_string(), "[2, 6]");
//! # Ok::<(), Error>(())
//! ```

mod beams;
mod config;
mod model;
mod process;
mod steps;

pub use config::{EarlyStopping, GenerationConfig};
pub use model::{CachedModel, LanguageModel, Rows, WholeModel, with_cache, without_cache};
pub use process::{min_p, repetition_penalty, suppress_tokens, temperature, top_k, top_p};

use module_core::{Error, Result, Tensor, no_grad};

/// Continues the prompts `[batch, length]` to `[batch, length + new]`, with at most `max_new_tokens` new tokens. A finished
/// text is padded.
///
/// The most likely token is chosen, or with `do_sample` one is drawn; with `num_beams`, beam search looks for the most
/// probable text. No gradient is tracked. Put the model into evaluation mode first.
///
/// # Errors
///
/// Prompts that are not two-dimensional integers, or are empty; an invalid configuration; those of the model.
///
/// # Example
///
/// ```
/// use module_nn::generate::{GenerationConfig, generate, without_cache};
/// use module_nn::prelude::*;
///
/// let net = Embedding::new(10, 10)?; // The logits of the next token from the last one alone.
/// let mut model = without_cache(|ids| net.call(ids));
/// let prompt = Tensor::from([[1_i64, 2]]);
/// let ids = generate(&mut model, &prompt, &GenerationConfig::new(3))?;
/// assert_eq!(ids.shape().to_string(), "[1, 5]");
/// # Ok::<(), Error>(())
/// ```
pub fn generate<M: LanguageModel + ?Sized>(
    model: &mut M,
    prompt: &Tensor,
    config: &GenerationConfig,
) -> Result<Tensor> {
    config.check()?;
    let &[batch, length] = &**prompt.shape() else {
        return Err(prompt.shape().error("generate", "[batch, length]"));
    };
    if batch == 0 || length == 0 {
        let problem = "must have a text and a token at least";
        let shape = prompt.shape();
        return Err(Error::argument("generate", "prompt", shape, problem));
    }
    no_grad(|| match config.num_beams {
        1 => steps::generate(model, prompt, config),
        _ => beams::generate(model, prompt, config),
    })
}
