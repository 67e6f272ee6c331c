use crate::layout::Shape;

/// A copy in which each dimension is indexed by its own function: `out[i, j, …] = x[f₀(i), f₁(j), …]` with the functions
/// `f` of [`GatherDim`].
///
/// The gradient starts from zeros: `out[f₀(i), f₁(j), …] += x[i, j, …]`.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{GatherAlongGeometry, GatherDim, LinearOp};
/// use module_tensor::{Device, Layout, Tensor};
///
/// let geometry = GatherAlongGeometry {
///     input: 3.into(),
///     output: 5.into(),
///     dims: vec![GatherDim::Reflect { before: 1, after: 1 }],
/// };
/// let backend = Device::cpu().backend();
/// let x = Tensor::from([1.0, 2.0, 3.0]);
/// let padded = backend.gather_along(LinearOp::Forward, x.operand(), &geometry)?;
/// let padded = Tensor::from_storage(padded, Layout::contiguous(geometry.output.clone()));
/// assert_eq!(padded.to_vec::<f64>()?, [2.0, 1.0, 2.0, 3.0, 2.0]);
///
/// // The gradient counts how often each element was read.
/// let ones = padded.ones_like()?;
/// let grad = backend.gather_along(LinearOp::Backward, ones.operand(), &geometry)?;
/// let grad = Tensor::from_storage(grad, Layout::contiguous(geometry.input.clone()));
/// assert_eq!(grad.to_vec::<f64>()?, [1.0, 3.0, 1.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatherAlongGeometry {
    /// The shape of the input.
    pub input: Shape,
    /// The shape of the output; each size is [`GatherDim::len`].
    pub output: Shape,
    /// The function for each dimension.
    pub dims: Vec<GatherDim>,
}

impl GatherAlongGeometry {
    /// Whether each dimension is flipped or unchanged.
    pub(crate) fn is_flip(&self) -> bool {
        let mut dims = self.dims.iter();
        dims.all(|dim| matches!(dim, GatherDim::Same | GatherDim::Flip))
    }
}

/// The function from an index `i` of the output to an index of the input, for one dimension of `n` elements.
///
/// The amounts before and after are the elements that the output has more than the input. Negative amounts crop,
/// and `Reflect` may still reflect the cropped elements at the other end. Callers have checked that there are
/// enough elements: `Reflect` needs amounts below `n`, `Circular` at most `n`.
///
/// # Example
///
/// ```
/// use module_tensor::backend::GatherDim;
///
/// assert_eq!(GatherDim::Flip.source_indices(3).collect::<Vec<_>>(), [2, 1, 0]);
/// let reflect = GatherDim::Reflect { before: 2, after: -1 };
/// assert_eq!(reflect.len(4), 5);
/// assert_eq!(reflect.source_indices(4).collect::<Vec<_>>(), [2, 1, 0, 1, 2]);
/// ```
///
/// ```
/// use module_tensor::backend::GatherDim;
///
/// // Three elements become five: the two that were added read from the other end.
/// let circular = GatherDim::Circular { before: 1, after: 1 };
/// assert_eq!([0, 1, 4].map(|i| circular.source_index(3, i)), [2, 0, 0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GatherDim {
    /// `i`
    Same,
    /// `n - 1 - i`
    Flip,
    /// With `p = i - before`: `-p` if that is positive, `2(n - 1) - p` from `n` on, else `p`; the edge is not
    /// repeated.
    Reflect {
        /// Elements before the first.
        before: isize,
        /// Elements after the last.
        after: isize,
    },
    /// `i - before`, at least 0 and at most `n - 1`
    Replicate {
        /// Elements before the first.
        before: isize,
        /// Elements after the last.
        after: isize,
    },
    /// `i - before`, plus `n` if it is below 0, minus `n` from `n` on
    Circular {
        /// Elements before the first.
        before: isize,
        /// Elements after the last.
        after: isize,
    },
}

impl GatherDim {
    /// The number of elements of the output for `n` of the input.
    pub fn len(self, n: usize) -> usize {
        match self {
            Self::Same | Self::Flip => n,
            Self::Reflect { before, after }
            | Self::Replicate { before, after }
            | Self::Circular { before, after } => {
                n.saturating_add_signed(before).saturating_add_signed(after)
            }
        }
    }

    /// The index of the input, which has `n` elements, for index `i` of the output.
    pub fn source_index(self, n: usize, i: usize) -> usize {
        let last = n.saturating_sub(1);
        // The position relative to the first element: `None` before it, and then how far before.
        let shifted = |before: isize| i.checked_add_signed(before.saturating_neg());
        let outside = |before: isize| before.unsigned_abs().saturating_sub(i);
        match self {
            Self::Same => i,
            Self::Flip => last.saturating_sub(i),
            Self::Reflect { before, .. } => match shifted(before) {
                None => outside(before),
                Some(p) if p <= last => p,
                Some(p) => (2 * last).saturating_sub(p),
            },
            Self::Replicate { before, .. } => shifted(before).map_or(0, |p| p.min(last)),
            Self::Circular { before, .. } => match shifted(before) {
                None => n.saturating_sub(outside(before)),
                Some(p) if p <= last => p,
                Some(p) => p - n,
            },
        }
    }

    /// The indices of the input, which has `n` elements, for all indices of the output.
    pub fn source_indices(self, n: usize) -> impl Iterator<Item = usize> {
        (0..self.len(n)).map(move |i| self.source_index(n, i))
    }
}
