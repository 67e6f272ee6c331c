use std::sync::atomic::{AtomicU64, Ordering};

use module_core::rng::Generator;
use module_core::{Error, Result};

use super::sampler::other_state;
use super::{Sampler, draw};

/// One process's share of the indices: PyTorch's `DistributedSampler`, with its order for a seed.
///
/// The indices are shuffled by a generator with the seed `seed + epoch`, and process `rank` gets every `num_replicas`-th
/// one, from `rank` on. To make the shares equal, indices from the beginning are repeated or, with
/// [`drop_last`](Self::drop_last), those at the end are dropped. Call [`set_epoch`](Self::set_epoch) before each epoch;
/// keep an `Arc` of the sampler for this.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use module_nn::data::{DataLoaderConfig, DistributedSampler, Sampler};
/// use module_nn::prelude::*;
///
/// let dataset: Vec<i64> = (0..5).collect();
/// let sampler = Arc::new(DistributedSampler::new(dataset.len(), 2, 1)?.shuffle(false));
/// assert_eq!(sampler.indices()?, [1, 3, 0]);
/// let shuffled = DistributedSampler::new(5, 2, 0)?.seed(7).drop_last(true);
/// assert_eq!(shuffled.len(), 2);
/// let loader = DataLoaderConfig::new().sampler(sampler.clone()).build(dataset)?;
/// for epoch in 0..2 {
///     sampler.set_epoch(epoch);
///     assert_eq!(loader.iter().count(), 3);
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct DistributedSampler {
    len: usize,
    num_replicas: usize,
    rank: usize,
    shuffle: bool,
    seed: u64,
    drop_last: bool,
    epoch: AtomicU64,
}

impl DistributedSampler {
    /// The share of process `rank`, from 0, of `num_replicas` processes in a data set of this length.
    ///
    /// # Errors
    ///
    /// A rank that is not below the number of processes.
    pub fn new(len: usize, num_replicas: usize, rank: usize) -> Result<Self> {
        if rank >= num_replicas {
            let problem = format!("must be below num_replicas = {num_replicas}");
            return Err(Error::argument(
                "distributed_sampler",
                "rank",
                rank,
                problem,
            ));
        }
        Ok(Self {
            len,
            num_replicas,
            rank,
            shuffle: true,
            seed: 0,
            drop_last: false,
            epoch: AtomicU64::new(0),
        })
    }

    /// Whether the indices are shuffled; default `true`.
    #[must_use]
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// The seed of the order, which must be the same in all processes; default 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Whether to drop indices at the end instead of repeating some; default `false`.
    #[must_use]
    pub fn drop_last(mut self, drop_last: bool) -> Self {
        self.drop_last = drop_last;
        self
    }

    /// Sets the number of the next epoch; without it each epoch has the same order.
    pub fn set_epoch(&self, epoch: u64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }
}

impl Sampler for DistributedSampler {
    type Index = usize;

    fn len(&self) -> usize {
        match self.drop_last {
            true => self.len / self.num_replicas,
            false => self.len.div_ceil(self.num_replicas),
        }
    }

    fn indices(&self) -> Result<Vec<usize>> {
        let order = match self.shuffle {
            true => {
                let seed = self.seed.wrapping_add(self.epoch.load(Ordering::Relaxed));
                draw::permutation(&Generator::new(seed), self.len)?
            }
            false => draw::in_order("distributed_sampler", self.len)?,
        };
        // The repeated indices are those from the beginning, over and over if there are too few.
        let place = |i: usize| {
            let place = self.rank as u128 + i as u128 * self.num_replicas as u128;
            (place % self.len as u128) as usize
        };
        let share = (0..self.len()).filter_map(|i| order.get(place(i)));
        Ok(share.copied().collect())
    }

    fn get_state(&self) -> Vec<u8> {
        self.epoch.load(Ordering::Relaxed).to_le_bytes().to_vec()
    }

    fn set_state(&self, state: &[u8]) -> Result<()> {
        let bytes = state.try_into().map_err(|_| other_state(state))?;
        self.set_epoch(u64::from_le_bytes(bytes));
        Ok(())
    }
}
