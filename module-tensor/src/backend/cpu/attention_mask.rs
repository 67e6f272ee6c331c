//! Operands that attention reads in place: matrices, and the mask that it adds to its scores.

use super::float::Float;
use super::view::{RowMajor, array_view, to_row_major};
use super::{Operand, elements};
use crate::Result;
use crate::layout::{Layout, offsets};

/// The mask where it lies: what is expanded is neither copied nor read twice from memory.
pub(super) struct Mask<'a, T: Float> {
    values: RowMajor<'a, T>,
    /// The offset of each element of the batch.
    starts: Vec<usize>,
    query_stride: usize,
    /// 1, or 0 if one value is for all keys.
    key_stride: usize,
}

/// Matrices `[batch, rows, columns]` where they lie: those that are parts of larger memory are not copied, as long as
/// the rows of each follow each other.
pub(super) struct Matrices<'a, T: Float> {
    values: RowMajor<'a, T>,
    start: usize,
    stride: usize,
    numel: usize,
}

/// The mask of the scores of one query.
#[derive(Clone, Copy)]
pub(super) enum RowMask<'a, T> {
    /// One number for all keys.
    Number(T),
    Numbers(&'a [T]),
}

impl<'a, T: Float> Matrices<'a, T> {
    pub(super) fn of(x: &'a Operand) -> Result<Self> {
        let (&[_, rows, columns], &[stride, row_stride, column_stride]) =
            (&**x.layout.shape(), x.layout.strides())
        else {
            return Err(x.layout.shape().error("attention", "three dimensions"));
        };
        let numel = rows * columns;
        let follow = (columns < 2 || column_stride == 1) && (rows < 2 || row_stride == columns);
        let (values, start, stride) = match follow && x.layout.shape().numel() > 0 {
            true => {
                // Checks that the layout lies within the memory.
                array_view::<T>(&x.storage, &x.layout)?;
                (
                    RowMajor::Borrowed(elements::<T>(x)?),
                    x.layout.offset(),
                    stride,
                )
            }
            false => (to_row_major::<T>(x)?, 0, numel),
        };
        Ok(Self {
            values,
            start,
            stride,
            numel,
        })
    }

    /// The elements of a matrix.
    pub(super) fn at(&self, batch: usize) -> &[T] {
        &self.values[self.start + batch * self.stride..][..self.numel]
    }
}

impl<'a, T: Float> Mask<'a, T> {
    /// The mask of a batch of so many elements.
    pub(super) fn of(mask: Option<&'a Operand>, batch: usize) -> Result<Option<Self>> {
        let Some(mask) = mask else { return Ok(None) };
        // Checks that the layout lies within the memory.
        array_view::<T>(&mask.storage, &mask.layout)?;
        let contiguous;
        let (values, layout) = match mask.layout.strides().last() {
            Some(0 | 1) => (RowMajor::Borrowed(elements::<T>(mask)?), &mask.layout),
            _ => {
                contiguous = Layout::contiguous(mask.layout.shape().clone());
                (to_row_major::<T>(mask)?, &contiguous)
            }
        };
        let (shape, strides) = (layout.shape(), layout.strides());
        let (&[ref lead @ .., _, _], &[ref lead_strides @ .., query_stride, key_stride]) =
            (&**shape, strides)
        else {
            return Err(shape.error("attention", "a mask of two dimensions or more"));
        };
        let starts = offsets(layout.offset(), lead, lead_strides);
        if starts.len() != batch {
            return Err(shape.error("attention", "a mask for each element of the batch"));
        }
        Ok(Some(Self {
            values,
            starts,
            query_stride,
            key_stride,
        }))
    }

    /// What is added to the scores of a query for so many keys from one on.
    pub(super) fn row(&self, [batch, query, key]: [usize; 3], count: usize) -> RowMask<'_, T> {
        let start = self.starts[batch] + query * self.query_stride + key * self.key_stride;
        match self.key_stride {
            0 => RowMask::Number(self.values[start]),
            _ => RowMask::Numbers(&self.values[start..][..count]),
        }
    }
}
