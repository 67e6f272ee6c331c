//! Communicators around others.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use module_dist::{Comm, RankFailure, ReduceOp, Work};
use module_nn::{Result, Tensor};

/// What a wrapper does around the calls that all ranks make.
pub trait Around: Send + Sync + 'static {
    fn before(&self) {}

    fn all_gather(&self) {}

    fn all_reduce(&self, _: &Tensor, work: Work<Tensor>) -> Work<Tensor> {
        work
    }
}

/// Panics in one of its calls, which stands for a process that is killed there.
pub struct Mortal {
    calls: AtomicI64,
    last: i64,
}

impl Mortal {
    /// Panics instead of making a call after this number of them.
    pub fn new(last: i64) -> Self {
        let calls = AtomicI64::new(0);
        Self { calls, last }
    }

    /// The calls so far.
    pub fn calls(&self) -> i64 {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Around for Mortal {
    fn before(&self) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.last {
            panic!("killed on purpose");
        }
    }
}

/// A communicator with something around its calls.
pub struct Wrapped<A> {
    pub inner: Arc<dyn Comm>,
    pub around: A,
}

impl<A: Around> Comm for Wrapped<A> {
    fn rank(&self) -> usize {
        self.inner.rank()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn deadline(&self) -> Duration {
        self.inner.deadline()
    }

    fn start_all_reduce(&self, tensor: &Tensor, op: ReduceOp) -> Result<Work<Tensor>> {
        self.around.before();
        Ok(self
            .around
            .all_reduce(tensor, self.inner.start_all_reduce(tensor, op)?))
    }

    fn start_reduce_scatter(&self, tensor: &Tensor, op: ReduceOp) -> Result<Work<Tensor>> {
        self.around.before();
        self.inner.start_reduce_scatter(tensor, op)
    }

    fn start_all_gather(&self, tensor: &Tensor) -> Result<Work<Vec<Tensor>>> {
        self.around.before();
        self.around.all_gather();
        self.inner.start_all_gather(tensor)
    }

    fn start_broadcast(&self, tensor: &Tensor, root: usize) -> Result<Work<Tensor>> {
        self.around.before();
        self.inner.start_broadcast(tensor, root)
    }

    fn start_barrier(&self) -> Result<Work<()>> {
        self.around.before();
        self.inner.start_barrier()
    }

    fn start_send(&self, tensor: &Tensor, to: usize, tag: u32) -> Result<Work<()>> {
        self.inner.start_send(tensor, to, tag)
    }

    fn start_receive(&self, from: usize, tag: u32) -> Result<Work<Tensor>> {
        self.inner.start_receive(from, tag)
    }

    fn split(&self, color: usize, key: usize) -> Result<Arc<dyn Comm>> {
        self.inner.split(color, key)
    }

    fn fail(&self, failure: RankFailure) {
        self.inner.fail(failure);
    }

    fn failure(&self) -> Option<RankFailure> {
        self.inner.failure()
    }

    fn set_step(&self, step: u64) {
        self.inner.set_step(step);
    }
}

/// All-reduces that take as long as a link of some bandwidth needs, one after another.
pub struct Slow {
    jobs: Mutex<Sender<Job>>,
    seconds_per_byte: f64,
}

type Job = Box<dyn FnOnce() + Send>;

impl Slow {
    pub fn new(seconds_per_byte: f64) -> Self {
        let (jobs, queue) = channel::<Job>();
        thread::spawn(move || queue.into_iter().for_each(|job| job()));
        Self {
            jobs: Mutex::new(jobs),
            seconds_per_byte,
        }
    }
}

impl Around for Slow {
    fn all_reduce(&self, tensor: &Tensor, work: Work<Tensor>) -> Work<Tensor> {
        let bytes = tensor.numel() * tensor.dtype().size_in_bytes();
        let time = Duration::from_secs_f64(bytes as f64 * self.seconds_per_byte);
        let (promise, slow) = Work::promise();
        let job = move || {
            thread::sleep(time);
            promise.fulfill(work.wait());
        };
        self.jobs.lock().unwrap().send(Box::new(job)).unwrap();
        slow
    }
}
