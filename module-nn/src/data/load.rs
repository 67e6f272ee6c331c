use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use module_core::{Result, fork_rng};

use super::plan::Plan;
use super::{Collate, DataError, Dataset};

/// Loads the batches of an epoch; workers share it.
pub(super) struct Load<D, C> {
    pub(super) dataset: Arc<D>,
    pub(super) collate: Arc<C>,
    pub(super) plan: Plan,
}

impl<D: Dataset, C: Collate<D::Item>> Load<D, C> {
    /// Loads a batch on this thread.
    pub(super) fn batch(&self, number: usize) -> Result<C::Batch> {
        let never = AtomicBool::new(false);
        let batch = self.batch_unless(number, &never, &Cell::new(None))?;
        batch.ok_or_else(|| DataError::Ended { batch: number }.into())
    }

    /// Loads a batch; a panic becomes an error. `None` if it was stopped.
    pub(super) fn batch_or_panic(
        &self,
        number: usize,
        stop: &AtomicBool,
    ) -> Result<Option<C::Batch>> {
        let at = Cell::new(None);
        // After a panic, only the data set and the collation are used again; their authors must recover their locks, as in
        // any program that continues after a panic.
        let loaded = catch_unwind(AssertUnwindSafe(|| self.batch_unless(number, stop, &at)));
        loaded.unwrap_or_else(|panic| {
            Err(DataError::Panic {
                batch: number,
                index: at.get(),
                message: message(&*panic),
            }
            .into())
        })
    }

    /// Loads a batch, unless it is stopped between two samples. `at` is the index of the sample being loaded.
    fn batch_unless(
        &self,
        number: usize,
        stop: &AtomicBool,
        at: &Cell<Option<usize>>,
    ) -> Result<Option<C::Batch>> {
        let Some(indices) = self.plan.batches.as_slice().get(number) else {
            return Ok(None);
        };
        fork_rng(self.plan.base_seed.wrapping_add(number as u64), || {
            let mut samples = Vec::with_capacity(indices.len());
            for &index in indices {
                if stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                at.set(Some(index));
                let sample = self.dataset.get(index);
                samples.push(sample.map_err(|source| DataError::Load {
                    batch: number,
                    index,
                    source,
                })?);
            }
            at.set(None);
            let batch = self.collate.collate(samples);
            let batch = batch.map_err(|source| DataError::Collate {
                batch: number,
                indices: indices.clone(),
                source,
            })?;
            Ok(Some(batch))
        })
    }
}

/// The message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a value that is not a text").to_owned()
}
