//! `searchsorted` and `bucketize`.

use std::hint::select_unpredictable;

use super::Value;
use super::order_keys::OrderKey;
use crate::backend::{Storage, cpu_scratch, cpu_storage, fill_in_parts};
use crate::tensor::Tensor;
use crate::zip::{zip, zip_mut};
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
    /// let positions = sorted.searchsorted_with(&Tensor::from([2.0_f32]), options)?;
    /// assert_eq!(positions.to_vec::<i64>()?, [3]);
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
    /// The position at which each of `values` would be inserted into this sorted tensor to keep its order, along the
    /// last dimension, as `I64`: the number of elements below it.
    ///
    /// A vector accepts values of any shape; otherwise all dimensions except the last must equal those of the values.
    /// NaN is greater than any number.
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

    /// The number of the `boundaries`, a sorted vector, below each element, as `I64`:
    /// [`searchsorted`](Self::searchsorted) with the arguments swapped.
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
        let search = Search {
            sorted: sorted.order_keys(op, i64::MAX)?,
            width,
            per_row,
            right,
            has_nan: self.dtype().is_floating_point(),
        };
        let dtype = self.key_dtype();
        let cast = values.detach().to_dtype(dtype)?;
        let positions = match dtype {
            DType::F64 => search.positions(&cast.host_elements::<f64>()?),
            DType::F32 => search.positions(&cast.host_elements::<f32>()?),
            _ => search.positions(&cast.host_elements::<i64>()?),
        };
        Self::fresh(positions?, values.shape().clone()).to_device(&self.device())
    }
}

/// The values that are searched for at a time.
const BLOCK: usize = 64;

/// Rows of sorted keys, in each of which as many values are searched for.
struct Search {
    sorted: Vec<i64>,
    width: usize,
    per_row: usize,
    /// Whether keys that equal the value count as below it.
    right: bool,
    /// Whether the greatest key is that of NaN.
    has_nan: bool,
}

impl Search {
    /// The number of keys below each value.
    fn positions<T: OrderKey>(&self, values: &[T]) -> Result<Storage> {
        let mut out = cpu_scratch::<i64>(values.len())?;
        // A step of the search for each bit of the width.
        let value_ns = 1 + self.width.checked_ilog2().unwrap_or(0) as usize / 4;
        fill_in_parts(&mut out, value_ns, &|first, mut out| {
            let mut at = first;
            while !out.is_empty() {
                let in_row = self.per_row - at % self.per_row;
                let length = out.len().min(in_row).min(BLOCK);
                let (part, rest) = std::mem::take(&mut out).split_at_mut(length);
                let row = &self.sorted[at / self.per_row * self.width..][..self.width];
                self.find(row, &values[at..at + length], part);
                (out, at) = (rest, at + length);
            }
        })?;
        Ok(cpu_storage(out))
    }

    /// The number of keys of a row below each value of a block.
    fn find<T: OrderKey>(&self, row: &[i64], values: &[T], out: &mut [i64]) {
        let mut keys = [0; BLOCK];
        for (key, value) in zip_mut(&mut keys, values) {
            *key = value.order_key(i64::MAX);
        }
        match self.right {
            true => count_below(row, &keys, |k, key| k <= key, out),
            false => count_below(row, &keys, |k, key| k < key, out),
        }
        if self.has_nan {
            // NaN is not greater than or equal to anything, so it goes to the end.
            for (position, &key) in zip_mut(out, &keys) {
                *position = if key == i64::MAX {
                    row.len() as i64
                } else {
                    *position
                };
            }
        }
    }
}

/// The number of sorted keys that are below each of some other keys.
///
/// Each step is made for all keys before the next one, so that none waits for the key that is compared with another.
fn count_below(
    sorted: &[i64],
    keys: &[i64; BLOCK],
    is_below: impl Fn(i64, i64) -> bool,
    out: &mut [i64],
) {
    let (mut positions, mut size) = ([0; BLOCK], sorted.len());
    while size > 1 {
        let half = size / 2;
        for (position, &key) in zip_mut(&mut positions, keys) {
            let middle = *position + half;
            *position = select_unpredictable(is_below(sorted[middle], key), middle, *position);
        }
        size -= half;
    }
    for (out, (&position, &key)) in out.iter_mut().zip(zip(&positions, keys)) {
        let is_below = sorted.get(position).is_some_and(|&k| is_below(k, key));
        *out = position as i64 + i64::from(is_below);
    }
}

#[cfg(test)]
mod tests {
    use crate::{SearchSortedOptions, Tensor, set_num_threads};

    #[test]
    fn places_count_the_smaller_numbers_by_any_number_of_threads() {
        let (lines, count) = if cfg!(miri) { (2, 9) } else { (3, 30_011) };
        let width = 101;
        let sorted: Vec<f32> = (0..lines * width)
            .map(|i| match i % width {
                0 => f32::NEG_INFINITY,
                99.. => f32::NAN,
                at => (at / 3) as f32 - 20.0,
            })
            .collect();
        let value = |i: usize| match i % 13 {
            0 => f32::NAN,
            1 => -0.0,
            2 => f32::INFINITY,
            n => (i * 7919 % 509) as f32 * 0.125 - n as f32 * 3.0,
        };
        let values: Vec<f32> = (0..lines * count).map(value).collect();
        let x = Tensor::from_vec(sorted.clone(), [lines, width]).unwrap();
        let y = Tensor::from_vec(values.clone(), [lines, count]).unwrap();
        for right in [false, true] {
            let position = |row: &[f32], v: f32| match v.is_nan() {
                true => width as i64,
                false => row.iter().filter(|&&k| k < v || right && k == v).count() as i64,
            };
            let rows = sorted.chunks_exact(width).zip(values.chunks_exact(count));
            let want: Vec<i64> = rows
                .flat_map(|(row, values)| values.iter().map(|&v| position(row, v)))
                .collect();
            let in_first: Vec<i64> = values
                .iter()
                .map(|&v| position(&sorted[..width], v))
                .collect();
            let options = SearchSortedOptions::new().right(right);
            for threads in [1, 2, 5] {
                set_num_threads(threads);
                let got = x.searchsorted_with(&y, options).unwrap();
                assert!(got.to_vec::<i64>().unwrap() == want, "{right} {threads}");
                let got = x
                    .select(0, 0)
                    .unwrap()
                    .searchsorted_with(&y, options)
                    .unwrap();
                assert!(
                    got.to_vec::<i64>().unwrap() == in_first,
                    "{right} {threads}"
                );
            }
        }
    }
}
