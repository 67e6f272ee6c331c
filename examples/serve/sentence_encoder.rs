//! Tokens as embeddings: a BERT, the mean over the tokens, and a norm of 1.

use std::path::Path;

use module_examples::models::bert::{Bert, BertConfig};
use module_examples::models::pretrained::{Pretrained, read_config, read_json};
use module_nn::data::pad_batch;
use module_nn::functional::normalize;
use module_nn::prelude::*;
use module_nn::rnn::PaddingSide;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::sentence_tokenizer::SentenceTokenizer;

/// The model of a directory of sentence-transformers.
pub struct SentenceEncoder {
    bert: Bert,
}

/// sentence-transformers' `1_Pooling/config.json`.
#[derive(Deserialize)]
struct Pooling {
    pooling_mode_mean_tokens: bool,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl SentenceEncoder {
    /// Reads the configuration and the weights, all of which must be there.
    ///
    /// # Errors
    ///
    /// Those of [`Bert::from_pretrained`]; a model that pools otherwise, or does not fit the tokenizer.
    pub fn from_dir(dir: impl AsRef<Path>, tokenizer: &SentenceTokenizer) -> Result<Self> {
        let dir = dir.as_ref();
        check_pooling(&dir.join("1_Pooling/config.json"))?;
        let config: BertConfig = read_config(dir)?;
        for (what, model, needed) in [
            ("tokens", config.vocab_size, tokenizer.vocabulary_size()),
            (
                "positions",
                config.max_position_embeddings,
                tokenizer.max_tokens(),
            ),
        ] {
            if model < needed {
                return Err(Error::custom(format!(
                    "{}: the model has {model} {what}, its tokenizer needs {needed}",
                    dir.display()
                )));
            }
        }
        Ok(Self {
            bert: Bert::from_pretrained(dir)?,
        })
    }

    /// Embeds texts of token ids: `[texts, width]`, each row of norm 1.
    ///
    /// # Errors
    ///
    /// No text, one without tokens, an id that the model does not have.
    pub fn embed<T: AsRef<[u32]>>(&self, texts: &[T]) -> Result<Tensor> {
        // Any id does for padding, because attention and the mean leave it out.
        let batch = pad_batch(texts, 0, PaddingSide::Right)?;
        let mask = batch.mask.to_dtype(DType::I64)?;
        let kinds = batch.ids.zeros_like()?;
        no_grad(|| {
            let (hidden, _) = self.bert.call((batch.ids, kinds, mask.clone()))?;
            let mask = mask.to_dtype(hidden.dtype())?.unsqueeze(-1)?;
            let mean = hidden.mul(&mask)?.sum(1)?.div(&mask.sum(1)?)?;
            normalize(&mean, 2.0, 1, 1e-12)
        })
    }
}

/// Refuses what is not the mean over all tokens; a model without the file is taken for one.
fn check_pooling(file: &Path) -> Result<()> {
    if !file.exists() {
        return Ok(());
    }
    let pooling: Pooling = read_json(file)?;
    let modes = pooling.rest.iter();
    let mut others = modes.filter(|(name, on)| name.starts_with("pooling_mode_") && **on == true);
    if pooling.pooling_mode_mean_tokens && others.next().is_none() {
        return Ok(());
    }
    Err(Error::custom(format!(
        "{}: this model has pooling_mode_mean_tokens only",
        file.display()
    )))
}
