//! The mask that attention adds to its scores.

use std::borrow::Cow;

use super::float::Float;
use super::lanes::update;
use super::view::{array_view, to_cow};
use super::{Operand, elements};
use crate::Result;
use crate::layout::Layout;
use crate::zip::zip;

/// The mask where it lies: what is expanded is neither copied nor read twice from memory.
pub(super) struct Mask<'a, T: Clone> {
    values: Cow<'a, [T]>,
    /// The offset of each element of the batch.
    starts: Vec<usize>,
    query_stride: usize,
    /// 1, or 0 if one value is for all keys.
    key_stride: usize,
}

impl<'a, T: Float> Mask<'a, T> {
    /// The mask of a batch of so many elements.
    pub(super) fn of(mask: Option<&'a Operand>, batch: usize) -> Result<Option<Self>> {
        let Some(mask) = mask else { return Ok(None) };
        // Checks that the layout lies within the memory.
        array_view::<T>(&mask.storage, &mask.layout)?;
        let contiguous;
        let (values, layout) = match mask.layout.strides().last() {
            Some(0 | 1) => (Cow::from(elements::<T>(mask)?), &mask.layout),
            _ => {
                contiguous = Layout::contiguous(mask.layout.shape().clone());
                (to_cow::<T>(mask)?, &contiguous)
            }
        };
        let (shape, strides) = (layout.shape(), layout.strides());
        let (&[ref lead @ .., _, _], &[ref lead_strides @ .., query_stride, key_stride]) =
            (&**shape, strides)
        else {
            return Err(shape.error("attention", "a mask of two dimensions or more"));
        };
        let mut starts = vec![layout.offset()];
        for (&size, &stride) in zip(lead, lead_strides) {
            let inner = |&start: &usize| (0..size).map(move |i| start + i * stride);
            starts = starts.iter().flat_map(inner).collect();
        }
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

    /// Adds the mask of a query to the scores of the first keys.
    pub(super) fn add(&self, row: &mut [T], batch: usize, query: usize) {
        let start = self.starts[batch] + query * self.query_stride;
        if self.key_stride == 0 {
            let value = self.values[start];
            row.iter_mut().for_each(|score| *score = score.plus(value));
        } else {
            let values = &self.values[start..][..row.len()];
            update(row, values, T::plus);
        }
    }
}
