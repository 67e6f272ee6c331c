//! `unique` and `unique_consecutive`.

use super::sorted_keys::sorted_keys;
use crate::layout::Dim;
use crate::tensor::{NoGradient, Tensor};
use crate::{Result, Shape};

/// The result of [`Tensor::unique`] and [`Tensor::unique_consecutive`].
#[derive(Clone, Debug)]
pub struct Unique {
    /// Each element, or slice, once.
    pub values: Tensor,
    /// For each element, or slice, of the input its index in `values`, as `I64`.
    pub inverse: Tensor,
    /// The number of occurrences of each of `values`, as `I64`.
    pub counts: Tensor,
}

impl Tensor {
    /// The elements, or the slices of a dimension, each once, in ascending order: what PyTorch's
    /// `torch.unique(x, sorted=True, return_inverse=True, return_counts=True, dim=dim)` returns.
    ///
    /// Slices are in lexicographic order. NaN is greater than any number and equals nothing, so each one is kept. There is
    /// no gradient: `backward` through the values is an error, as in PyTorch.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, slices without elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Tensor, Unique};
    ///
    /// let Unique { values, inverse, counts } = Tensor::from([3_i64, 1, 3]).unique(..)?;
    /// assert_eq!(values.to_vec::<i64>()?, [1, 3]);
    /// assert_eq!(inverse.to_vec::<i64>()?, [1, 0, 1]);
    /// assert_eq!(counts.to_vec::<i64>()?, [1, 2]);
    ///
    /// let rows = Tensor::from([[2_i64, 1], [0, 5], [2, 1]]).unique(0)?;
    /// assert_eq!(rows.values.to_vec::<i64>()?, [0, 5, 2, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn unique(&self, dim: impl Into<Dim>) -> Result<Unique> {
        self.find_unique("unique", dim.into(), true)
    }

    /// The elements in row-major order, or the slices of dimension `dim`, without those that equal the previous one:
    /// PyTorch's `torch.unique_consecutive`.
    ///
    /// There is no gradient, as for [`unique`](Self::unique).
    ///
    /// # Errors
    ///
    /// Those of [`unique`](Self::unique).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let found = Tensor::from([1_i64, 1, 2, 1]).unique_consecutive(..)?;
    /// assert_eq!(found.values.to_vec::<i64>()?, [1, 2, 1]);
    /// assert_eq!(found.counts.to_vec::<i64>()?, [2, 1, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn unique_consecutive(&self, dim: impl Into<Dim>) -> Result<Unique> {
        self.find_unique("unique_consecutive", dim.into(), false)
    }

    fn find_unique(&self, op: &'static str, dim: Dim, sorted: bool) -> Result<Unique> {
        let (x, whole) = (self.detach(), dim == Dim::All);
        let (rows, dim) = match dim {
            Dim::All => (x.reshape_to(&x.numel().into())?, 0),
            Dim::One(dim) => {
                let (dim_index, _) = x.dim_and_size(op, dim)?;
                (x.movedim(dim_index as isize, 0)?, dim_index)
            }
        };
        let (count, sizes) = (rows.shape()[0], &rows.shape()[1..]);
        // If there are no slices, their sizes may be arbitrarily large.
        let width = sizes
            .iter()
            .fold(1, |width: usize, &size| width.saturating_mul(size));
        if width == 0 {
            return Err(self.shape().error(op, "slices with elements"));
        }
        // Only a floating-point tensor has a NaN, which gets this key.
        let nan = x.dtype().is_floating_point().then_some(i64::MAX);
        let keys = rows.order_keys(op, i64::MAX)?;
        let row = |i: usize| &keys[i * width..(i + 1) * width];
        let is_nan = |&key: &i64| Some(key) == nan;
        let mut groups = Groups::new(count);
        if sorted && width == 1 {
            let mut last = None;
            for (key, i) in sorted_keys(&keys) {
                groups.push(i, last == Some(key) && !is_nan(&key));
                last = Some(key);
            }
        } else {
            let mut order: Vec<usize> = (0..count).collect();
            if sorted {
                order.sort_by(|&a, &b| row(a).cmp(row(b)));
            }
            let mut last = None;
            for i in order {
                let row = row(i);
                groups.push(i, last == Some(row) && !row.iter().any(is_nan));
                last = Some(row);
            }
        }
        let Groups {
            firsts,
            counts,
            inverse,
        } = groups;
        let (device, found) = (self.device(), firsts.len());
        let listed = |list: Vec<i64>, shape: Shape| Self::from_vec(list, shape)?.to_device(&device);
        let values = rows.index_select(0, &listed(firsts, found.into())?)?;
        let values = match rows.rank() {
            1 => values,
            _ => values.movedim(0, dim as isize)?.contiguous()?,
        };
        let shape_of_inverse = if whole {
            self.shape().clone()
        } else {
            count.into()
        };
        Ok(Unique {
            values: values.record([self], |_| NoGradient(op)),
            inverse: listed(inverse, shape_of_inverse)?,
            counts: listed(counts, found.into())?,
        })
    }
}

/// Equal slices, group by group.
struct Groups {
    /// The first slice of each group.
    firsts: Vec<i64>,
    /// The number of slices of each group.
    counts: Vec<i64>,
    /// The group of each slice.
    inverse: Vec<i64>,
}

impl Groups {
    fn new(slices: usize) -> Self {
        Self {
            firsts: Vec::new(),
            counts: Vec::new(),
            inverse: vec![0; slices],
        }
    }

    /// Adds a slice to the last group, or to a new one.
    fn push(&mut self, slice: usize, is_same: bool) {
        match self.counts.last_mut() {
            Some(count) if is_same => *count += 1,
            _ => {
                self.firsts.push(slice as i64);
                self.counts.push(1);
            }
        }
        self.inverse[slice] = self.counts.len() as i64 - 1;
    }
}
