use module_core::{Error, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::process::{min_p, repetition_penalty, suppress_tokens, temperature, top_k, top_p};
use crate::config::{check_between, check_positive, config};

/// When a beam search ends before its texts are as long as they may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlyStopping {
    /// When no running text, scored at its present length, is better than the worst that has ended: transformers'
    /// `False`.
    #[default]
    Heuristic,
    /// As soon as `num_beams` texts have ended: transformers' `True`.
    Immediate,
    /// When no running text can become better than the worst that has ended: transformers' `"never"`.
    Never,
}

config! {
    /// How [`generate`](super::generate()) goes on with a text, by transformers' names.
    ///
    /// What changes the scores of the next token comes in this order, as in transformers: the repetition penalty, tokens that
    /// are suppressed, and with `do_sample` the temperature, `top_k`, `top_p` and `min_p`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::generate::GenerationConfig;
    ///
    /// let config = GenerationConfig::new(100).eos_token_id([2]).do_sample(true).temperature(0.7).top_p(0.9);
    /// assert_eq!(config.top_k, None);
    /// ```
    pub struct GenerationConfig {
        required {
            /// The number of tokens behind the prompt, at most.
            max_new_tokens: usize,
        }
        optional {
            /// The tokens that end a text.
            eos_token_id: Vec<i64> = Vec::new(),
            /// What stands behind a text that has ended; the first of `eos_token_id` if absent.
            pad_token_id: Option<i64> = None,
            /// Whether the next token is drawn, and not the most likely one.
            do_sample: bool = false,
            /// How many texts a beam search goes on with at once; 1 is no beam search.
            num_beams: usize = 1_usize,
            /// The power of the length that the logarithm of a text's probability is divided by, in a beam search.
            length_penalty: f64 = 1.0,
            /// When a beam search ends.
            early_stopping: EarlyStopping = EarlyStopping::Heuristic,
            /// What logits are divided by: below 1 likely tokens become likelier.
            temperature: f64 = 1.0,
            /// The number of tokens that are drawn from, the most likely; all if absent.
            top_k: Option<usize> = None,
            /// The probability that the tokens have together which are drawn from, the most likely.
            top_p: f64 = 1.0,
            /// The probability that tokens need to be drawn, as a part of that of the most likely one.
            min_p: Option<f64> = None,
            /// What the logits of tokens that occurred are divided by, or multiplied with where they are negative.
            repetition_penalty: f64 = 1.0,
            /// Tokens that no text has behind its prompt.
            suppress_tokens: Vec<i64> = Vec::new(),
            /// Tokens that do not stand first behind a prompt.
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

    /// The token behind texts that have ended, if there are such.
    pub(super) fn padding(&self) -> Option<i64> {
        let end = self.eos_token_id.first().copied()?;
        Some(self.pad_token_id.unwrap_or(end))
    }

    /// The scores of the next token, `[rows, vocabulary]`, changed for texts with so many tokens behind their prompts.
    /// `ids` makes the texts, `[rows, length]`, if they are read.
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
