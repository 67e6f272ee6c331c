use module_core::{Error, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::process::{min_p, repetition_penalty, suppress_tokens, temperature, top_k, top_p};
use crate::config::{check_between, check_positive, config};

/// When a beam search stops before its texts have the maximum length.
///
/// # Example
///
/// ```
/// use module_nn::generate::{EarlyStopping, GenerationConfig};
///
/// let config = GenerationConfig::new(20).num_beams(4).early_stopping(EarlyStopping::Immediate);
/// assert_eq!(serde_json::to_value(&config)?["early_stopping"], "immediate");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlyStopping {
    /// When no running text, scored at its current length, beats the worst finished one: transformers' `False`.
    #[default]
    Heuristic,
    /// As soon as `num_beams` texts are finished: transformers' `True`.
    Immediate,
    /// When no running text can ever beat the worst finished one: transformers' `"never"`.
    Never,
}

config! {
    /// How [`generate`](super::generate()) continues a text, with transformers' names.
    ///
    /// The scores of the next token are processed in this order, as in transformers: the repetition penalty, suppressed
    /// tokens, and with `do_sample` the temperature, `top_k`, `top_p` and `min_p`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::generate::GenerationConfig;
    ///
    /// let config = GenerationConfig::new(100).eos_token_id([2]).do_sample(true).temperature(0.7).top_p(0.9);
    /// assert_eq!(config.top_k, None);
    ///
    /// // A beam search as for Whisper: longer texts are preferred, and some tokens never occur, or not at the start.
    /// let config = GenerationConfig::new(100)
    ///     .num_beams(5)
    ///     .length_penalty(1.5)
    ///     .repetition_penalty(1.1)
    ///     .suppress_tokens([50257])
    ///     .begin_suppress_tokens([220])
    ///     .eos_token_id([2])
    ///     .pad_token_id(0);
    /// assert_eq!((config.num_beams, config.pad_token_id), (5, Some(0)));
    /// // Samples of the most likely tokens only.
    /// let config = GenerationConfig::new(100).do_sample(true).top_k(50).min_p(0.05);
    /// assert_eq!(config.top_k, Some(50));
    /// ```
    pub struct GenerationConfig {
        required {
            /// The maximum number of tokens after the prompt.
            max_new_tokens: usize,
        }
        optional {
            /// The tokens that end a text.
            eos_token_id: Vec<i64> = Vec::new(),
            /// The padding after a finished text; by default the first of `eos_token_id`.
            pad_token_id: Option<i64> = None,
            /// Whether the next token is sampled rather than the most likely one.
            do_sample: bool = false,
            /// The number of beams; 1 means no beam search.
            num_beams: usize = 1_usize,
            /// In a beam search, the log-probability of a text is divided by its length to this power.
            length_penalty: f64 = 1.0,
            /// When a beam search stops.
            early_stopping: EarlyStopping = EarlyStopping::Heuristic,
            /// The divisor of the logits: below 1, likely tokens become more likely.
            temperature: f64 = 1.0,
            /// Sample only from this many most likely tokens; from all if absent.
            top_k: Option<usize> = None,
            /// Sample only from the most likely tokens whose probabilities add up to this.
            top_p: f64 = 1.0,
            /// Sample only from tokens with at least this probability, relative to the most likely one.
            min_p: Option<f64> = None,
            /// The divisor of the logits of tokens that already occurred; negative logits are multiplied by it.
            repetition_penalty: f64 = 1.0,
            /// Tokens that never occur after the prompt.
            suppress_tokens: Vec<i64> = Vec::new(),
            /// Tokens that never occur directly after the prompt.
            begin_suppress_tokens: Vec<i64> = Vec::new(),
        }
    }
}

pub(super) const NAME: &str = "generate";

impl GenerationConfig {
    pub(super) fn check(&self) -> Result<()> {
        let positive = [f64::MIN_POSITIVE, f64::MAX];
        check_positive(NAME, "max_new_tokens", self.max_new_tokens)?;
        check_positive(NAME, "num_beams", self.num_beams)?;
        check_between(NAME, "temperature", self.temperature, positive)?;
        check_between(
            NAME,
            "repetition_penalty",
            self.repetition_penalty,
            positive,
        )?;
        check_between(NAME, "top_p", self.top_p, [0.0, 1.0])?;
        check_between(NAME, "min_p", self.min_p.unwrap_or(0.0), [0.0, 1.0])?;
        check_between(
            NAME,
            "length_penalty",
            self.length_penalty,
            [f64::MIN, f64::MAX],
        )?;
        if self.top_k == Some(0) {
            let problem = "must be positive; leave it out to draw from all";
            return Err(Error::argument(NAME, "top_k", 0, problem));
        }
        Ok(())
    }

    /// The padding token after finished texts, if needed.
    pub(super) fn padding(&self) -> Option<i64> {
        let end = self.eos_token_id.first().copied()?;
        Some(self.pad_token_id.unwrap_or(end))
    }

    /// Processes the scores of the next token, `[rows, vocabulary]`, for texts with this many tokens after their prompts.
    /// `ids` makes the texts, `[rows, length]`, if they are needed.
    pub(super) fn process(
        &self,
        ids: impl FnOnce() -> Result<Tensor>,
        generated: usize,
        mut scores: Tensor,
    ) -> Result<Tensor> {
        if self.repetition_penalty != 1.0 {
            scores = repetition_penalty(&scores, &ids()?, self.repetition_penalty)?;
        }
        if !self.suppress_tokens.is_empty() {
            scores = suppress_tokens(&scores, &self.suppress_tokens)?;
        }
        if !self.begin_suppress_tokens.is_empty() && generated == 0 {
            scores = suppress_tokens(&scores, &self.begin_suppress_tokens)?;
        }
        if !self.do_sample {
            return Ok(scores);
        }
        // A beam search needs a token that does not end the text.
        let kept = match (self.num_beams, self.eos_token_id.len()) {
            (1, _) => 1,
            (_, ends) => ends.max(1) + 1,
        };
        if self.temperature != 1.0 {
            scores = temperature(&scores, self.temperature)?;
        }
        if let Some(k) = self.top_k {
            scores = top_k(&scores, k.max(kept))?;
        }
        if self.top_p < 1.0 {
            scores = top_p(&scores, self.top_p, kept)?;
        }
        if let Some(p) = self.min_p {
            scores = min_p(&scores, p, kept)?;
        }
        Ok(scores)
    }
}
