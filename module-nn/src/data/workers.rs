use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use module_core::Result;

use super::load::Load;
use super::{Collate, DataError, Dataset};

/// Threads that prefetch batches: of `n` workers, worker `i` loads every `n`-th batch from `first + i` on, and waits when
/// it is `prefetch_factor` batches ahead.
pub(super) struct Workers<B> {
    first: usize,
    /// The batches of each worker in order.
    channels: Vec<Receiver<Result<B>>>,
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

impl<B: Send + 'static> Workers<B> {
    /// Starts workers for the batches from `first` on.
    pub(super) fn start<D, C>(
        load: &Arc<Load<D, C>>,
        first: usize,
        num_workers: usize,
        prefetch_factor: usize,
    ) -> Result<Self>
    where
        D: Dataset + 'static,
        C: Collate<D::Item, Batch = B> + 'static,
    {
        let mut workers = Self {
            first,
            channels: Vec::with_capacity(num_workers),
            threads: Vec::with_capacity(num_workers),
            stop: Arc::new(AtomicBool::new(false)),
        };
        for worker in 0..num_workers {
            let (load, stop) = (load.clone(), workers.stop.clone());
            let numbers = (first + worker..load.plan.batches.len()).step_by(num_workers);
            // A channel allocates memory for its full capacity. One more batch is loaded and waits to be sent.
            let ahead = prefetch_factor.min(numbers.len());
            let (sender, receiver) = sync_channel(ahead.saturating_sub(1));
            let work = move || run(&load, numbers, &stop, &sender);
            let thread = Builder::new()
                .name(format!("data-loader-{worker}"))
                .spawn(work);
            let thread = thread.map_err(|source| DataError::Start { worker, source })?;
            workers.channels.push(receiver);
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Waits for a batch; batches are requested in order, starting with the first.
    pub(super) fn receive(&self, number: usize) -> Result<B> {
        let count = self.channels.len().max(1);
        let worker = number.wrapping_sub(self.first) % count;
        let received = self.channels.get(worker).and_then(|c| c.recv().ok());
        received.unwrap_or_else(|| Err(DataError::Ended { batch: number }.into()))
    }
}

fn run<D: Dataset, C: Collate<D::Item>>(
    load: &Load<D, C>,
    numbers: impl Iterator<Item = usize>,
    stop: &AtomicBool,
    sender: &SyncSender<Result<C::Batch>>,
) {
    for number in numbers {
        let Some(batch) = load.batch_or_panic(number, stop).transpose() else {
            return;
        };
        // An error means that the loop was left.
        if sender.send(batch).is_err() {
            return;
        }
    }
}

/// Workers that wait to send end at once, the others after their current sample.
impl<B> Drop for Workers<B> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.channels.clear();
        for thread in self.threads.drain(..) {
            // A worker has passed its panics to the loop.
            let _ended = thread.join();
        }
    }
}
