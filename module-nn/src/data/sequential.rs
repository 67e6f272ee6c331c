use module_core::Result;

use super::{Sampler, draw};

/// All indices in order: PyTorch's `SequentialSampler`.
///
/// # Example
///
/// ```
/// use module_nn::data::{Sampler, SequentialSampler};
///
/// assert_eq!(SequentialSampler::new(3).indices()?, [0, 1, 2]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SequentialSampler {
    len: usize,
}

impl SequentialSampler {
    /// The indices of a data set of this length.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { len }
    }
}

impl Sampler for SequentialSampler {
    type Index = usize;

    fn len(&self) -> usize {
        self.len
    }

    fn indices(&self) -> Result<Vec<usize>> {
        draw::in_order("sequential_sampler", self.len)
    }
}
