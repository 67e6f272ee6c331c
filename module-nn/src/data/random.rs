use module_core::rng::{Generator, default_generator};
use module_core::{Error, Result};

use super::sampler::other_state;
use super::{Sampler, draw};
use crate::config::check_bytes_fit;

/// The indices in random order, or drawn with replacement: PyTorch's `RandomSampler`, with its order for a seed.
///
/// Without its own generator, each epoch draws a seed from the default generator, and its indices from a new generator with
/// that seed. Without replacement, more samples than the data set has are several permutations, the last of which is
/// truncated.
///
/// # Example
///
/// ```
/// use module_nn::data::{RandomSampler, Sampler};
/// use module_nn::{Generator, fork_rng};
///
/// let sampler = RandomSampler::new(5)?;
/// let order = fork_rng(0, || sampler.indices())?;
/// assert_eq!(order, fork_rng(0, || sampler.indices())?);
/// let sampler = sampler.replacement(true).num_samples(7)?.generator(Generator::new(0));
/// assert_eq!(sampler.indices()?.len(), 7);
/// assert!(RandomSampler::new(0).is_err());
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RandomSampler {
    dataset_len: usize,
    replacement: bool,
    num_samples: usize,
    generator: Option<Generator>,
}

impl RandomSampler {
    /// The indices of a data set of this length, each once.
    ///
    /// # Errors
    ///
    /// A length of 0.
    pub fn new(len: usize) -> Result<Self> {
        if len == 0 {
            let problem = "must be at least 1: there is nothing to draw from an empty data set";
            return Err(Error::argument("random_sampler", "len", len, problem));
        }
        Ok(Self {
            dataset_len: len,
            replacement: false,
            num_samples: len,
            generator: None,
        })
    }

    /// Whether to draw with replacement; default `false`.
    #[must_use]
    pub fn replacement(mut self, replacement: bool) -> Self {
        self.replacement = replacement;
        self
    }

    /// The number of indices per epoch; default the length of the data set.
    ///
    /// # Errors
    ///
    /// 0.
    pub fn num_samples(mut self, num_samples: usize) -> Result<Self> {
        check_num_samples("random_sampler", num_samples)?;
        self.num_samples = num_samples;
        Ok(self)
    }

    /// The generator to draw from, which is shared, not copied.
    #[must_use]
    pub fn generator(mut self, generator: Generator) -> Self {
        self.generator = Some(generator);
        self
    }
}

/// Checks the number of indices of an epoch.
pub(super) fn check_num_samples(op: &'static str, num_samples: usize) -> Result<()> {
    if num_samples == 0 {
        let problem = "must be at least 1";
        return Err(Error::argument(op, "num_samples", num_samples, problem));
    }
    Ok(())
}

/// Restores the state of a sampler that consists only of this generator.
pub(super) fn set_generator(generator: Option<&Generator>, state: &[u8]) -> Result<()> {
    match generator {
        Some(generator) => generator.set_state(state),
        None if state.is_empty() => Ok(()),
        None => Err(other_state(state)),
    }
}

impl Sampler for RandomSampler {
    type Index = usize;

    fn len(&self) -> usize {
        self.num_samples
    }

    fn indices(&self) -> Result<Vec<usize>> {
        let generator = match &self.generator {
            Some(generator) => generator.clone(),
            None => Generator::new(draw::seed(&default_generator())?),
        };
        // The indices, and as many numbers that are drawn for them.
        let samples = self.num_samples;
        let bytes = samples.checked_mul(3 * size_of::<usize>());
        check_bytes_fit("random_sampler", "num_samples", samples, bytes)?;
        if self.replacement {
            return draw::below(&generator, self.dataset_len, self.num_samples);
        }
        let mut all = Vec::new();
        for _ in 0..self.num_samples / self.dataset_len {
            all.extend(draw::permutation(&generator, self.dataset_len)?);
        }
        // PyTorch draws the last permutation even if none of it is used.
        let last = draw::permutation(&generator, self.dataset_len)?;
        all.extend(last.into_iter().take(self.num_samples % self.dataset_len));
        Ok(all)
    }

    fn get_state(&self) -> Vec<u8> {
        let generator = self.generator.as_ref();
        generator.map(Generator::get_state).unwrap_or_default()
    }

    fn set_state(&self, state: &[u8]) -> Result<()> {
        set_generator(self.generator.as_ref(), state)
    }
}
