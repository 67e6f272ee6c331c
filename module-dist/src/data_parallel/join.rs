//! Ranks with different numbers of batches.

use std::sync::atomic::{AtomicBool, Ordering};

use module_nn::{Result, Tensor};

use super::reducer::Reducer;

impl Reducer {
    /// Exchanges which ranks take part in the next pass with a loss.
    pub(super) fn active_ranks(&self, active: bool) -> Result<Vec<usize>> {
        let marks = self.comm().all_gather(&Tensor::from(active))?;
        let mut ranks = Vec::new();
        for (rank, mark) in marks.iter().enumerate() {
            if mark.item::<bool>()? {
                ranks.push(rank);
            }
        }
        Ok(ranks)
    }

    pub(super) fn join<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        mut step: impl FnMut(Option<T>) -> Result<()>,
    ) -> Result<()> {
        struct Leave<'a>(&'a AtomicBool);

        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                self.0.store(false, Ordering::Relaxed);
            }
        }

        self.joins.store(true, Ordering::Relaxed);
        let _leave = Leave(&self.joins);
        for item in items {
            step(Some(item))?;
        }
        loop {
            let active = self.active_ranks(false)?;
            if active.is_empty() {
                return Ok(());
            }
            self.shadow(active)?;
            step(None)?;
        }
    }
}
