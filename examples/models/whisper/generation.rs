//! Text generation: the tokens that precede a text, and the text.

use std::collections::BTreeMap;
use std::path::Path;

use module_nn::generate::{GenerationConfig, generate, with_cache};
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::super::pretrained::{self, IGNORED};
use super::{Caches, Whisper};

/// transformers' `generation_config.json`, and further arguments of its `generate`.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the names are transformers'")]
pub struct WhisperGenerationConfig {
    pub decoder_start_token_id: i64,
    pub eos_token_id: i64,
    pub no_timestamps_token_id: Option<i64>,
    /// `<|de|>` and so on.
    #[serde(default)]
    pub lang_to_id: BTreeMap<String, i64>,
    /// `transcribe` and `translate`.
    #[serde(default)]
    pub task_to_id: BTreeMap<String, i64>,
    /// The tokens after the first one, with their positions, if neither language nor task is given; the language may be
    /// open.
    pub forced_decoder_ids: Option<Vec<(usize, Option<i64>)>>,
    pub suppress_tokens: Option<Vec<i64>>,
    pub begin_suppress_tokens: Option<Vec<i64>>,
    pub max_length: usize,
    pub max_new_tokens: Option<usize>,
    pub num_beams: Option<usize>,
    pub length_penalty: Option<f64>,
    pub repetition_penalty: Option<f64>,
    /// `de` or `<|de|>`; the model detects it if absent.
    pub language: Option<String>,
    /// One of `task_to_id`.
    pub task: Option<String>,
    /// The preceding text, which begins with `<|startofprev|>`.
    #[serde(default)]
    pub prompt_ids: Vec<i64>,
    /// Arguments that must have the value of this model.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl WhisperGenerationConfig {
    /// Reads the file of a directory.
    ///
    /// # Errors
    ///
    /// Those of [`pretrained::read_json`].
    pub fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        pretrained::read_json(dir.as_ref().join("generation_config.json"))
    }

    /// Refuses arguments other than the fields; null counts as absent.
    fn check_rest(&self) -> Result<()> {
        let mut rest = self.rest.clone();
        rest.retain(|_, value| !value.is_null());
        for (name, problem) in [
            (
                "do_sample",
                "the likeliest text is written only; say false, and num_beams to search for a likelier one",
            ),
            (
                "return_timestamps",
                "texts have no timestamps here; say false, and for times give each chunk of the sound on its own",
            ),
        ] {
            match rest.remove(name) {
                None | Some(Value::Bool(false)) => {}
                Some(value) => return Err(Error::argument("Whisper", name, value, problem)),
            }
        }
        let only = [
            ("early_stopping", json!(false)),
            ("min_length", json!(0)),
            ("no_repeat_ngram_size", json!(0)),
            ("num_return_sequences", json!(1)),
            // For sampling.
            ("temperature", json!(IGNORED)),
            ("top_k", json!(IGNORED)),
            ("top_p", json!(IGNORED)),
            // For timestamps and longer audio.
            ("alignment_heads", json!(IGNORED)),
            ("max_initial_timestamp_index", json!(IGNORED)),
            ("prev_sot_token_id", json!(IGNORED)),
            // A finished text is cut off, and begins with the decoder's start token.
            ("bos_token_id", json!(IGNORED)),
            ("pad_token_id", json!(IGNORED)),
            // Determined by `lang_to_id`.
            ("is_multilingual", json!(IGNORED)),
            ("transformers_version", json!(IGNORED)),
            ("use_cache", json!(IGNORED)),
            ("_from_model_config", json!(IGNORED)),
        ];
        pretrained::check_rest("Whisper", &rest, &only)
    }

    /// The search options after this many tokens, if the model has `positions` positions.
    ///
    /// # Errors
    ///
    /// Tokens that do not fit, an argument with a value that this model does not support.
    pub fn search(&self, prompt: usize, positions: usize) -> Result<GenerationConfig> {
        self.check_rest()?;
        let room = positions.saturating_sub(prompt);
        let longest = self.max_length + prompt.min((positions / 2).saturating_sub(1));
        let new = self.max_new_tokens;
        let new = new.unwrap_or(longest.saturating_sub(prompt).min(room));
        if new > room {
            let problem = format!("must be at most {room} behind {prompt} tokens");
            return Err(Error::argument("Whisper", "max_new_tokens", new, problem));
        }
        Ok(GenerationConfig::new(new)
            .eos_token_id([self.eos_token_id])
            .num_beams(self.num_beams.unwrap_or(1))
            .length_penalty(self.length_penalty.unwrap_or(1.0))
            .repetition_penalty(self.repetition_penalty.unwrap_or(1.0))
            .suppress_tokens(self.suppress_tokens.clone().unwrap_or_default())
            .begin_suppress_tokens(self.begin_suppress_tokens.clone().unwrap_or_default()))
    }

    /// The tokens that the configuration forces after the first one: the language, which may be open, and those after it.
    fn forced(&self) -> Result<(Option<i64>, Vec<i64>)> {
        let forced = self.forced_decoder_ids.as_deref().unwrap_or_default();
        for (i, (place, _)) in forced.iter().enumerate() {
            if *place != i + 1 {
                let problem = format!("stands where the token of place {} must", i + 1);
                let name = "forced_decoder_ids";
                return Err(Error::argument("Whisper", name, place, problem));
            }
        }
        let mut ids = forced.iter().map(|&(_, id)| id);
        let language = ids.next().flatten();
        Ok((language, ids.flatten().collect()))
    }
}

