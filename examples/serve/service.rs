//! A request from its texts to its embeddings, without HTTP.

use std::path::Path;
use std::sync::Arc;

use module_nn::{Error, Result};
use tokio::time::{Instant, timeout_at};

use crate::batcher::{Batcher, Embedded};
use crate::error::ServeError;
use crate::metrics::{Gauges, Metrics};
use crate::options::Options;
use crate::sentence_encoder::SentenceEncoder;
use crate::sentence_tokenizer::{SentenceTokenizer, TooManyTokens};
use crate::weights::{Encode, Load, Weights};

/// What all connections share.
pub struct Service {
    /// The limits.
    pub options: Options,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    tokenizer: Arc<SentenceTokenizer>,
    weights: Arc<Weights>,
    batcher: Batcher,
}

impl Service {
    /// The service of a directory of sentence-transformers, from which a reload reads the weights again.
    ///
    /// # Errors
    ///
    /// Options that do not go together, a model that does not load.
    pub fn from_dir(dir: &Path, options: Options) -> Result<Self> {
        let tokenizer = Arc::new(SentenceTokenizer::from_dir(dir)?);
        let (dir, shared) = (dir.to_owned(), Arc::clone(&tokenizer));
        let load = move || -> Result<Box<dyn Encode>> {
            Ok(Box::new(SentenceEncoder::from_dir(&dir, &shared)?))
        };
        Self::new(tokenizer, Box::new(load), options)
    }

    /// The service of a tokenizer and of what reads the weights.
    ///
    /// # Errors
    ///
    /// As [`from_dir`](Self::from_dir).
    pub fn new(
        tokenizer: Arc<SentenceTokenizer>,
        load: Box<Load>,
        options: Options,
    ) -> Result<Self> {
        options.check()?;
        let metrics = Arc::new(Metrics::default());
        let weights = Arc::new(Weights::new(tokenizer.encode("")?, load)?);
        let batcher = Batcher::start(options.batch, Arc::clone(&weights), Arc::clone(&metrics));
        Ok(Self {
            options,
            metrics,
            tokenizer,
            weights,
            batcher: batcher.map_err(Error::custom)?,
        })
    }

    /// Embeds the texts of a request.
    ///
    /// # Errors
    ///
    /// Texts that are refused, a full queue, a deadline that has passed, a model that failed.
    pub async fn embed(
        &self,
        texts: Vec<String>,
        deadline: Instant,
    ) -> Result<Embedded, ServeError> {
        self.check(&texts)?;
        let tokenizer = Arc::clone(&self.tokenizer);
        // Long texts take milliseconds, in which a thread of the runtime would serve nobody else.
        let ids = tokio::task::spawn_blocking(move || tokenize(&tokenizer, &texts)).await;
        let ids = ids.map_err(|error| model(&error))??;
        let waiting = self.batcher.submit(ids)?;
        match timeout_at(deadline, waiting).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(gone)) => Err(model(&gone)),
            Err(_) => Err(ServeError::Timeout),
        }
    }

    fn check(&self, texts: &[String]) -> Result<(), ServeError> {
        if texts.is_empty() {
            return Err(ServeError::NoTexts);
        }
        let limit = self.options.max_texts;
        if texts.len() > limit {
            let texts = texts.len();
            return Err(ServeError::TooManyTexts { texts, limit });
        }
        let limit = self.options.max_text_bytes;
        match texts.iter().position(|text| text.len() > limit) {
            None => Ok(()),
            Some(index) => {
                let bytes = texts[index].len();
                Err(ServeError::TextTooLarge {
                    index,
                    bytes,
                    limit,
                })
            }
        }
    }

    /// Reads the weights again; see [`Weights::reload`].
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn reload(&self) -> Result<u64, ServeError> {
        let weights = Arc::clone(&self.weights);
        let reloaded = tokio::task::spawn_blocking(move || weights.reload()).await;
        let failed = |error: &dyn std::fmt::Display| ServeError::ReloadFailed {
            problem: error.to_string(),
        };
        let reloaded = reloaded.unwrap_or_else(|error| Err(failed(&error)));
        self.metrics.observe_reload(reloaded.is_err());
        reloaded
    }

    /// What is measured at this moment.
    pub fn gauges(&self) -> Gauges {
        Gauges {
            waiting: self.batcher.waiting(),
            version: self.weights.current().number,
        }
    }

    /// Takes no more, and returns when what waits is embedded.
    pub fn close(&self) {
        self.batcher.close();
    }
}

fn model(error: &dyn std::fmt::Display) -> ServeError {
    let problem = error.to_string();
    ServeError::Model { problem }
}

fn tokenize(tokenizer: &SentenceTokenizer, texts: &[String]) -> Result<Vec<Vec<u32>>, ServeError> {
    let texts = texts.iter().enumerate();
    let ids = texts.map(|(index, text)| {
        let refused = |error: Error| match error.downcast_ref::<TooManyTokens>() {
            Some(&problem) => ServeError::TextTooLong { index, problem },
            None => model(&error),
        };
        tokenizer.encode(text).map_err(refused)
    });
    ids.collect()
}
