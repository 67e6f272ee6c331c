mod driver;
mod outbox;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use module_nn::{Error, Result};

use self::driver::Driver;
use self::outbox::Outbox;
use super::{Channel, Endpoint, Mailbox, Transport};
use crate::RankFailure;

/// A [`Comm`](super::Comm) whose ranks are processes, started by `mpirun` or another launcher of MPI.
///
/// All calls of MPI are made by one thread, so that an implementation with `MPI_THREAD_FUNNELED` is enough.
pub type MpiComm = Endpoint<MpiTransport>;

/// Passes messages between processes by MPI.
pub struct MpiTransport {
    rank: usize,
    size: usize,
    outbox: Arc<Outbox>,
    mailbox: Arc<Mailbox>,
    driver: Option<JoinHandle<()>>,
}

/// The longest message of MPI, whose lengths are 32-bit numbers; longer ones are sent in pieces.
const PIECE: usize = 1 << 29;

impl MpiComm {
    /// The group of all processes; a rank that does not answer within `deadline` ends the run.
    ///
    /// # Errors
    ///
    /// A process that has initialized MPI already: make one, and [`split`](super::Comm::split) it. A thread that cannot be
    /// started.
    pub fn world(deadline: Duration) -> Result<Self> {
        Self::world_in_pieces(deadline, PIECE)
    }

    /// [`world`](Self::world) with another length of the longest message of MPI.
    #[doc(hidden)]
    pub fn world_in_pieces(deadline: Duration, piece: usize) -> Result<Self> {
        Self::new(MpiTransport::new(piece)?, deadline)
    }
}

impl MpiTransport {
    fn new(piece: usize) -> Result<Self> {
        let (outbox, mailbox) = (Arc::<Outbox>::default(), Arc::<Mailbox>::default());
        let (sender, receiver) = channel();
        let (to_send, received) = (outbox.clone(), mailbox.clone());
        let thread = thread::Builder::new().name("module-dist mpi".into());
        let driver = thread.spawn(move || {
            // An error reaches the other side as a closed channel.
            if let Some(driver) = Driver::start(to_send, received, piece) {
                let _ = sender.send((driver.rank(), driver.size()));
                driver.run();
            }
        });
        let driver = driver.map_err(Error::custom)?;
        let Ok((rank, size)) = receiver.recv() else {
            // The thread has ended or panicked; both are the error below.
            let _ = driver.join();
            return Err(Error::custom(
                "MPI cannot be initialized, or was initialized before in this process; make one `MpiComm`, and `split` it",
            ));
        };
        Ok(Self {
            rank,
            size,
            outbox,
            mailbox,
            driver: Some(driver),
        })
    }
}

impl Transport for MpiTransport {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, channel: Channel, message: Vec<u8>) {
        self.outbox.put(to, channel, message);
    }

    fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    fn announce(&self, failure: &RankFailure) {
        // A failure consists of strings and numbers, which JSON holds.
        let message = serde_json::to_vec(failure).unwrap_or_default();
        for to in (0..self.size).filter(|&to| to != self.rank) {
            self.outbox.put(to, driver::FAILURE, message.clone());
        }
    }
}

impl Drop for MpiTransport {
    fn drop(&mut self) {
        self.outbox.leave();
        if let Some(driver) = self.driver.take() {
            // A panic of the thread has been printed, and nothing is left to do.
            let _ = driver.join();
        }
    }
}
