//! Texts that wait, and the threads that embed them in batches.
//!
//! A worker takes whole requests in the order in which they came, as many as fit in a batch, once the first has waited for
//! `max_wait` or there are enough. Requests whose caller has gone are left out.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::error::ServeError;
use crate::metrics::Metrics;
use crate::weights::Weights;

/// The embeddings of a request, all of one version of the weights.
#[derive(Debug)]
pub struct Embedded {
    /// One row for each text.
    pub embeddings: Vec<Vec<f32>>,
    /// The number of the version.
    pub version: u64,
}

type Answer = Result<Embedded, ServeError>;

/// Where a request waits for its answer; dropping it takes the request back.
pub type Waiting = oneshot::Receiver<Answer>;

/// How texts are put together, and how many may wait.
#[derive(Clone, Copy, Debug)]
pub struct BatchOptions {
    /// The most texts of a batch.
    pub max_batch: usize,
    /// How long the first of a batch waits for others.
    pub max_wait: Duration,
    /// The most texts that wait.
    pub max_queue: usize,
    /// How many batches are computed at once.
    pub workers: usize,
}

/// The queue and its workers.
pub struct Batcher {
    shared: Arc<Shared>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    options: BatchOptions,
    weights: Arc<Weights>,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    texts: usize,
    closed: bool,
}

struct Job {
    texts: Vec<Vec<u32>>,
    arrived: Instant,
    answer: oneshot::Sender<Answer>,
}

impl Batcher {
    /// Starts the workers, which share one model.
    ///
    /// # Errors
    ///
    /// A thread that the system does not give.
    pub fn start(
        options: BatchOptions,
        weights: Arc<Weights>,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            options,
            weights,
            metrics,
        });
        let batcher = Self {
            shared,
            workers: Mutex::default(),
        };
        for number in 0..options.workers {
            let shared = Arc::clone(&batcher.shared);
            let thread = std::thread::Builder::new().name(format!("embed-{number}"));
            let worker = thread.spawn(move || {
                while let Some(batch) = shared.take_batch() {
                    shared.embed(batch);
                }
            })?;
            batcher.workers().push(worker);
        }
        Ok(batcher)
    }

    /// Lets the texts of a request wait for a worker.
    ///
    /// # Errors
    ///
    /// A queue that is full or closed.
    pub fn submit(&self, texts: Vec<Vec<u32>>) -> Result<Waiting, ServeError> {
        let limit = self.shared.options.max_queue;
        let mut queue = self.shared.queue();
        if queue.closed {
            return Err(ServeError::Stopping);
        }
        if queue.texts + texts.len() > limit {
            queue.drop_abandoned();
        }
        if queue.texts + texts.len() > limit {
            let waiting = queue.texts;
            return Err(ServeError::QueueFull { waiting, limit });
        }
        let (answer, waiting) = oneshot::channel();
        queue.texts += texts.len();
        queue.jobs.push_back(Job {
            texts,
            arrived: Instant::now(),
            answer,
        });
        self.shared.changed.notify_all();
        Ok(waiting)
    }

    /// How many texts wait.
    pub fn waiting(&self) -> usize {
        self.shared.queue().texts
    }

    /// Takes no more, and returns when the workers have embedded what waits.
    pub fn close(&self) {
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
        let workers = std::mem::take(&mut *self.workers());
        for worker in workers {
            // Workers catch panics, so that there is nothing to hand on.
            let _ = worker.join();
        }
    }

    fn workers(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Batcher {
    fn drop(&mut self) {
        self.close();
    }
}

impl Queue {
    fn drop_abandoned(&mut self) {
        self.jobs.retain(|job| !job.answer.is_closed());
        self.texts = self.jobs.iter().map(|job| job.texts.len()).sum();
    }

    /// The first requests, of at most so many texts; always one.
    fn take(&mut self, max_batch: usize) -> Vec<Job> {
        let (mut batch, mut texts) = (Vec::new(), 0);
        while let Some(job) = self.jobs.pop_front() {
            if !batch.is_empty() && texts + job.texts.len() > max_batch {
                self.jobs.push_front(job);
                break;
            }
            texts += job.texts.len();
            batch.push(job);
        }
        self.texts -= texts;
        batch
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a batch; nothing if the queue is closed and empty.
    fn take_batch(&self) -> Option<Vec<Job>> {
        let mut queue = self.queue();
        loop {
            queue.drop_abandoned();
            let Some(first) = queue.jobs.front() else {
                if queue.closed {
                    return None;
                }
                let changed = self.changed.wait(queue);
                queue = changed.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = self
                .options
                .max_wait
                .saturating_sub(first.arrived.elapsed());
            if left.is_zero() || queue.closed || queue.texts >= self.options.max_batch {
                return Some(queue.take(self.options.max_batch));
            }
            let changed = self.changed.wait_timeout(queue, left);
            (queue, _) = changed.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn embed(&self, batch: Vec<Job>) {
        let version = self.weights.current();
        let texts = batch.iter().flat_map(|job| &job.texts);
        let texts: Vec<&[u32]> = texts.map(Vec::as_slice).collect();
        self.metrics.observe_batch(&texts);
        // A panic must not end the worker, which others wait for.
        let rows = catch_unwind(AssertUnwindSafe(|| version.encoder.embed(&texts)));
        let problem = match rows {
            Ok(Ok(rows)) => {
                let mut rows = rows.into_iter();
                for job in batch {
                    let embedded = Embedded {
                        embeddings: rows.by_ref().take(job.texts.len()).collect(),
                        version: version.number,
                    };
                    // The caller may have gone.
                    let _ = job.answer.send(Ok(embedded));
                }
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        for job in batch {
            let problem = problem.clone();
            let _ = job.answer.send(Err(ServeError::Model { problem }));
        }
    }
}
