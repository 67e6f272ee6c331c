use std::fmt;
use std::sync::{Arc, Mutex};

use module_core::rng::Generator;
use module_core::{Error, Result};

use super::plan::Source;
use super::{
    BatchSampler, DataError, DataLoader, Dataset, DefaultCollate, RandomSampler, Sampler,
    SequentialSampler,
};

const OP: &str = "data_loader";

/// The default number of batches that a worker prefetches.
const PREFETCH_FACTOR: usize = 2;

/// The arguments of a [`DataLoader`], with PyTorch's names.
///
/// | argument | default | meaning |
/// |---|---|---|
/// | `batch_size` | 1 | samples per batch |
/// | `shuffle` | `false` | a [`RandomSampler`] instead of a [`SequentialSampler`] |
/// | `sampler` | | the order of the samples |
/// | `batch_sampler` | | the batches, instead of `batch_size`, `shuffle`, `sampler` and `drop_last` |
/// | `num_workers` | 0 | loading threads; with 0 the loop itself loads |
/// | `drop_last` | `false` | drop a smaller last batch |
/// | `prefetch_factor` | 2 | batches that each worker prefetches |
/// | `collate_fn` | [`DefaultCollate`] | makes a batch from samples |
/// | `generator`, `seed` | the default generator | the source of base seeds and of the order of `shuffle` |
///
/// # Example
///
/// ```
/// use module_nn::data::DataLoaderConfig;
/// use module_nn::data::{BatchSampler, SequentialSampler};
/// use module_nn::Generator;
/// use module_nn::prelude::*;
///
/// let sum = |samples: Vec<i32>| Ok(samples.iter().sum::<i32>());
/// let config = DataLoaderConfig::new().batch_size(2).drop_last(true).collate_fn(sum);
/// let loader = config.num_workers(2).build(vec![1, 2, 3, 4, 5])?;
/// let sums = loader.iter().collect::<Result<Vec<i32>>>()?;
/// assert_eq!(sums, [3, 7]);
///
/// // Batches of your own, loaded by two threads, each three batches ahead.
/// let pairs = BatchSampler::new(SequentialSampler::new(5), 2)?;
/// let config = DataLoaderConfig::new().batch_sampler(pairs).num_workers(2).prefetch_factor(3);
/// let loader = config.collate_fn(sum).build(vec![1, 2, 3, 4, 5])?;
/// assert_eq!(loader.iter().collect::<Result<Vec<i32>>>()?, [3, 7, 5]);
/// // The same order each time that the generator has the same state.
/// let order = || -> Result<Vec<i32>> {
///     let config = DataLoaderConfig::new().shuffle(true).generator(Generator::new(0));
///     config.collate_fn(sum).build(vec![1, 2, 3, 4, 5])?.iter().collect()
/// };
/// assert_eq!(order()?, order()?);
/// # Ok::<(), Error>(())
/// ```
#[must_use]
pub struct DataLoaderConfig<C = DefaultCollate> {
    batch_size: Option<usize>,
    shuffle: bool,
    sampler: Option<Box<dyn Sampler<Index = usize>>>,
    batch_sampler: Option<Box<dyn Sampler<Index = Vec<usize>>>>,
    num_workers: usize,
    drop_last: bool,
    prefetch_factor: Option<usize>,
    collate_fn: C,
    generator: Option<Generator>,
}

impl Default for DataLoaderConfig {
    fn default() -> Self {
        Self {
            batch_size: None,
            shuffle: false,
            sampler: None,
            batch_sampler: None,
            num_workers: 0,
            drop_last: false,
            prefetch_factor: None,
            collate_fn: DefaultCollate,
            generator: None,
        }
    }
}

impl DataLoaderConfig {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<C> DataLoaderConfig<C> {
    /// The number of samples per batch.
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.batch_size = Some(batch_size);
        self
    }

    /// Whether each epoch has its own random order.
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// The sampler that gives the order of the samples.
    pub fn sampler(mut self, sampler: impl Sampler<Index = usize> + 'static) -> Self {
        self.sampler = Some(Box::new(sampler));
        self
    }

    /// The sampler that gives the indices of each batch.
    pub fn batch_sampler(mut self, sampler: impl Sampler<Index = Vec<usize>> + 'static) -> Self {
        self.batch_sampler = Some(Box::new(sampler));
        self
    }

    /// The number of loading threads; with 0 the loop itself loads.
    pub fn num_workers(mut self, num_workers: usize) -> Self {
        self.num_workers = num_workers;
        self
    }

    /// Whether to drop a smaller last batch.
    pub fn drop_last(mut self, drop_last: bool) -> Self {
        self.drop_last = drop_last;
        self
    }

