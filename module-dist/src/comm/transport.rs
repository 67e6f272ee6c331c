use super::Mailbox;
use crate::RankFailure;

/// Which messages belong together: a message is received by the call with the same channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// The group.
    pub group: u64,
    /// The collective's number in the group, or the tag that the user gave.
    pub number: u64,
    /// The step of the collective, or [`Channel::DIRECT`].
    pub phase: u8,
}

impl Channel {
    /// The phase of messages that `send` sends.
    pub const DIRECT: u8 = u8::MAX;
}

/// A way to pass messages between ranks; an [`Endpoint`](super::Endpoint) makes a [`Comm`](super::Comm) of it.
///
/// Messages between two ranks on one channel arrive in order. Dropping it tells the other ranks that this one has left.
pub trait Transport: Send + Sync + 'static {
    /// This rank.
    fn rank(&self) -> usize;

    /// The number of ranks.
    fn size(&self) -> usize;

    /// Sends a message without waiting for its receiver.
    fn send(&self, to: usize, channel: Channel, message: Vec<u8>);

    /// Where messages for this rank arrive.
    fn mailbox(&self) -> &Mailbox;

    /// Tells all other ranks that the run has failed.
    fn announce(&self, failure: &RankFailure);
}
