use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use module_core::{Error, Result};

use super::load::Load;
use super::position::Progress;
use super::workers::Workers;
use super::{Collate, Dataset};

/// The batches of one epoch in order; made by [`DataLoader::iter`](super::DataLoader::iter).
///
/// An error takes the place of its batch, and later batches can still be requested. Dropping the iterator stops its
/// workers: it waits until each one has finished loading its current sample.
///
/// # Example
///
/// ```
/// use module_nn::data::{DataLoaderConfig, DefaultCollate, Epoch};
/// use module_nn::prelude::*;
///
/// let loader = DataLoaderConfig::new().batch_size(2).build(vec![1_i64, 2, 3])?;
/// let mut epoch: Epoch<Vec<i64>, DefaultCollate> = loader.iter();
/// assert_eq!(epoch.len(), 2);
/// let first = epoch.next().unwrap()?;
/// assert_eq!((first.to_vec::<i64>()?, epoch.len()), (vec![1, 2], 1));
/// # Ok::<(), Error>(())
/// ```
pub struct Epoch<D: Dataset, C: Collate<D::Item>> {
    /// `None` if the epoch could not begin.
    begun: Option<Begun<D, C>>,
    /// Why it could not begin.
    failed: Option<Error>,
}

struct Begun<D: Dataset, C: Collate<D::Item>> {
    load: Arc<Load<D, C>>,
    workers: Option<Workers<C::Batch>>,
    progress: Arc<Progress>,
}

impl<D, C> Epoch<D, C>
where
    D: Dataset + 'static,
    C: Collate<D::Item> + 'static,
    C::Batch: 'static,
{
    pub(super) fn new(
        load: Load<D, C>,
        progress: Arc<Progress>,
        num_workers: usize,
        prefetch_factor: usize,
    ) -> Result<Self> {
        let load = Arc::new(load);
        let first = progress.given();
        let num_workers = num_workers.min(load.plan.batches.len().saturating_sub(first));
        let workers = match num_workers {
            0 => None,
            _ => Some(Workers::start(&load, first, num_workers, prefetch_factor)?),
        };
        let begun = Begun {
            load,
            workers,
            progress,
        };
        Ok(Self {
            begun: Some(begun),
            failed: None,
        })
    }
}

impl<D: Dataset, C: Collate<D::Item>> Epoch<D, C> {
    pub(super) fn failed(error: Error) -> Self {
        Self {
            begun: None,
            failed: Some(error),
        }
    }

    /// How many batches are left.
    fn left(&self) -> usize {
        let of = |begun: &Begun<D, C>| {
            let all = begun.load.plan.batches.len();
            all.saturating_sub(begun.progress.given())
        };
        self.begun.as_ref().map_or(0, of) + usize::from(self.failed.is_some())
    }
}

impl<D, C> Iterator for Epoch<D, C>
where
    D: Dataset + 'static,
    C: Collate<D::Item> + 'static,
    C::Batch: 'static,
{
    type Item = Result<C::Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        let begun = self.begun.as_mut()?;
        let number = begun.progress.given();
        if number >= begun.load.plan.batches.len() {
            begun.progress.end();
            begun.workers = None;
            return None;
        }
        let batch = match &begun.workers {
            Some(workers) => workers.receive(number),
            None => begun.load.batch(number),
        };
        begun.progress.set_given(number + 1);
        Some(batch)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left(), Some(self.left()))
    }
}

impl<D, C> ExactSizeIterator for Epoch<D, C>
where
    D: Dataset + 'static,
    C: Collate<D::Item> + 'static,
    C::Batch: 'static,
{
}

impl<D, C> FusedIterator for Epoch<D, C>
where
    D: Dataset + 'static,
    C: Collate<D::Item> + 'static,
    C::Batch: 'static,
{
}

impl<D: Dataset, C: Collate<D::Item>> fmt::Debug for Epoch<D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoch")
            .field("left", &self.left())
            .finish_non_exhaustive()
    }
}
