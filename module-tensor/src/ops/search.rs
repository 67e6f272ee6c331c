//! Places in what is sorted.

use super::Value;
use crate::tensor::Tensor;
use crate::{DType, ErrorKind, Result};

impl Tensor {
    /// Where each of `values` would be inserted into this sorted tensor to keep its order, along the last
    /// dimension, as `I64`: the number of elements below it, or with `right` at most it.
    ///
    /// A vector serves values of any shape; otherwise all dimensions but the last are those of the values.
    /// A `sorter`, of this tensor's shape, gives the order of one that is not sorted, as
    /// [`argsort`](Self::argsort) does. NaN is greater than any number.
    ///
    /// # Errors
    ///
    /// A tensor without dimensions, truth values, shapes that do not fit, another dtype, a sorter that is
    /// not `I64` or out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 3, 5]);
    /// let values = Tensor::from([3_i64, 6]);
    /// assert_eq!(x.searchsorted(&values, false, None)?.to_vec::<i64>()?, [1, 3]);
    /// assert_eq!(x.searchsorted(&values, true, None)?.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn searchsorted<'a>(
        &self,
        values: impl Into<Value<'a>>,
        right: bool,
        sorter: Option<&Self>,
    ) -> Result<Self> {
        const NAME: &str = "searchsorted";
        let values = values.into().like(NAME, self)?;
        self.places_of(NAME, &values, right, sorter)
    }

    /// The number of the `boundaries`, a sorted vector, below each element, or with `right` at most it, as
    /// `I64`: [`searchsorted`](Self::searchsorted) with the arguments the other way round.
    ///
    /// # Errors
    ///
    /// Boundaries of other than one dimension or another dtype, truth values.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[0.5_f32, 1.0], [2.0, 7.0]]);
    /// let places = x.bucketize(&Tensor::from([1.0_f32, 5.0]), false)?;
    /// assert_eq!(places.to_vec::<i64>()?, [0, 0, 1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn bucketize(&self, boundaries: &Self, right: bool) -> Result<Self> {
        const NAME: &str = "bucketize";
        self.check_same(NAME, boundaries)?;
        if boundaries.rank() != 1 {
            let expected = "boundaries of one dimension";
            return Err(boundaries.shape().error(NAME, expected));
        }
        boundaries.places_of(NAME, self, right, None)
    }

    fn places_of(
        &self,
        op: &'static str,
        values: &Self,
        right: bool,
        sorter: Option<&Self>,
    ) -> Result<Self> {
        if self.dtype() == DType::Bool {
            let (dtype, needs) = (DType::Bool, "numbers");
            return Err(ErrorKind::UnsupportedDType { op, dtype, needs }.into());
        }
        let Some((&width, lead)) = self.shape().split_last() else {
            let expected = "at least one dimension";
            return Err(self.shape().error(op, expected));
        };
        let wide = values.shape().split_last();
        let per_row = match wide {
            _ if lead.is_empty() => values.numel(),
            Some((&count, rows)) if rows == lead => count,
            _ => {
                let (lhs, rhs) = (self.shape().clone(), values.shape().clone());
                let rule = "all dimensions but the last must agree".to_owned();
                return Err(ErrorKind::ShapeMismatch { op, lhs, rhs, rule }.into());
            }
        };
        let sorted = match sorter {
            None => self.detach(),
            Some(sorter) => {
                let sorter = self.indices(op, sorter)?;
                if sorter.shape() != self.shape() {
                    let (lhs, rhs) = (self.shape().clone(), sorter.shape().clone());
                    let rule = "the sorter must have the shape of the tensor".to_owned();
                    return Err(ErrorKind::ShapeMismatch { op, lhs, rhs, rule }.into());
                }
                self.detach().gather(-1, &sorter)?
            }
        };
        let floating = self.dtype().is_floating_point();
        let (sorted, keys) = (
            sorted.order_keys(op, i64::MAX)?,
            values.order_keys(op, i64::MAX)?,
        );
        let place = |row: &[i64], key: i64| {
            // NaN is not at least anything, so that it goes to the end.
            if floating && key == i64::MAX {
                return row.len() as i64;
            }
            row.partition_point(|&k| if right { k <= key } else { k < key }) as i64
        };
        let mut out = Vec::with_capacity(keys.len());
        if per_row > 0 {
            for (row, keys) in keys.chunks_exact(per_row).enumerate() {
                let row = &sorted[row * width..(row + 1) * width];
                out.extend(keys.iter().map(|&key| place(row, key)));
            }
        }
        Self::from_vec(out, values.shape())?.to_device(&self.device())
    }
}
