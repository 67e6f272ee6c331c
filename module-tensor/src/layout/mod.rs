//! Shapes, strides and the arithmetic of views; independent of devices and dtypes.

mod broadcast;
mod dims;
mod part;
mod runs;
mod serde;
mod shape;
mod sizes;
pub(crate) mod view;

pub(crate) use runs::{Block, Blocks, MergedDim, Runs, merge_dims, offsets};
use std::cmp::Ordering;

pub use dims::{Dim, Dims};
pub(crate) use shape::check_rank;
pub use shape::{IntoSize, IntoSizes, MAX_RANK, Shape};
use sizes::DimVec;

/// The layout of a tensor's elements in its storage.
///
/// **Invariant:** every index inside `shape` maps to `offset + Σ index·stride`, which is inside the storage. The
/// constructors of [`Tensor`](crate::Tensor) establish it and every view preserves it.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
/// assert_eq!(x.layout().strides(), [3, 1]);
/// assert_eq!(x.t()?.layout().strides(), [1, 3]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::{Layout, Shape, Tensor};
///
/// // The last two rows: they begin at the third element of the memory.
/// let x = Tensor::arange(0, 6, ())?.reshape([3, 2])?;
/// let rows = x.narrow(0, 1..3)?;
/// let layout = rows.layout();
/// assert_eq!((layout.shape(), layout.offset(), layout.rank()), (&Shape::from([2, 2]), 2, 2));
/// assert!(layout.is_contiguous() && !rows.t()?.layout().is_contiguous());
///
/// // Any strides that stay inside the memory: the windows of two elements over four.
/// let windows = Layout::within([3, 2].into(), &[1, 1], 0, 4).unwrap();
/// let windows = Tensor::from_storage(Tensor::from([1_i64, 2, 3, 4]).storage().clone(), windows);
/// assert_eq!(windows.to_vec::<i64>()?, [1, 2, 2, 3, 3, 4]);
/// assert!(Layout::within([4, 2].into(), &[1, 1], 0, 4).is_none());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    strides: DimVec,
    offset: usize,
}

impl Layout {
    /// The row-major layout of a new storage.
    pub fn contiguous(shape: Shape) -> Self {
        let mut strides = DimVec::from_elem(1, shape.rank());
        let mut step = 1_usize;
        for (stride, &size) in strides.iter_mut().zip(shape.iter()).rev() {
            *stride = step;
            // A shape with a zero size may hold sizes whose product overflows; no index exists.
            step = step.saturating_mul(size.max(1));
        }
        Self {
            shape,
            strides,
            offset: 0,
        }
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The distance in the storage between neighbors in each dimension, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The index of the first element in the storage.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Whether the elements are contiguous in row-major order.
    pub fn is_contiguous(&self) -> bool {
        // One loop, because every operation checks this several times.
        let (mut step, mut fits) = (1_usize, true);
        for (&size, &stride) in self.shape.iter().zip(self.strides.iter()).rev() {
            // Without elements there is no order; the other sizes may multiply to anything.
            if size == 0 {
                return true;
            }
            fits &= size == 1 || stride == step;
            step = step.wrapping_mul(size);
        }
        fits
    }

    /// The elements in the order in which they lie, as one dimension, and the layout of new memory in this order: for those
    /// that fill a block of memory, but not in row-major order.
    #[inline]
    pub(crate) fn in_memory_order(&self) -> Option<(Self, Self)> {
        match self.is_contiguous() {
            true => None,
            false => self.in_other_order(),
        }
    }

    fn in_other_order(&self) -> Option<(Self, Self)> {
        let dims = self.shape.iter().zip(self.strides.iter());
        let mut dims: Vec<_> = dims.filter(|(size, _)| **size != 1).collect();
        dims.sort_unstable_by_key(|(_, stride)| **stride);
        let mut step = 1;
        for (&size, &stride) in dims {
            if stride != step {
                return None;
            }
            step *= size;
        }
        let flat = Self::contiguous(step.into()).moved(self.offset);
        let like = Self {
            offset: 0,
            ..self.clone()
        };
        Some((flat, like))
    }

    /// The dimensions from the slowest to the fastest in memory, and the inverse permutation.
    ///
    /// A dimension with stride 0 does not affect the order and stays in its position: this is how PyTorch lays out a tensor
    /// like another one, in `infer_dense_strides`.
    pub(crate) fn memory_order(&self) -> (DimVec, DimVec) {
        let compare = |a: usize, b: usize| match (self.strides[a], self.strides[b]) {
            (0, _) | (_, 0) => None,
            (x, y) if x == y => (self.shape[a] > self.shape[b]).then_some(Ordering::Greater),
            (x, y) => Some(x.cmp(&y)),
        };
        let mut order: DimVec = (0..self.rank()).rev().collect();
        for start in 1..order.len() {
            let mut moving = start;
            for other in (0..start).rev() {
                match compare(order[other], order[moving]) {
                    Some(Ordering::Greater) => {
                        order.swap(other, moving);
                        moving = other;
                    }
                    Some(_) => break,
                    None => {}
                }
            }
        }
        order.reverse();
        let mut back = DimVec::from_elem(0, order.len());
        for (i, &dim) in order.iter().enumerate() {
            back[dim] = i;
        }
        (order, back)
    }
}

#[cfg(test)]
mod tests;
