use std::sync::Arc;
use std::thread;
use std::time::Duration;

use module_nn::{DType, Error, Result, Tensor, fork_rng};

use super::{Channel, Comm, Endpoint, Mailbox, Transport};
use crate::{FailureCause, RankFailure};

/// A [`Comm`] whose ranks are threads of one process.
pub type LocalComm = Endpoint<LocalTransport>;

/// Passes messages between threads.
pub struct LocalTransport {
    rank: usize,
    mine: Arc<Mailbox>,
    mailboxes: Arc<[Arc<Mailbox>]>,
}

impl LocalTransport {
    fn world(size: usize) -> Vec<Self> {
        let mailboxes: Arc<[Arc<Mailbox>]> = (0..size).map(|_| Arc::default()).collect();
        let of_rank = |(rank, mine): (usize, &Arc<Mailbox>)| Self {
            rank,
            mine: mine.clone(),
            mailboxes: mailboxes.clone(),
        };
        mailboxes.iter().enumerate().map(of_rank).collect()
    }
}

impl Transport for LocalTransport {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.mailboxes.len()
    }

    fn send(&self, to: usize, channel: Channel, message: Vec<u8>) {
        if let Some(mailbox) = self.mailboxes.get(to) {
            mailbox.deliver(self.rank, channel, message);
        }
    }

    fn mailbox(&self) -> &Mailbox {
        &self.mine
    }

    fn announce(&self, failure: &RankFailure) {
        for mailbox in self.mailboxes.iter() {
            mailbox.fail(failure.clone());
        }
    }
}

impl Drop for LocalTransport {
    fn drop(&mut self) {
        for mailbox in self.mailboxes.iter() {
            mailbox.leave(self.rank);
        }
    }
}

impl LocalComm {
    /// The deadline of [`world`](Self::world) and [`run`](Self::run): 60 seconds.
    pub const DEADLINE: Duration = Duration::from_secs(60);

    /// The communicators of `size` ranks, in order, each to be moved to a thread of its own.
    ///
    /// # Errors
    ///
    /// No rank; a thread that cannot be started.
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::{Comm, LocalComm};
    ///
    /// let world = LocalComm::world(1, LocalComm::DEADLINE)?;
    /// assert_eq!((world[0].rank(), world[0].size()), (0, 1));
    /// # Ok::<(), module_nn::Error>(())
    /// ```
    pub fn world(size: usize, deadline: Duration) -> Result<Vec<Self>> {
        if size == 0 {
            let problem = "must be at least 1";
            return Err(Error::argument("LocalComm", "size", size, problem));
        }
        let transports = LocalTransport::world(size).into_iter();
        transports
            .map(|transport| Self::new(transport, deadline))
            .collect()
    }

    /// Runs `program` on `size` threads, each with its own communicator, and returns what they return, in order.
    ///
    /// A rank that returns an error or panics ends the run on all ranks. As if ranks were processes, each has its own default
    /// generators; all start with one seed, which is drawn from the caller's, and `manual_seed` on a rank affects only this rank.
    ///
    /// # Errors
    ///
    /// No rank; the [`RankFailure`] that ended the run.
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::LocalComm;
    /// use module_nn::prelude::*;
    ///
    /// let draws = LocalComm::run(2, |_| {
    ///     manual_seed(0);
    ///     Tensor::rand([2], DType::F32)?.to_vec::<f32>()
    /// })?;
    /// assert_eq!(draws, [[0.4962566, 0.7682218], [0.4962566, 0.7682218]]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn run<R: Send>(
        size: usize,
        program: impl Fn(Arc<dyn Comm>) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        Self::run_with(size, Self::DEADLINE, program)?
            .into_iter()
            .collect()
    }

    /// [`run`](Self::run) with another deadline, which returns the result of every rank.
    ///
    /// # Errors
    ///
    /// No rank; a thread that cannot be started.
    pub fn run_with<R: Send>(
        size: usize,
        deadline: Duration,
        program: impl Fn(Arc<dyn Comm>) -> Result<R> + Sync,
    ) -> Result<Vec<Result<R>>> {
        let world = Self::world(size, deadline)?;
        let seed = Tensor::randint(0, i64::MAX, [], DType::I64)?.item::<i64>()? as u64;
        let rank = |comm: Self| fork_rng(seed, || run_rank(Arc::new(comm), &program));
        Ok(thread::scope(|scope| {
            let start = |comm: Self| scope.spawn(|| rank(comm));
            let ranks: Vec<_> = world.into_iter().map(start).collect();
            let joined = ranks.into_iter().map(|rank| rank.join());
            joined
                .map(|result| result.unwrap_or_else(|_| Err(panicked())))
                .collect()
        }))
    }
}

fn panicked() -> Error {
    Error::custom("the thread of this rank panicked; its output says where")
}

/// Runs `program`, and ends the run on all ranks if it returns an error: the others return a [`RankFailure`] with its message,
/// and this rank the error itself, whose type says more.
pub(crate) fn run_rank<R>(
    comm: Arc<dyn Comm>,
    program: impl Fn(Arc<dyn Comm>) -> Result<R>,
) -> Result<R> {
    program(comm.clone()).inspect_err(|error| {
        if error.downcast_ref::<RankFailure>().is_none() {
            let message = error.to_string();
            let cause = FailureCause::Error { message };
            comm.fail(RankFailure::new(comm.world_rank(), "this program", cause));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_has_heard_of_a_failure_passes_it_on_when_it_leaves() {
        let mut transports = LocalTransport::world(3);
        let failure = RankFailure::new(2, "a test", FailureCause::Left);
        // The failure of rank 2 has come to rank 0 only.
        transports[0].mailbox().fail(failure.clone());
        let start = |transport| LocalComm::new(transport, LocalComm::DEADLINE).unwrap();
        let (first, second) = (start(transports.remove(0)), start(transports.remove(0)));
        drop(first);
        assert_eq!(
            second.barrier().unwrap_err().to_string(),
            failure.to_string()
        );
        assert_eq!(second.failure(), Some(failure));
    }
}
