//! `unique` and `unique_consecutive`.

use super::sorted_keys::{ends, sorted_keys};
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
    /// Slices are in lexicographic order. NaN is greater than any number and equals nothing, so each one is kept. There
    /// is no gradient: `backward` through the values is an error, as in PyTorch.
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
            let (low, high) = ends(&keys);
            let few = (high.wrapping_sub(low) as u64) < keys.len() as u64;
            if few && !is_nan(&high) {
                groups = Groups::by_table(&keys, low, high);
            } else {
                let mut last = None;
                for (key, i) in sorted_keys(&keys) {
                    groups.push(i, last == Some(key) && !is_nan(&key));
                    last = Some(key);
                }
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

/// The slices with one key: their number, the first of them, and their group.
#[derive(Clone, Copy, Default)]
struct Entry {
    count: i64,
    first: i64,
    group: i64,
}

impl Groups {
    fn new(slices: usize) -> Self {
        Self {
            firsts: Vec::new(),
            counts: Vec::new(),
            inverse: vec![0; slices],
        }
    }

    /// The groups of equal keys in ascending order, in a table with an entry for each key from `low` to `high`.
    fn by_table(keys: &[i64], low: i64, high: i64) -> Self {
        let entry = |key: i64| key.wrapping_sub(low) as u64 as usize;
        let mut table = vec![Entry::default(); entry(high) + 1];
        // From the last to the first, which is then what is left.
        for (slice, &key) in keys.iter().enumerate().rev() {
            let entry = &mut table[entry(key)];
            entry.count += 1;
            entry.first = slice as i64;
        }
        let mut groups = Self::new(0);
        for entry in table.iter_mut().filter(|entry| entry.count > 0) {
            entry.group = groups.counts.len() as i64;
            groups.firsts.push(entry.first);
            groups.counts.push(entry.count);
        }
        groups.inverse = keys.iter().map(|&key| table[entry(key)].group).collect();
        groups
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Unique;
    use crate::{DType, Tensor};

    #[test]
    fn numbers_are_grouped_with_and_without_a_table() {
        let len = if cfg!(miri) { 40 } else { 3000 };
        // Close together, at the ends of the range, and far apart.
        let kinds: [fn(i64) -> i64; 5] = [
            |i| i * i % 37 - 18,
            |_| 5,
            |i| i64::MAX - i % 7,
            |i| i64::MIN + i % 7,
            |i| (i * i % 91) << 40,
        ];
        for number in kinds {
            for len in [1, 2, len] {
                let values: Vec<i64> = (0..len).map(number).collect();
                let mut counted: BTreeMap<i64, i64> = BTreeMap::new();
                for &v in &values {
                    *counted.entry(v).or_default() += 1;
                }
                let keys: Vec<i64> = counted.keys().copied().collect();
                let position = |v: &i64| keys.iter().position(|key| key == v).unwrap() as i64;
                let x = Tensor::from_vec(values.clone(), [len as usize]).unwrap();
                let Unique {
                    values: found,
                    inverse,
                    counts,
                } = x.unique(..).unwrap();
                assert_eq!(found.to_vec::<i64>().unwrap(), keys);
                let want: Vec<i64> = values.iter().map(position).collect();
                assert_eq!(inverse.to_vec::<i64>().unwrap(), want);
                let want: Vec<i64> = counted.into_values().collect();
                assert_eq!(counts.to_vec::<i64>().unwrap(), want);
            }
        }
    }

    #[test]
    fn each_nan_is_a_group_of_its_own() {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
            for numbers in [
                vec![f64::NAN; 4],
                vec![2.0, f64::NAN, -0.0, 0.0, f64::NAN, -1.0],
            ] {
                let nans = numbers.iter().filter(|v| v.is_nan()).count();
                let x = Tensor::from_vec(numbers.clone(), [numbers.len()]).unwrap();
                let found = x.to_dtype(dtype).unwrap().unique(..).unwrap();
                let values = found
                    .values
                    .to_dtype(DType::F64)
                    .unwrap()
                    .to_vec::<f64>()
                    .unwrap();
                let (numbers, rest) = values.split_at(values.len() - nans);
                assert!(rest.iter().all(|v| v.is_nan()), "{values:?}");
                let want: &[f64] = if nans == 4 { &[] } else { &[-1.0, 0.0, 2.0] };
                assert_eq!(numbers, want, "{dtype}");
            }
        }
    }

    #[test]
    fn the_first_of_equal_numbers_is_the_value() {
        for numbers in [[-0.0_f32, 0.0, 0.0], [0.0, -0.0, 0.0]] {
            let found = Tensor::from(numbers).unique(..).unwrap().values;
            let bits: Vec<u32> = found
                .to_vec::<f32>()
                .unwrap()
                .iter()
                .map(|v| v.to_bits())
                .collect();
            assert_eq!(bits, [numbers[0].to_bits()]);
        }
    }
}
