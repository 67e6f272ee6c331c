use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::function::checkpoint;
use crate::module::{Visitor, VisitorMut, fmt_tree};
use crate::{Call, Describe, Error, FieldInfo, Forward, Module, Result, Sequential, Tensor};

/// Consecutive layers in segments, of which all but the last keep no activations for the backward pass:
/// `torch.utils.checkpoint.checkpoint_sequential(layers, segments, input)`.
///
/// It computes what the [`Sequential`] computes, and has its state dict. Each segment is a call of
/// [`checkpoint`](super::checkpoint), whose documentation says what holds in the second run. The last segment has the
/// remaining layers.
///
/// # Errors
///
/// Those of the layers, with the layer's path.
///
/// # Example
///
/// ```
/// use module_core::{Call, CheckpointedSequential, Identity, ModuleExt, Sequential, Tensor};
///
/// let layers: Sequential = (0..6).map(|_| Identity::new()).collect();
/// let net = CheckpointedSequential::new(layers, 3)?;
/// assert_eq!(net.call(Tensor::from([1.0_f32]))?.to_vec::<f32>()?, [1.0]);
/// assert!(CheckpointedSequential::new(Sequential::new(), 3).is_err());
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::{CheckpointedSequential, Identity, Sequential};
///
/// let layers: Sequential = (0..5).map(|_| Identity::new()).collect();
/// let net = CheckpointedSequential::new(layers, 2)?;
/// assert_eq!((net.layers().len(), net.segments()), (5, 2));
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct CheckpointedSequential {
    layers: Arc<Sequential>,
    segments: usize,
}

impl CheckpointedSequential {
    /// These layers in this many segments.
    ///
    /// # Errors
    ///
    /// No segments, or more than layers.
    pub fn new(layers: Sequential, segments: usize) -> Result<Self> {
        if segments == 0 || segments > layers.len() {
            let problem = format!("must be from 1 to the {} layer(s)", layers.len());
            let op = "CheckpointedSequential";
            return Err(Error::argument(op, "segments", segments, problem));
        }
        let layers = Arc::new(layers);
        Ok(Self { layers, segments })
    }

    /// The layers.
    pub fn layers(&self) -> &Sequential {
        &self.layers
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.segments
    }
}

fn run(layers: &Sequential, range: Range<usize>, input: Tensor) -> Result<Tensor> {
    let mut places = range.into_iter();
    places.try_fold(input, |x, place| layers.layer(place)?.call(x))
}

impl Module for CheckpointedSequential {
    fn kind(&self) -> &'static str {
        "CheckpointedSequential"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        self.layers.visit(visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        self.layers.visit_mut(visitor);
    }
}

/// The keys are known only at run time.
impl Describe for CheckpointedSequential {
    const FIELDS: &'static [FieldInfo] = &[];
}

impl fmt::Debug for CheckpointedSequential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tree(self, f)
    }
}

impl Forward for CheckpointedSequential {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let size = self.layers.len() / self.segments;
        let (mut x, mut start) = (input, 0);
        for _ in 1..self.segments {
            let (layers, range) = (self.layers.clone(), start..start + size);
            x = checkpoint(move |x| run(&layers, range.clone(), x), x)?;
            start += size;
        }
        run(&self.layers, start..self.layers.len(), x)
    }
}
