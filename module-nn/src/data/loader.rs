use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use module_core::{Error, Result, Snapshot, Stateful};

use super::load::Load;
use super::plan::{Plan, Source};
use super::position::{Position, Progress, Saved};
use super::{Collate, Dataset, DefaultCollate, Epoch};

/// Batches of a data set, epoch by epoch: PyTorch's `DataLoader`.
///
/// Build it with [`DataLoaderConfig`](super::DataLoaderConfig). Each loop over `&loader` is an epoch of `Result<Batch>`.
///
/// # Random numbers
///
/// At the start of an epoch a base seed is drawn, and then the order, as in PyTorch: equal seeds give the batches of
/// PyTorch's loader. While batch `i` is loaded and collated, the thread's default generator is a new one with the seed
/// `base_seed + i`. A random augmentation in [`get`](Dataset::get) therefore gives the same samples with any number of
/// workers, including none, and does not advance the program's default generator. In PyTorch it depends on the number of
/// workers.
///
/// # Workers
///
/// `num_workers` threads prefetch, each at most `prefetch_factor` batches; the order stays the same. An error of the data
/// set is a [`DataError::Load`](super::DataError::Load) with the index of the sample, and a panic of a worker a
/// [`DataError::Panic`](super::DataError::Panic); without workers, a panic propagates to the loop. Threads start with
/// default settings, so a loop within [`no_grad`](module_core::no_grad) does not change how samples are loaded.
///
/// # Saving
///
/// The state is the position in the most recent epoch, also within the loop. A loader that is restored from it continues in
/// the next loop: it skips the batches that were already returned without loading them, and returns the rest bit for bit. A
/// state saved at the last batch has nothing left; one saved after the loop is at the start of an epoch. The default
/// generator is not part of the state; a checkpoint has it anyway.
///
/// # Example
///
/// ```
/// use module_nn::data::DataLoaderConfig;
/// use module_nn::prelude::*;
///
/// let dataset: Vec<i64> = (0..6).collect();
/// let config = || DataLoaderConfig::new().batch_size(2).shuffle(true).seed(7);
/// let loader = config().build(dataset.clone())?;
/// let mut epoch = loader.iter();
/// epoch.next();
/// let saved = loader.state()?;
///
/// let mut fresh = config().build(dataset)?;
/// fresh.load_state(&saved)?;
/// for (expected, batch) in epoch.zip(&fresh) {
///     assert_eq!(expected?.to_vec::<i64>()?, batch?.to_vec::<i64>()?);
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct DataLoader<D, C = DefaultCollate> {
    pub(super) dataset: Arc<D>,
    pub(super) collate: Arc<C>,
    pub(super) source: Source,
    pub(super) num_workers: usize,
    pub(super) prefetch_factor: usize,
    pub(super) position: Mutex<Position>,
}

impl<D, C> DataLoader<D, C> {
    /// The data set.
    pub fn dataset(&self) -> &D {
        &self.dataset
    }

    /// The number of batches of an epoch.
    pub fn len(&self) -> usize {
        self.source.sampler.len()
    }

    /// Whether an epoch has no batches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn position(&self) -> MutexGuard<'_, Position> {
        // Each change is one assignment.
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The order of the next epoch, or of the one to continue.
    fn begin(&self) -> Result<(Plan, Arc<Progress>)> {
        let mut position = self.position();
        let resumed = position.resumed.take();
        if let Some(resumed) = resumed.zip(position.current.clone()) {
            return Ok(resumed);
        }
        let start = self.source.start();
        let plan = self.source.draw()?;
        let progress = Progress::new(start, plan.batches.len(), 0);
        position.current = Some(progress.clone());
        Ok((plan, progress))
    }
}

impl<D, C> DataLoader<D, C>
where
    D: Dataset + 'static,
    C: Collate<D::Item> + 'static,
    C::Batch: 'static,
{
    /// Begins an epoch, or continues the one whose state was loaded.
    ///
    /// If an epoch cannot begin, because an order cannot be drawn or a worker cannot be started, that error is its only
    /// item.
    pub fn iter(&self) -> Epoch<D, C> {
        let epoch = self.begin().and_then(|(plan, progress)| {
            let load = Load {
                dataset: self.dataset.clone(),
                collate: self.collate.clone(),
                plan,
            };
            Epoch::new(load, progress, self.num_workers, self.prefetch_factor)
        });
        epoch.unwrap_or_else(Epoch::failed)
    }
}

impl<D, C> IntoIterator for &DataLoader<D, C>
where
    D: Dataset + 'static,
    C: Collate<D::Item> + 'static,
    C::Batch: 'static,
{
    type Item = Result<C::Batch>;
    type IntoIter = Epoch<D, C>;

    fn into_iter(self) -> Epoch<D, C> {
        self.iter()
    }
}

/// The position in the epoch; see [`DataLoader`].
impl<D: Dataset, C> Stateful for DataLoader<D, C> {
    fn state(&self) -> Result<Snapshot> {
        let (now, len) = (self.source.state(), self.dataset.len());
        Saved::new(&self.position(), now, len).to_snapshot()
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let saved = Saved::read(state)?;
        let (len, found) = (self.dataset.len(), saved.dataset_len);
        if found != len {
            let problem =
                format!("the data set has {len} samples; load the state with the same one");
            return Err(Error::argument("load_state", "dataset_len", found, problem));
        }
        let mut position = Position::default();
        if let Some((start, batches, given)) = saved.epoch {
            let plan = self.source.draw_again(&start)?;
            let count = plan.batches.len();
            if batches != count || given > count {
                let problem = format!(
                    "this loader's epoch has {count} batches; build it with the batch size and the sampler of the \
                     one that was saved"
                );
                let value = format_args!("{given} of {batches}");
                return Err(Error::argument(
                    "load_state",
                    "batches_given",
                    value,
                    problem,
                ));
            }
            position.current = Some(Progress::new(start, count, given));
            position.resumed = Some(plan);
        }
        self.source.set_state(&saved.now)?;
        *self.position() = position;
        Ok(())
    }
}

impl<D: Dataset, C> fmt::Debug for DataLoader<D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataLoader")
            .field("samples", &self.dataset.len())
            .field("batches", &self.len())
            .field("num_workers", &self.num_workers)
            .field("prefetch_factor", &self.prefetch_factor)
            .finish_non_exhaustive()
    }
}
