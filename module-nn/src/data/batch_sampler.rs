use module_core::{Error, Result};

use super::Sampler;
use crate::config::check_bytes_fit;

/// The indices of another sampler in batches: PyTorch's `BatchSampler`.
///
/// # Example
///
/// ```
/// use module_nn::data::{BatchSampler, Sampler, SequentialSampler};
///
/// let batches = BatchSampler::new(SequentialSampler::new(5), 2)?;
/// assert_eq!(batches.indices()?, [vec![0, 1], vec![2, 3], vec![4]]);
/// assert_eq!(batches.drop_last(true).indices()?, [[0, 1], [2, 3]]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchSampler<S> {
    sampler: S,
    batch_size: usize,
    drop_last: bool,
}

impl<S: Sampler<Index = usize>> BatchSampler<S> {
    /// Batches of this size; the last one may be smaller.
    ///
    /// # Errors
    ///
    /// A size of 0.
    pub fn new(sampler: S, batch_size: usize) -> Result<Self> {
        if batch_size == 0 {
            let problem = "must be at least 1";
            return Err(Error::argument(
                "batch_sampler",
                "batch_size",
                batch_size,
                problem,
            ));
        }
        Ok(Self {
            sampler,
            batch_size,
            drop_last: false,
        })
    }

    /// Whether to drop a smaller last batch; default `false`.
    #[must_use]
    pub fn drop_last(mut self, drop_last: bool) -> Self {
        self.drop_last = drop_last;
        self
    }
}

impl<S: Sampler<Index = usize>> Sampler for BatchSampler<S> {
    type Index = Vec<usize>;

    fn len(&self) -> usize {
        match self.drop_last {
            true => self.sampler.len() / self.batch_size,
            false => self.sampler.len().div_ceil(self.batch_size),
        }
    }

    fn indices(&self) -> Result<Vec<Vec<usize>>> {
        let indices = self.sampler.indices()?;
        let lists = self.len().saturating_mul(2 * size_of::<Vec<usize>>());
        let bytes = lists.checked_add(size_of_val(&*indices));
        check_bytes_fit("batch_sampler", "batch_size", self.batch_size, bytes)?;
        let batches = indices.chunks(self.batch_size);
        let least = if self.drop_last { self.batch_size } else { 1 };
        let kept = batches.filter(|batch| batch.len() >= least);
        Ok(kept.map(<[usize]>::to_vec).collect())
    }

    fn get_state(&self) -> Vec<u8> {
        self.sampler.get_state()
    }

    fn set_state(&self, state: &[u8]) -> Result<()> {
        self.sampler.set_state(state)
    }
}
