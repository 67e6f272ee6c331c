use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use module_nn::{Error, Result, Tensor};

use crate::comm::message::{decode, encode};
use crate::comm::{Channel, Stop, Transport};
use crate::{FailureCause, RankFailure};

/// A rank in a group: what the communication thread and the callers share.
pub(in crate::comm) struct Core<T: Transport> {
    transport: Arc<T>,
    /// The ranks of the group, counted in the whole run.
    members: Vec<usize>,
    group: u64,
    rank: usize,
    deadline: Duration,
    /// The step of training, which failures name.
    step: AtomicU64,
}

/// A rank that leaves because the run has failed passes the failure on: others must not take its leaving for the cause, even if
/// they have not heard from the rank at fault yet.
impl<T: Transport> Drop for Core<T> {
    fn drop(&mut self) {
        if let Some(failure) = self.failure() {
            self.transport.announce(&failure);
        }
    }
}

/// No step has begun.
const NO_STEP: u64 = u64::MAX;

impl<T: Transport> Core<T> {
    pub(super) fn new(
        transport: Arc<T>,
        members: Vec<usize>,
        group: u64,
        deadline: Duration,
    ) -> Self {
        let mine = transport.rank();
        let rank = members.iter().position(|&member| member == mine);
        Self {
            rank: rank.unwrap_or(0),
            transport,
            members,
            group,
            deadline,
            step: AtomicU64::new(NO_STEP),
        }
    }

    /// A group of some ranks of this one, identified by numbers that are the same on all of them.
    pub(super) fn part(&self, ranks: &[usize], identity: [u64; 2]) -> Self {
        let members = ranks.iter().filter_map(|&rank| self.members.get(rank));
        // FNV-1a, on numbers.
        let group = identity
            .iter()
            .fold(self.group ^ 0xcbf2_9ce4_8422_2325, |hash, &number| {
                (hash ^ number).wrapping_mul(0x100_0000_01b3)
            });
        let (transport, members) = (self.transport.clone(), members.copied().collect());
        Self::new(transport, members, group, self.deadline)
    }

    pub(in crate::comm) fn rank(&self) -> usize {
        self.rank
    }

    pub(in crate::comm) fn size(&self) -> usize {
        self.members.len()
    }

    pub(in crate::comm) fn group(&self) -> u64 {
        self.group
    }

    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    pub(super) fn world_rank(&self) -> usize {
        self.transport.rank()
    }

    /// The ranks except this one.
    pub(in crate::comm) fn others(&self) -> impl Iterator<Item = usize> {
        (0..self.size()).filter(|&rank| rank != self.rank)
    }

    fn world_rank_of(&self, rank: usize) -> usize {
        self.members.get(rank).copied().unwrap_or(rank)
    }

    pub(in crate::comm) fn send(
        &self,
        to: usize,
        channel: Channel,
        call: &str,
        tensor: &Tensor,
    ) -> Result<()> {
        let message = encode(call, tensor)?;
        let to = self.world_rank_of(to);
        self.transport.send(to, channel, message);
        Ok(())
    }

    /// Waits `patience` times the deadline for a tensor that another rank sends in the same call.
    pub(in crate::comm) fn receive(
        &self,
        from: usize,
        channel: Channel,
        call: &str,
        patience: f64,
    ) -> Result<Tensor> {
        let deadline = Instant::now() + self.deadline.mul_f64(patience);
        let world = self.world_rank_of(from);
        let place = || {
            let number = channel.number;
            self.place(&match channel.phase {
                Channel::DIRECT => format!("send to rank {}, tag {number}", self.world_rank()),
                _ => format!("{call} (collective {number})"),
            })
        };
        let seconds = self.deadline.as_secs_f64();
        let cause = match self.transport.mailbox().take(world, channel, deadline) {
            Ok(message) => {
                let (called, tensor) = decode(&message)?;
                if called == call || channel.phase == Channel::DIRECT {
                    return Ok(tensor);
                }
                // The same place on both ranks.
                let place = self.place(&format!("collective {}", channel.number));
                return Err(self.different_call(world, place, call, called));
            }
            Err(Stop::Failed(failure)) => return Err(failure.into()),
            Err(Stop::Left) => FailureCause::Left,
            Err(Stop::TimedOut) => FailureCause::NoAnswer { seconds },
        };
        Err(self.fail(RankFailure::new(world, place(), cause)).into())
    }

    pub(super) fn set_step(&self, step: u64) {
        self.step.store(step, Ordering::Relaxed);
    }

    /// A call with the step in which it was made.
    pub(super) fn place(&self, call: &str) -> String {
        match self.step.load(Ordering::Relaxed) {
            NO_STEP => call.to_owned(),
            step => format!("step {step}, {call}"),
        }
    }

    /// Whether a [`receive`](Self::receive) would return at once.
    pub(super) fn has(&self, from: usize, channel: Channel) -> bool {
        let from = self.world_rank_of(from);
        self.transport.mailbox().has(from, channel)
    }

    /// The failure of two ranks that call different collectives. Both blame the higher rank, so that they report the same.
    fn different_call(&self, other: usize, place: String, call: &str, called: String) -> Error {
        let mine = self.world_rank();
        let (rank, cause) = match other > mine {
            true => (
                other,
                FailureCause::DifferentCall {
                    called,
                    expected: call.to_owned(),
                    other: mine,
                },
            ),
            false => (
                mine,
                FailureCause::DifferentCall {
                    called: call.to_owned(),
                    expected: called,
                    other,
                },
            ),
        };
        self.fail(RankFailure::new(rank, place, cause)).into()
    }

    /// Ends the run on all ranks; returns the failure that ended it, which may be an earlier one.
    pub(super) fn fail(&self, failure: RankFailure) -> RankFailure {
        let recorded = self.transport.mailbox().fail(failure.clone());
        if recorded == failure {
            self.transport.announce(&failure);
        }
        recorded
    }

    /// Ends the run on all ranks because of an error on this one, unless the error says that it has ended already.
    pub(super) fn fail_with(&self, place: &str, error: Error) -> Error {
        if error.downcast_ref::<RankFailure>().is_some() {
            return error;
        }
        let message = error.to_string();
        let cause = FailureCause::Error { message };
        self.fail(RankFailure::new(self.world_rank(), place, cause))
            .into()
    }

    pub(super) fn failure(&self) -> Option<RankFailure> {
        self.transport.mailbox().failure()
    }

    /// Returns the failure that has ended the run as an error.
    pub(super) fn check(&self) -> Result<()> {
        match self.failure() {
            Some(failure) => Err(failure.into()),
            None => Ok(()),
        }
    }
}
