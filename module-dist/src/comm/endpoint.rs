mod core;
mod direct;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use module_nn::{Error, Result, Tensor};

pub(super) use self::core::Core;
use super::collectives::Collective;
use super::reduce::check;
use super::{Channel, Comm, ReduceOp, Transport, Work};
use crate::{FailureCause, RankFailure};
use direct::Receiving;

/// The [`Comm`] of a rank whose messages pass through `T`.
///
/// A thread of its own runs the collectives in the order in which they were started.
pub struct Endpoint<T: Transport> {
    core: Arc<Core<T>>,
    worker: Mutex<Option<Worker<T>>>,
    started: AtomicU64,
    splits: AtomicU64,
}

type Job<T> = Box<dyn FnOnce(&Core<T>) + Send>;

struct Worker<T: Transport> {
    jobs: Sender<Job<T>>,
    thread: JoinHandle<()>,
}

impl<T: Transport> Endpoint<T> {
    /// The group of all ranks; a rank that does not answer within `deadline` ends the run.
    ///
    /// # Errors
    ///
    /// A thread that cannot be started.
    pub fn new(transport: T, deadline: Duration) -> Result<Self> {
        let members = (0..transport.size()).collect();
        Self::of(Core::new(Arc::new(transport), members, 0, deadline))
    }

    fn of(core: Core<T>) -> Result<Self> {
        let core = Arc::new(core);
        let (jobs, queue) = channel::<Job<T>>();
        let works_for = core.clone();
        let name = format!("module-dist {}", core.world_rank());
        let thread = thread::Builder::new().name(name).spawn(move || {
            for job in queue {
                job(&works_for);
            }
        });
        let thread = thread.map_err(Error::custom)?;
        Ok(Self {
            core,
            worker: Mutex::new(Some(Worker { jobs, thread })),
            started: AtomicU64::new(0),
            splits: AtomicU64::new(0),
        })
    }

    /// Starts a collective that `run` carries out on the communication thread.
    fn start<R: Send + 'static>(
        &self,
        call: String,
        run: impl FnOnce(&Collective<'_, T>) -> Result<R> + Send + 'static,
    ) -> Result<Work<R>> {
        self.core.check()?;
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(worker) = &*worker else {
            return Err(Error::custom("the communication thread has ended"));
        };
        // Under the lock, so that numbers and jobs have the same order.
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let (promise, work) = Work::promise();
        let job = move |core: &Core<T>| {
            let collective = Collective { core, number, call };
            let result = run(&collective).map_err(|error| {
                let place = format!("{} (collective {number})", collective.call);
                core.fail_with(&core.place(&place), error)
            });
            promise.fulfill(result);
        };
        let sent = worker.jobs.send(Box::new(job));
        sent.map_err(|_| Error::custom("the communication thread has ended"))?;
        Ok(work)
    }

    fn check_rank(&self, op: &'static str, name: &'static str, rank: usize) -> Result<()> {
        if rank < self.size() {
            return Ok(());
        }
        let problem = format!("must be less than the {} rank(s)", self.size());
        Err(Error::argument(op, name, rank, problem))
    }

    fn check_peer(&self, op: &'static str, name: &'static str, rank: usize) -> Result<Channel> {
        self.check_rank(op, name, rank)?;
        if rank == self.rank() {
            let problem = "is this rank; give another one";
            return Err(Error::argument(op, name, rank, problem));
        }
        self.core.check()?;
        Ok(Channel {
            group: self.core.group(),
            number: 0,
            phase: Channel::DIRECT,
        })
    }
}

impl<T: Transport> Comm for Endpoint<T> {
    fn rank(&self) -> usize {
        self.core.rank()
    }

    fn size(&self) -> usize {
        self.core.size()
    }

    fn deadline(&self) -> Duration {
        self.core.deadline()
    }

    fn start_all_reduce(&self, tensor: &Tensor, op: ReduceOp) -> Result<Work<Tensor>> {
        check("all_reduce", tensor.dtype(), op)?;
        let tensor = tensor.detach();
        let call = format!("all_reduce({op}) of {} {}", tensor.dtype(), tensor.shape());
        self.start(call, move |collective| collective.all_reduce(&tensor, op))
    }

