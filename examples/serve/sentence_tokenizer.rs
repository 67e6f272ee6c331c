//! Texts as tokens, by the `tokenizer.json` of a model.

use std::fmt;
use std::path::Path;

use module_examples::models::pretrained::read_json;
use module_nn::prelude::*;
use serde::Deserialize;
use tokenizers::Tokenizer;

/// The tokenizer of a directory of sentence-transformers.
pub struct SentenceTokenizer {
    tokenizer: Tokenizer,
    max_tokens: usize,
}

/// sentence-transformers' `sentence_bert_config.json`.
#[derive(Deserialize)]
struct SentenceConfig {
    max_seq_length: usize,
}

/// A text that has more tokens than the model was trained for; it is refused, because an embedding of its beginning
/// would pass for that of the whole.
#[derive(Clone, Copy, Debug)]
pub struct TooManyTokens {
    /// Those of the text, with the marks at its beginning and end.
    pub tokens: usize,
    /// How many it may have.
    pub limit: usize,
}

impl fmt::Display for TooManyTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tokens, limit } = self;
        write!(
            f,
            "the text has {tokens} tokens, the model takes {limit}; cut it into parts"
        )
    }
}

impl std::error::Error for TooManyTokens {}

impl SentenceTokenizer {
    /// Reads `tokenizer.json` and `sentence_bert_config.json`.
    ///
    /// What the former says of cutting and padding is left out: MiniLM's cuts at 128 tokens, although the model takes
    /// 256, and pads each text to 128.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or does not hold what it should.
    pub fn from_dir(dir: impl AsRef<Path>) -> Result<Self> {
        let dir = dir.as_ref();
        let config: SentenceConfig = read_json(dir.join("sentence_bert_config.json"))?;
        let file = dir.join("tokenizer.json");
        let named = |error| Error::custom(format!("{}: {error}", file.display()));
        let mut tokenizer = Tokenizer::from_file(&file).map_err(named)?;
        let _ = tokenizer.with_truncation(None).map_err(named)?;
        let _ = tokenizer.with_padding(None);
        Ok(Self {
            tokenizer,
            max_tokens: config.max_seq_length,
        })
    }

    /// The ids of a text, with those of `[CLS]` before it and of `[SEP]` behind it.
    ///
    /// # Errors
    ///
    /// [`TooManyTokens`], found by `downcast_ref`.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.encode_fast(text, true);
        let ids = encoding.map_err(Error::custom)?.get_ids().to_vec();
        let (tokens, limit) = (ids.len(), self.max_tokens);
        if tokens > limit {
            return Err(Error::custom(TooManyTokens { tokens, limit }));
        }
        Ok(ids)
    }

    /// The most tokens that a text may have.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// How many tokens there are.
    pub fn vocabulary_size(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }
}
