use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use module_core::{Error, Result, Snapshot, Stateful};

use super::load::Load;
use super::plan::{Plan, Source};
use super::position::{Position, Progress, Saved};
use super::{Collate, Dataset, DefaultCollate, Epoch};

/// Batches of a data set, epoch by epoch: PyTorch's `DataLoader`.
///
/// [`DataLoaderConfig`](super::DataLoaderConfig) builds it. Each loop over `&loader` is an epoch of
/// `Result<Batch>`.
///
/// # Random numbers
///
/// At the start of an epoch a base seed is drawn, and then the order, as in PyTorch: from equal seeds come the
/// batches of PyTorch's loader. While batch `i` is loaded and collated, the default generator of the thread is a
/// new one with the seed `base_seed + i`. A random augmentation in [`get`](Dataset::get) therefore gives the same
/// samples with every number of workers, also with none, and does not move the default generator of the program.
/// In PyTorch it depends on the number of workers.
///
/// # Workers
///
/// `num_workers` threads load ahead, each at most `prefetch_factor` batches; the order stays. An error of the
/// data set is a [`DataError::Load`](super::DataError::Load) with the index of the sample, and a panic of a worker a
/// [`DataError::Panic`](super::DataError::Panic); without workers, a panic goes on to the loop. Threads start from
/// the defaults, so that a loop within [`no_grad`](module_core::no_grad) does not change how samples are loaded.
///
/// # Saving
///
/// The state is the position in the epoch that was begun last, also within the loop. A loader that takes it up
/// goes on with the next loop: it skips the batches that were given out without loading them, and gives the rest
/// bit for bit. A state from the last batch has no rest, one from after the loop is at the start of an epoch. The
/// default generator is not part of it; a checkpoint has it anyway.
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

    /// Whether an epoch has no batch.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn position(&self) -> MutexGuard<'_, Position> {
        // Each change is one assignment.
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The order of the next epoch, or of the one to go on with.
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
    /// Begins an epoch, or goes on with the one whose state was loaded.
    ///
    /// An epoch that cannot begin, because an order cannot be drawn or a worker not be started, has that error as
    /// its only item.
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