    fn start_reduce_scatter(&self, tensor: &Tensor, op: ReduceOp) -> Result<Work<Tensor>> {
        check("reduce_scatter", tensor.dtype(), op)?;
        if tensor.rank() == 0 || !tensor.size(0)?.is_multiple_of(self.size()) {
            let needs = format!("a first dimension that {} rank(s) divide", self.size());
            return Err(tensor.shape().error("reduce_scatter", needs));
        }
        let tensor = tensor.detach();
        let (dtype, shape) = (tensor.dtype(), tensor.shape());
        let call = format!("reduce_scatter({op}) of {dtype} {shape}");
        self.start(call, move |collective| {
            collective.reduce_scatter(&tensor, op)
        })
    }

    fn start_all_gather(&self, tensor: &Tensor) -> Result<Work<Vec<Tensor>>> {
        let tensor = tensor.detach();
        self.start("all_gather".into(), move |collective| {
            collective.all_gather(&tensor)
        })
    }

    fn start_broadcast(&self, tensor: &Tensor, root: usize) -> Result<Work<Tensor>> {
        self.check_rank("broadcast", "root", root)?;
        let tensor = tensor.detach();
        let (dtype, shape) = (tensor.dtype(), tensor.shape());
        let call = format!("broadcast from rank {root} of {dtype} {shape}");
        self.start(call, move |collective| collective.broadcast(&tensor, root))
    }

    fn start_barrier(&self) -> Result<Work<()>> {
        self.start("barrier".into(), |collective| collective.barrier())
    }

    fn start_send(&self, tensor: &Tensor, to: usize, tag: u32) -> Result<Work<()>> {
        let mut channel = self.check_peer("send", "to", to)?;
        channel.number = tag.into();
        self.core.send(to, channel, "send", &tensor.detach())?;
        Ok(Work::ready(Ok(())))
    }

    fn start_receive(&self, from: usize, tag: u32) -> Result<Work<Tensor>> {
        let mut channel = self.check_peer("receive", "from", from)?;
        channel.number = tag.into();
        let core = self.core.clone();
        Ok(Work::waiting(Receiving {
            core,
            from,
            channel,
        }))
    }

    fn split(&self, color: usize, key: usize) -> Result<Arc<dyn Comm>> {
        let wish = Tensor::from([color as i64, key as i64]);
        let mut members = Vec::new();
        for (rank, theirs) in self.all_gather(&wish)?.iter().enumerate() {
            if let [their_color, their_key] = theirs.to_vec::<i64>()?[..]
                && their_color == color as i64
            {
                members.push((their_key, rank));
            }
        }
        members.sort_unstable();
        let count = self.splits.fetch_add(1, Ordering::Relaxed);
        let ranks = members.iter().map(|&(_, rank)| rank).collect::<Vec<_>>();
        let part = self.core.part(&ranks, [count, color as u64]);
        Ok(Arc::new(Self::of(part)?))
    }

    fn fail(&self, failure: RankFailure) {
        self.core.fail(failure);
    }

    fn failure(&self) -> Option<RankFailure> {
        self.core.failure()
    }

    fn world_rank(&self) -> usize {
        self.core.world_rank()
    }

    fn set_step(&self, step: u64) {
        self.core.set_step(step);
    }
}

impl<T: Transport> Drop for Endpoint<T> {
    fn drop(&mut self) {
        if thread::panicking() {
            let message = "it panicked; its output says where".to_owned();
            let cause = FailureCause::Error { message };
            self.fail(RankFailure::new(self.world_rank(), "this program", cause));
        }
        let worker = self
            .worker
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(Worker { jobs, thread }) = worker {
            drop(jobs);
            // The last handle may be dropped by the thread itself, in a job.
            if thread.thread().id() != thread::current().id() {
                // A panic of the thread has abandoned the work that was waited for.
                let _ = thread.join();
            }
        }
    }
}
