use std::sync::Arc;

use module_nn::{Result, Tensor};

use super::Core;
use crate::comm::work::Waiting;
use crate::comm::{Channel, Transport};

/// A tensor that another rank sends to this one.
pub(super) struct Receiving<T: Transport> {
    pub(super) core: Arc<Core<T>>,
    pub(super) from: usize,
    pub(super) channel: Channel,
}

impl<T: Transport> Waiting<Tensor> for Receiving<T> {
    fn wait(self: Box<Self>) -> Result<Tensor> {
        self.core.receive(self.from, self.channel, "receive", 1.0)
    }

    fn is_finished(&mut self) -> bool {
        self.core.has(self.from, self.channel)
    }
}
