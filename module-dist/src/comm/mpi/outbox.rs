use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Channel;

/// The messages that the thread of MPI is to send.
#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Default)]
struct State {
    messages: Vec<Outgoing>,
    leaving: bool,
}

/// A message that ends with its channel: no byte of it is moved to make room in front.
pub(super) struct Outgoing {
    pub(super) to: usize,
    pub(super) bytes: Vec<u8>,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is one call of a method of `Vec`, or an assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, to: usize, channel: Channel, message: Vec<u8>) {
        let bytes = with_channel(message, channel);
        self.lock().messages.push(Outgoing { to, bytes });
        self.filled.notify_one();
    }

    /// Says that no more messages will come.
    pub(super) fn leave(&self) {
        self.lock().leaving = true;
        self.filled.notify_one();
    }

    /// Whether no more messages will come.
    pub(super) fn is_leaving(&self) -> bool {
        self.lock().leaving
    }

    /// The messages put in since the last call.
    pub(super) fn take(&self) -> Vec<Outgoing> {
        std::mem::take(&mut self.lock().messages)
    }

    /// Waits until there is a message, or for some time.
    pub(super) fn wait(&self, time: Duration) {
        let state = self.lock();
        if state.messages.is_empty() && !state.leaving {
            // Woken for whatever reason, the caller looks again.
            let _woken = self.filled.wait_timeout(state, time);
        }
    }
}

fn with_channel(mut message: Vec<u8>, channel: Channel) -> Vec<u8> {
    message.extend_from_slice(&channel.group.to_le_bytes());
    message.extend_from_slice(&channel.number.to_le_bytes());
    message.push(channel.phase);
    message
}

/// A message without its channel, and the channel.
pub(super) fn split_channel(mut message: Vec<u8>) -> Option<(Vec<u8>, Channel)> {
    let phase = message.pop()?;
    let mut number = || {
        let (rest, last) = message.split_last_chunk::<8>()?;
        let (length, number) = (rest.len(), u64::from_le_bytes(*last));
        message.truncate(length);
        Some(number)
    };
    let (number, group) = (number()?, number()?);
    let channel = Channel {
        group,
        number,
        phase,
    };
    Some((message, channel))
}
