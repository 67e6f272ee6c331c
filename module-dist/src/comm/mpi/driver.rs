use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mpi::Threading;
use mpi::environment::Universe;
use mpi::request::scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Equivalence, Source};

use crate::launch::report;

use super::outbox::{Outbox, Outgoing, split_channel};
use super::{Channel, Mailbox};

/// The thread that makes all calls of MPI: it sends what is in the outbox and puts what arrives into the mailbox.
pub(super) struct Driver {
    // Dropped last: this finalizes MPI.
    world: SimpleCommunicator,
    state: State,
    _universe: Universe,
}

struct State {
    outbox: Arc<Outbox>,
    mailbox: Arc<Mailbox>,
    piece: usize,
    /// The first pieces of messages that have not arrived in full.
    partial: HashMap<usize, Vec<u8>>,
    /// The ranks that have left, and when this one did.
    left: Vec<usize>,
    leaving: Option<Instant>,
    idle: u32,
}

/// The channel of messages that say that the run has failed.
pub(super) const FAILURE: Channel = control(0);

/// The channel of messages that say that a rank sends no more.
const LEFT: Channel = control(1);

const fn control(number: u64) -> Channel {
    Channel {
        group: u64::MAX,
        number,
        phase: 0,
    }
}

/// The tags of MPI: the last piece of a message, and another one.
const LAST: i32 = 0;
const MORE: i32 = 1;

/// After a failure, how long a rank waits for the others to report it before it ends all processes.
const GRACE: Duration = Duration::from_secs(2);

/// How long the thread sleeps between two looks at MPI, which cannot wake it: longer the longer nothing has arrived.
const NAPS: [Duration; 3] = [
    Duration::from_micros(20),
    Duration::from_micros(100),
    Duration::from_millis(1),
];

/// How often it only lets other threads run before it sleeps.
const YIELDS: u32 = 200;

impl Driver {
    /// Initializes MPI on this thread.
    pub(super) fn start(outbox: Arc<Outbox>, mailbox: Arc<Mailbox>, piece: usize) -> Option<Self> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)?;
        Some(Self {
            world: universe.world(),
            state: State {
                outbox,
                mailbox,
                piece,
                partial: HashMap::new(),
                left: Vec::new(),
                leaving: None,
                idle: 0,
            },
            _universe: universe,
        })
    }

    pub(super) fn rank(&self) -> usize {
        usize::try_from(self.world.rank()).unwrap_or(0)
    }

    pub(super) fn size(&self) -> usize {
        usize::try_from(self.world.size()).unwrap_or(1)
    }

    /// Works until this rank and all others have left.
    pub(super) fn run(mut self) {
        let others = self.size() - 1;
        loop {
            let batch = self.state.outbox.take();
            if !batch.is_empty() {
                self.state.send(&self.world, batch);
                continue;
            }
            if self.state.outbox.is_leaving() && self.state.leaving.is_none() {
                self.say_goodbye();
                continue;
            }
            self.state.receive(&self.world);
            if self.state.leaving.is_some() && self.state.left.len() == others {
                return;
            }
            self.state.end_if_stuck(&self.world);
            self.state.nap();
        }
    }

    fn say_goodbye(&mut self) {
        let mine = self.rank();
        self.state.leaving = Some(Instant::now());
        for to in (0..self.size()).filter(|&to| to != mine) {
            self.state.outbox.put(to, LEFT, Vec::new());
        }
    }
}

impl State {
    /// Sends messages, and meanwhile receives others, so that no two ranks wait for each other.
    fn send(&mut self, world: &SimpleCommunicator, batch: Vec<Outgoing>) {
        let piece = self.piece;
        scope(|scope| {
            let mut requests = Vec::new();
            for Outgoing { to, bytes } in &batch {
                let Ok(rank) = i32::try_from(*to) else {
                    continue;
                };
                let to = world.process_at_rank(rank);
                let last = (bytes.len() - 1) / piece;
                for (i, piece) in bytes.chunks(piece).enumerate() {
                    let tag = if i == last { LAST } else { MORE };
                    requests.push(to.immediate_send_with_tag(scope, piece, tag));
                }
            }
            loop {
                let pending = requests.into_iter();
                requests = pending.filter_map(|request| request.test().err()).collect();
                if requests.is_empty() {
                    return;
                }
                self.receive(world);
                // A rank that does not receive must not hold back messages to others.
                let more = self.outbox.take();
                if !more.is_empty() {
                    self.send(world, more);
                }
                self.end_if_stuck(world);
                // Large messages advance only while both sides look at MPI.
                self.idle = self.idle.min(YIELDS);
                self.nap();
            }
        });
    }

    /// Receives everything that has arrived.
    fn receive(&mut self, world: &SimpleCommunicator) {
        while let Some((message, status)) = world.any_process().immediate_matched_probe() {
            self.idle = 0;
            let length = usize::try_from(status.count(u8::equivalent_datatype())).unwrap_or(0);
            let mut bytes = vec![0_u8; length];
            message.matched_receive_into(&mut bytes[..]);
            let from = usize::try_from(status.source_rank()).unwrap_or(0);
            self.collect(from, bytes, status.tag());
        }
    }

    /// Puts the pieces of a message together, and delivers it.
    fn collect(&mut self, from: usize, bytes: Vec<u8>, tag: i32) {
        let whole = match self.partial.remove(&from) {
            Some(mut start) => {
                start.extend_from_slice(&bytes);
                start
            }
            None => bytes,
        };
        if tag == MORE {
            self.partial.insert(from, whole);
            return;
        }
        match split_channel(whole) {
            Some((_, LEFT)) => {
                self.left.push(from);
                self.mailbox.leave(from);
            }
            Some((message, FAILURE)) => {
                if let Ok(failure) = serde_json::from_slice(&message) {
                    self.mailbox.fail(failure);
                }
            }
            Some((message, channel)) => self.mailbox.deliver(from, channel, message),
            None => {}
        }
    }

    /// Ends all processes if the run has failed and another rank does not leave.
    fn end_if_stuck(&self, world: &SimpleCommunicator) {
        let leaving = self.leaving.is_some_and(|since| since.elapsed() > GRACE);
        if leaving && let Some(failure) = self.mailbox.failure() {
            report(&format!("rank {} ends all: {failure}", world.rank()));
            world.abort(1);
        }
    }

    /// Waits a little for MPI or for a message to be sent.
    fn nap(&mut self) {
        self.idle = self.idle.saturating_add(1);
        match self.idle {
            0..YIELDS => thread::yield_now(),
            YIELDS..2_000 => self.outbox.wait(NAPS[0]),
            2_000..20_000 => self.outbox.wait(NAPS[1]),
            _ => self.outbox.wait(NAPS[2]),
        }
    }
}