/// The token with a name.
fn token(of: &'static str, name: &str, ids: &BTreeMap<String, i64>) -> Result<i64> {
    if let Some(&id) = ids.get(name) {
        return Ok(id);
    }
    let known: Vec<&str> = ids.keys().map(String::as_str).collect();
    let problem = match known.is_empty() {
        true => "the model has no choice; leave it out".to_owned(),
        false => format!("must be one of {}", known.join(", ")),
    };
    Err(Error::argument("Whisper", of, name, problem))
}

impl Whisper {
    /// Transcribes each of `(N, num_mel_bins, frames)` into tokens, without timestamps and without what precedes and
    /// follows the text. Each is one chunk of audio; transcribe a longer recording chunk by chunk, with the preceding text
    /// as `prompt_ids`. As in transformers, a text that does not end by itself ends at `max_length` tokens.
    ///
    /// # Errors
    ///
    /// Those of the forward pass, [`prompt`](Self::prompt) and [`search`](WhisperGenerationConfig::search).
    pub fn generate(
        &self,
        features: Tensor,
        config: &WhisperGenerationConfig,
    ) -> Result<Vec<Vec<i64>>> {
        let encoded = no_grad(|| self.encode(features))?;
        let prompt = self.prompt(&encoded, config)?;
        let begin = prompt.size(1)?;
        let search = config.search(begin, self.max_target_positions())?;
        let mut model = with_cache(Caches::new(), |ids, caches| {
            self.call((ids, encoded.clone(), caches))
        });
        let ids = generate(&mut model, &prompt, &search)?;
        let texts = (0..ids.size(0)?).map(|row| {
            let text = ids.select(0, row as isize)?.to_vec::<i64>()?.into_iter();
            let text = text.skip(begin).take_while(|&id| id != config.eos_token_id);
            Ok(text.collect())
        });
        texts.collect()
    }

    /// The tokens before each text, `(N, tokens)`: the preceding text, and the tokens for the start, the language, the task
    /// and no timestamps.
    ///
    /// # Errors
    ///
    /// A language or a task that the model does not know.
    pub fn prompt(&self, encoded: &Tensor, config: &WhisperGenerationConfig) -> Result<Tensor> {
        let (language, others) = match (&config.language, &config.task) {
            (None, None) => config.forced()?,
            (language, task) => {
                let task = match task {
                    Some(task) => Some(token("task", task, &config.task_to_id)?),
                    None => config.task_to_id.get("transcribe").copied(),
                };
                let language = language.as_ref().map(|language| {
                    let code = language.trim_matches(['<', '|', '>']);
                    token("language", &format!("<|{code}|>"), &config.lang_to_id)
                });
                (language.transpose()?, task.into_iter().collect())
            }
        };
        let rows = encoded.size(0)?;
        let languages = match language {
            Some(language) => vec![Some(language); rows],
            None if config.lang_to_id.is_empty() => vec![None; rows],
            None => {
                let found = self.detect_language(encoded, config)?;
                found.into_iter().map(Some).collect()
            }
        };
        let prompts: Vec<Vec<i64>> = languages
            .into_iter()
            .map(|language| {
                let mut ids = config.prompt_ids.clone();
                ids.push(config.decoder_start_token_id);
                ids.extend(language);
                ids.extend(&others);
                let last = ids.last().copied();
                ids.extend(config.no_timestamps_token_id.filter(|&id| last != Some(id)));
                ids
            })
            .collect();
        let length = prompts.first().map_or(0, Vec::len);
        Tensor::from_vec(prompts.concat(), [rows, length])?.to_device(&encoded.device())
    }

    /// The token of the likeliest language for each of `(N, positions, d_model)`.
    ///
    /// # Errors
    ///
    /// Those of the forward pass.
    pub fn detect_language(
        &self,
        encoded: &Tensor,
        config: &WhisperGenerationConfig,
    ) -> Result<Vec<i64>> {
        let ids: Vec<i64> = config.lang_to_id.values().copied().collect();
        let languages = Tensor::from(ids.as_slice()).to_device(&encoded.device())?;
        let start = Tensor::full([encoded.size(0)?, 1], config.decoder_start_token_id, ())?;
        let start = start.to_device(&encoded.device())?;
        let (logits, _) = no_grad(|| self.call((start, encoded.clone(), Caches::new())))?;
        let scores = logits.select(1, -1)?.index_select(1, &languages)?;
        let best = scores.argmax(1)?;
        languages.index_select(0, &best)?.to_vec()
    }
}
