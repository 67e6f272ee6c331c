//! The version of the weights that serves, and how another takes its place.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use module_nn::prelude::*;

use crate::error::ServeError;
use crate::sentence_encoder::SentenceEncoder;

/// What embeds texts of token ids; a trait, so that tests can slow it down.
pub trait Encode: Send + Sync {
    /// One row for each text.
    ///
    /// # Errors
    ///
    /// Those of the model.
    fn embed(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>>;
}

impl Encode for SentenceEncoder {
    fn embed(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let embeddings = Self::embed(self, texts)?.to_dtype(DType::F32)?;
        let values = embeddings.to_vec::<f32>()?;
        // JSON has no such numbers.
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            let problem = format!("an embedding has the value {value}; the weights are damaged");
            return Err(Error::custom(problem));
        }
        let rows = values.chunks(embeddings.size(1)?);
        Ok(rows.map(<[f32]>::to_vec).collect())
    }
}

/// Reads the weights from where they are kept, each time anew.
pub type Load = dyn Fn() -> Result<Box<dyn Encode>> + Send + Sync;

/// Weights with their number, 1 for the first ones.
pub struct Version {
    /// It grows by one with each reload.
    pub number: u64,
    /// The model with these weights.
    pub encoder: Box<dyn Encode>,
    width: usize,
}

/// The current version. A batch takes it once, so that all of its texts are embedded by the same weights.
pub struct Weights {
    load: Box<Load>,
    probe: Vec<u32>,
    current: RwLock<Arc<Version>>,
    loading: Mutex<()>,
}

impl Weights {
    /// The first version, which must embed the `probe`.
    ///
    /// # Errors
    ///
    /// Those of `load` and of embedding.
    pub fn new(probe: Vec<u32>, load: Box<Load>) -> Result<Self> {
        let version = read(&load, &probe, 1)?;
        Ok(Self {
            load,
            probe,
            current: RwLock::new(Arc::new(version)),
            loading: Mutex::new(()),
        })
    }

    /// The version that serves now; whoever holds it goes on with it while another takes its place.
    pub fn current(&self) -> Arc<Version> {
        let current = self.current.read();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the weights again, beside those that serve, and puts them in their place if they embed the probe in as many
    /// finite numbers. Returns the number of the new version.
    ///
    /// # Errors
    ///
    /// Another reload that is under way, weights that do not load or do not fit; the old ones go on serving then.
    pub fn reload(&self) -> Result<u64, ServeError> {
        let Ok(_alone) = self.loading.try_lock() else {
            return Err(ServeError::ReloadBusy);
        };
        let old = self.current();
        let failed = |problem: String| ServeError::ReloadFailed { problem };
        let new = read(&self.load, &self.probe, old.number + 1);
        let new = new.map_err(|error| failed(error.to_string()))?;
        if new.width != old.width {
            return Err(failed(format!(
                "the new weights embed in {} numbers, those that serve in {}",
                new.width, old.width
            )));
        }
        let number = new.number;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(new);
        Ok(number)
    }
}

fn read(load: &Load, probe: &[u32], number: u64) -> Result<Version> {
    let encoder = load()?;
    let rows = encoder.embed(&[probe])?;
    let width = rows.first().map_or(0, Vec::len);
    Ok(Version {
        number,
        encoder,
        width,
    })
}