    /// The number of batches that each worker prefetches.
    pub fn prefetch_factor(mut self, prefetch_factor: usize) -> Self {
        self.prefetch_factor = Some(prefetch_factor);
        self
    }

    /// Makes a batch from samples: a [`Collate`](super::Collate), such as a function of a `Vec` of samples.
    pub fn collate_fn<F>(self, collate_fn: F) -> DataLoaderConfig<F> {
        DataLoaderConfig {
            batch_size: self.batch_size,
            shuffle: self.shuffle,
            sampler: self.sampler,
            batch_sampler: self.batch_sampler,
            num_workers: self.num_workers,
            drop_last: self.drop_last,
            prefetch_factor: self.prefetch_factor,
            collate_fn,
            generator: self.generator,
        }
    }

    /// The generator of base seeds and, with `shuffle`, of orders; it is shared, not copied.
    pub fn generator(mut self, generator: Generator) -> Self {
        self.generator = Some(generator);
        self
    }

    /// The same with a new generator of this seed.
    pub fn seed(self, seed: u64) -> Self {
        self.generator(Generator::new(seed))
    }

    /// A loader of a data set.
    ///
    /// # Errors
    ///
    /// A `batch_size` or a `prefetch_factor` of 0, a `prefetch_factor` without workers, mutually exclusive arguments,
    /// `shuffle` of an empty data set, [`DataError::NoThreads`].
    pub fn build<D: Dataset>(mut self, dataset: D) -> Result<DataLoader<D, C>> {
        let prefetch_factor = self.check_workers()?;
        let sampler = match self.batch_sampler.take() {
            Some(sampler) => self.with_batch_sampler(sampler)?,
            None => self.batches_of(dataset.len())?,
        };
        Ok(DataLoader {
            dataset: Arc::new(dataset),
            collate: Arc::new(self.collate_fn),
            source: Source {
                sampler,
                generator: self.generator,
            },
            num_workers: self.num_workers,
            prefetch_factor,
            position: Mutex::default(),
        })
    }

    fn check_workers(&self) -> Result<usize> {
        let num_workers = self.num_workers;
        let has_threads = cfg!(all(feature = "threads", not(target_family = "wasm")));
        if num_workers > 0 && !has_threads {
            return Err(DataError::NoThreads { num_workers }.into());
        }
        match self.prefetch_factor {
            Some(0) => {
                let problem = "must be at least 1";
                Err(Error::argument(OP, "prefetch_factor", 0, problem))
            }
            Some(given) if num_workers == 0 => {
                let problem = "is for workers; set num_workers, or leave it out";
                Err(Error::argument(OP, "prefetch_factor", given, problem))
            }
            given => Ok(given.unwrap_or(PREFETCH_FACTOR)),
        }
    }

    fn with_batch_sampler(
        &self,
        sampler: Box<dyn Sampler<Index = Vec<usize>>>,
    ) -> Result<Box<dyn Sampler<Index = Vec<usize>>>> {
        let excluded = [
            ("batch_size", self.batch_size.is_some()),
            ("shuffle", self.shuffle),
            ("sampler", self.sampler.is_some()),
            ("drop_last", self.drop_last),
        ];
        match excluded.into_iter().find(|&(_, given)| given) {
            Some((name, _)) => {
                let problem = "gives whole batches; leave out this argument, or the batch sampler";
                Err(Error::argument(
                    OP,
                    "batch_sampler",
                    format_args!("with {name}"),
                    problem,
                ))
            }
            None => Ok(sampler),
        }
    }

    /// Batches of the given sampler, or of the one for `shuffle`.
    fn batches_of(&mut self, len: usize) -> Result<Box<dyn Sampler<Index = Vec<usize>>>> {
        let sampler: Box<dyn Sampler<Index = usize>> = match self.sampler.take() {
            Some(_) if self.shuffle => {
                let problem = "a sampler gives the order; leave out one of the two";
                return Err(Error::argument(OP, "shuffle", true, problem));
            }
            Some(sampler) => sampler,
            None if self.shuffle => {
                let random = RandomSampler::new(len)?;
                match &self.generator {
                    Some(generator) => Box::new(random.generator(generator.clone())),
                    None => Box::new(random),
                }
            }
            None => Box::new(SequentialSampler::new(len)),
        };
        let batches = BatchSampler::new(sampler, self.batch_size.unwrap_or(1))?;
        Ok(Box::new(batches.drop_last(self.drop_last)))
    }
}

impl<C> fmt::Debug for DataLoaderConfig<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataLoaderConfig")
            .field("batch_size", &self.batch_size.unwrap_or(1))
            .field("shuffle", &self.shuffle)
            .field("num_workers", &self.num_workers)
            .field("drop_last", &self.drop_last)
            .finish_non_exhaustive()
    }
}
