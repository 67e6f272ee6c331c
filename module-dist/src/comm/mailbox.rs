use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::Channel;
use crate::RankFailure;

/// The messages for one rank that nobody has received yet.
#[derive(Default)]
pub struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    messages: HashMap<(usize, Channel), VecDeque<Vec<u8>>>,
    left: Vec<usize>,
    failure: Option<RankFailure>,
}

/// Why a message does not come.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The run has failed.
    Failed(RankFailure),
    /// The sender has left.
    Left,
    /// The deadline has passed.
    TimedOut,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is one call of a collection's method.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a message in.
    pub fn deliver(&self, from: usize, channel: Channel, message: Vec<u8>) {
        let mut state = self.lock();
        let queue = state.messages.entry((from, channel)).or_default();
        queue.push_back(message);
        drop(state);
        self.changed.notify_all();
    }

    /// Records that a rank has left.
    pub fn leave(&self, rank: usize) {
        self.lock().left.push(rank);
        self.changed.notify_all();
    }

    /// Records that the run has failed; the first failure stays. Returns the one that is recorded.
    pub fn fail(&self, failure: RankFailure) -> RankFailure {
        let mut state = self.lock();
        let recorded = state.failure.get_or_insert(failure).clone();
        drop(state);
        self.changed.notify_all();
        recorded
    }

    /// The failure that has ended the run.
    pub fn failure(&self) -> Option<RankFailure> {
        self.lock().failure.clone()
    }

    /// Whether [`take`](Self::take) would return at once.
    pub fn has(&self, from: usize, channel: Channel) -> bool {
        let state = self.lock();
        state.messages.contains_key(&(from, channel))
            || state.failure.is_some()
            || state.left.contains(&from)
    }

    /// Waits for the next message of a rank on a channel.
    ///
    /// # Errors
    ///
    /// Why none comes.
    pub fn take(&self, from: usize, channel: Channel, deadline: Instant) -> Result<Vec<u8>, Stop> {
        let key = (from, channel);
        let mut state = self.lock();
        loop {
            if let Some(failure) = &state.failure {
                return Err(Stop::Failed(failure.clone()));
            }
            if let Some(message) = state.pop(key) {
                return Ok(message);
            }
            if state.left.contains(&from) {
                return Err(Stop::Left);
            }
            let Some(patience) = deadline.checked_duration_since(Instant::now()) else {
                return Err(Stop::TimedOut);
            };
            let waited = self.changed.wait_timeout(state, patience);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    /// The first message under a key. Empty queues are removed, because each collective has its own channel.
    fn pop(&mut self, key: (usize, Channel)) -> Option<Vec<u8>> {
        let queue = self.messages.get_mut(&key)?;
        let message = queue.pop_front();
        if queue.is_empty() {
            self.messages.remove(&key);
        }
        message
    }
}
