use module_nn::Tensor;

use super::buckets::Bucket;
use crate::Work;

/// The state of the current backward pass.
pub(super) struct Pass {
    /// Whether it has begun.
    pub(super) begun: bool,
    /// Whether the gradient of each parameter is complete.
    pub(super) ready: Vec<bool>,
    /// Whether the loss depends on each parameter.
    pub(super) used: Vec<bool>,
    /// How many gradients each bucket lacks.
    pub(super) missing: Vec<usize>,
    /// The averages of the buckets that have been started, in order, with this rank's gradients.
    pub(super) started: Vec<(Work<Tensor>, Tensor)>,
    /// The ranks that take part in this pass with a loss, in [`join`](super::DataParallel::join).
    pub(super) active: Option<Vec<usize>>,
}

impl Pass {
    pub(super) fn new(parameters: usize, buckets: &[Bucket]) -> Self {
        Self {
            begun: false,
            ready: vec![false; parameters],
            used: vec![true; parameters],
            missing: buckets.iter().map(|bucket| bucket.members.len()).collect(),
            started: Vec::new(),
            active: None,
        }
    }

    /// The bucket that is to be sent next, if it is complete. All ranks send them in the same order.
    pub(super) fn next(&self) -> Option<usize> {
        let next = self.started.len();
        (self.missing.get(next) == Some(&0)).then_some(next)
    }

    /// Whether all buckets are being sent.
    pub(super) fn is_complete(&self) -> bool {
        self.started.len() == self.missing.len()
    }
}
