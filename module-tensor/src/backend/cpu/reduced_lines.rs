//! The elements of an operand as lines, each of which is reduced to one element.

use super::copy::copy;
use super::view::{RowMajor, to_row_major};
use super::{Element, Operand};
use crate::Result;
use crate::layout::Shape;

/// With fewer elements side by side, a loop over rows is slower than copying each line into one piece.
const FEW: usize = 8;

/// Elements that are `[outer, count, inner]`; those that differ in their second index only are one line.
pub(super) struct Lines<'a, T: Element> {
    pub(super) values: RowMajor<'a, T>,
    pub(super) count: usize,
    pub(super) inner: usize,
}

/// Dimensions in ascending order as those up to a gap and the neighbors after it, unless all are neighbors. Dimensions of
/// one element are no gap. Reduced one after the other, both need no copy of the elements.
pub(super) fn apart<'d>(shape: &Shape, dims: &'d [usize]) -> Option<(&'d [usize], &'d [usize])> {
    if shape.contains(&0) {
        return None;
    }
    let is_gap = |pair: &[usize]| {
        let between = shape.get(pair[0] + 1..pair[1]);
        between.is_some_and(|sizes| sizes.iter().any(|&size| size > 1))
    };
    let last = dims.windows(2).rposition(is_gap)?;
    Some(dims.split_at(last + 1))
}

impl<'a, T: Element> Lines<'a, T> {
    /// The lines along these dimensions. Rows of few elements are read as they are if they are one block.
    pub(super) fn along(x: &'a Operand, dims: &[usize]) -> Result<Self> {
        Self::side_by_side_if(x, dims, |outer, inner| inner >= FEW || outer == 1)
    }

    /// The same for a reduction for which rows of few elements are slow however many blocks there are.
    pub(super) fn along_apart_if_few(x: &'a Operand, dims: &[usize]) -> Result<Self> {
        Self::side_by_side_if(x, dims, |_, inner| inner >= FEW)
    }

    /// The lines, of which so many are side by side in each of several blocks, as they are or each in one piece.
    fn side_by_side_if(
        x: &'a Operand,
        dims: &[usize],
        stay: impl Fn(usize, usize) -> bool,
    ) -> Result<Self> {
        let shape = x.layout.shape();
        // Without elements, the other sizes may multiply to anything.
        let product = |sizes: &mut dyn Iterator<Item = usize>| sizes.fold(1, usize::saturating_mul);
        let count = product(&mut dims.iter().map(|&dim| shape[dim]));
        let before = shape.iter().take(dims.first().copied().unwrap_or(0));
        let after = shape.iter().skip(dims.last().map_or(0, |last| last + 1));
        let (outer, inner) = (product(&mut before.copied()), product(&mut after.copied()));
        let are_neighbors = dims.is_sorted() && apart(shape, dims).is_none();
        if are_neighbors && (inner == 1 || stay(outer, inner)) {
            let values = to_row_major(x)?;
            return Ok(Self {
                values,
                count,
                inner,
            });
        }
        Self::copied(x, dims, count)
    }

    /// The same lines, each in one piece.
    fn copied(x: &Operand, dims: &[usize], count: usize) -> Result<Self> {
        let shape = x.layout.shape();
        let kept = (0..shape.len()).filter(|dim| !dims.contains(dim));
        let order: Vec<usize> = kept.chain(dims.iter().copied()).collect();
        let moved = Operand {
            storage: x.storage.clone(),
            layout: x.layout.permute(&order),
        };
        Ok(Self {
            values: RowMajor::Copied(copy(&moved)?),
            count,
            inner: 1,
        })
    }

    /// The number of lines.
    pub(super) fn lines(&self) -> usize {
        self.values.len() / self.count.max(1)
    }
}
