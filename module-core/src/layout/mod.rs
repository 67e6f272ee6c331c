//! Shapes, strides and the arithmetic of views; free of devices and dtypes.

mod broadcast;
mod runs;
mod shape;
pub(crate) mod view;

pub(crate) use runs::Runs;
pub use shape::{Dims, Shape};

/// How a tensor's elements lie in its storage.
///
/// **Invariant:** every index inside `shape` maps to `offset + Σ index·stride`, which lies inside
/// the storage. The constructors of [`Tensor`](crate::Tensor) establish it and every view keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    shape: Shape,
    strides: shape::Sizes,
    offset: usize,
}

impl Layout {
    /// The row-major layout of a fresh storage.
    pub fn contiguous(shape: Shape) -> Self {
        let mut strides = shape::Sizes::from_elem(1, shape.rank());
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

    /// How many elements of the storage lie between neighbours in each dimension.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// The place of the first element in the storage.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Whether the elements lie one after the other in row-major order.
    pub fn is_contiguous(&self) -> bool {
        // Without elements there is no order; the other sizes may multiply to anything.
        if self.shape.contains(&0) {
            return true;
        }
        let mut step = 1;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 {
                if stride != step {
                    return false;
                }
                step *= size;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
