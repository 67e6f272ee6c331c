//! Broadcasting of shapes and layouts.

use super::Layout;
use super::shape::Shape;
use super::sizes::DimVec;
use crate::{Result, ShapeError};

impl Shape {
    /// The shape to which both broadcast: sizes are compared from the last dimension, and a size of 1 or a missing
    /// dimension is expanded.
    pub(crate) fn broadcast(&self, op: &'static str, other: &Self) -> Result<Self> {
        if self == other {
            return Ok(self.clone());
        }
        let rank = self.rank().max(other.rank());
        let size_of = |shape: &Self, i: usize| {
            // Dimension `i` counted from the end.
            if i < shape.rank() {
                shape[shape.rank() - 1 - i]
            } else {
                1
            }
        };
        let mut sizes = DimVec::from_elem(1, rank);
        for i in 0..rank {
            sizes[rank - 1 - i] = match (size_of(self, i), size_of(other, i)) {
                (a, b) if a == b => a,
                (1, b) => b,
                (a, 1) => a,
                _ => {
                    let (lhs, rhs) = (self.clone(), other.clone());
                    return Err(ShapeError::Broadcast { op, lhs, rhs }.into());
                }
            };
        }
        Ok(sizes.into())
    }

    /// Whether a tensor of this shape can be broadcast to `shape`.
    pub(crate) fn broadcasts_to(&self, shape: &Self) -> bool {
        let pairs = self.iter().rev().zip(shape.iter().rev());
        self.rank() <= shape.rank() && { pairs }.all(|(&size, &to)| size == to || size == 1)
    }
}

impl Layout {
    /// This layout broadcast to `shape`; broadcast dimensions get stride 0.
    pub(crate) fn broadcast_to(&self, op: &'static str, shape: &Shape) -> Result<Self> {
        let fail = || {
            let (lhs, rhs) = (self.shape.clone(), shape.clone());
            ShapeError::Broadcast { op, lhs, rhs }
        };
        let lead = shape.rank().checked_sub(self.rank()).ok_or_else(fail)?;
        let mut strides = DimVec::from_elem(0, shape.rank());
        for i in 0..self.rank() {
            if self.shape[i] == shape[lead + i] {
                strides[lead + i] = self.strides[i];
            } else if self.shape[i] != 1 {
                return Err(fail().into());
            }
        }
        Ok(Self {
            shape: shape.clone(),
            strides,
            offset: self.offset,
        })
    }
}
