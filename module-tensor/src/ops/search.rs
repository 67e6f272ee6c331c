//! `searchsorted` and `bucketize`.

use super::Value;
use crate::tensor::Tensor;
use crate::{DType, DTypeError, Result, ShapeError};

crate::options! {
    /// The options of [`Tensor::searchsorted_with`], with PyTorch's names and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{SearchSortedOptions, Tensor};
    ///
    /// let sorted = Tensor::from([1.0_f32, 2.0, 2.0, 3.0]);
    /// let options = SearchSortedOptions::new().right(true);
    /// let places = sorted.searchsorted_with(&Tensor::from([2.0_f32]), options)?;
    /// assert_eq!(places.to_vec::<i64>()?, [3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct SearchSortedOptions<'a> {
        optional {
            /// Whether elements that equal the value also count.
            right: bool = false,
            /// The sort order of an unsorted tensor, in its shape, as returned by [`Tensor::argsort`].
            sorter: Option<&'a Tensor> = None,
        }
    }
}

impl Tensor {
    /// The position at which each of `values` would be inserted into this sorted tensor to keep its order, along the last
    /// dimension, as `I64`: the number of elements below it.
    ///
    /// A vector accepts values of any shape; otherwise all dimensions except the last must equal those of the values. NaN
    /// is greater than any number.
    ///
    /// # Errors
    ///
    /// A tensor without dimensions, booleans, incompatible shapes, another dtype.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 3, 5]);
    /// let values = Tensor::from([3_i64, 6]);
    /// assert_eq!(x.searchsorted(&values)?.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn searchsorted<'a>(&self, values: impl Into<Value<'a>>) -> Result<Self> {
        self.insertion_points(values.into(), SearchSortedOptions::new())
    }

    /// [`searchsorted`](Self::searchsorted) with options.
    ///
    /// # Errors
    ///
    /// Those of [`searchsorted`](Self::searchsorted), and a sorter that is not `I64` or out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{SearchSortedOptions, Tensor};
    ///
    /// let (x, values) = (Tensor::from([5_i64, 1, 3]), Tensor::from([3_i64, 6]));
    /// let order = x.argsort(0)?;
    /// let options = SearchSortedOptions::new().right(true).sorter(&order);
    /// assert_eq!(x.searchsorted_with(&values, options)?.to_vec::<i64>()?, [2, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn searchsorted_with<'a>(
        &self,
        values: impl Into<Value<'a>>,
        options: SearchSortedOptions<'_>,
    ) -> Result<Self> {
        self.insertion_points(values.into(), options)
    }

    fn insertion_points(
        &self,
        values: Value<'_>,
        options: SearchSortedOptions<'_>,
    ) -> Result<Self> {
        const NAME: &str = "searchsorted";
        let values = values.like(NAME, self)?;
        self.places_of(NAME, &values, options)
    }

    /// The number of the `boundaries`, a sorted vector, below each element, as `I64`: [`searchsorted`](Self::searchsorted)
    /// with the arguments swapped.
    ///
    /// # Errors
    ///
    /// Boundaries that are not a vector or have another dtype, booleans.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[0.5_f32, 1.0], [2.0, 7.0]]);
    /// let indices = x.bucketize(&Tensor::from([1.0_f32, 5.0]))?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 0, 1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn bucketize(&self, boundaries: &Self) -> Result<Self> {
        self.buckets(boundaries, false)
    }

    /// The number of the `boundaries` that are at most each element: `torch.bucketize(…, right=True)`.
    ///
    /// # Errors
    ///
    /// Those of [`bucketize`](Self::bucketize).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[0.5_f32, 1.0], [2.0, 7.0]]);
    /// let indices = x.bucketize_right(&Tensor::from([1.0_f32, 5.0]))?;
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn bucketize_right(&self, boundaries: &Self) -> Result<Self> {
        self.buckets(boundaries, true)
    }

    fn buckets(&self, boundaries: &Self, right: bool) -> Result<Self> {
        const NAME: &str = "bucketize";
        self.check_same(NAME, boundaries)?;
        if boundaries.rank() != 1 {
            let expected = "boundaries of one dimension";
            return Err(boundaries.shape().error(NAME, expected));
        }
        boundaries.places_of(NAME, self, SearchSortedOptions::new().right(right))
    }

    fn places_of(
        &self,
        op: &'static str,
        values: &Self,
        options: SearchSortedOptions<'_>,
    ) -> Result<Self> {
        let SearchSortedOptions { right, sorter } = options;
        if self.dtype() == DType::Bool {
            let (dtype, needs) = (DType::Bool, "numbers");
            return Err(DTypeError::Unsupported { op, dtype, needs }.into());
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
                return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
            }
        };
        let sorted = match sorter {
            None => self.detach(),
            Some(sorter) => {
                let sorter = self.indices(op, sorter)?;
                if sorter.shape() != self.shape() {
                    let (lhs, rhs) = (self.shape().clone(), sorter.shape().clone());
                    let rule = "the sorter must have the shape of the tensor".to_owned();
                    return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
                }
                self.detach().gather(-1, &sorter)?
            }
        };
        let floating = self.dtype().is_floating_point();
        let (sorted, keys) = (
            sorted.order_keys(op, i64::MAX)?,
            values.order_keys(op, i64::MAX)?,
        );
        let insertion_index = |row: &[i64], key: i64| {
            // NaN is not greater than or equal to anything, so it goes to the end.
            if floating && key == i64::MAX {
                return row.len() as i64;
            }
            row.partition_point(|&k| if right { k <= key } else { k < key }) as i64
        };
        let mut out = Vec::with_capacity(keys.len());
        if per_row > 0 {
            for (row, keys) in keys.chunks_exact(per_row).enumerate() {
                let row = &sorted[row * width..(row + 1) * width];
                out.extend(keys.iter().map(|&key| insertion_index(row, key)));
            }
        }
        Self::from_vec(out, values.shape())?.to_device(&self.device())
    }
}
