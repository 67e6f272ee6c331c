//! Tensors as indices: `index_put`, `masked_scatter`, `index_fill`, `index_copy`.

use super::{AutocastPolicy, IndexItem, IntoIndex, Value};
use crate::backend::check_host_allocatable;
use crate::tensor::Tensor;
use crate::{DType, DTypeError, Error, Result, Shape, ShapeError};

const NAME: &str = "index";

impl Tensor {
    /// Appends the index lists that a tensor index expands to; returns the tensor with one dimension per list.
    pub(super) fn with_list(&self, lists: &mut Vec<Option<Self>>, index: &Self) -> Result<Self> {
        self.check_device(NAME, index)?;
        let dim = lists.len();
        match (index.dtype(), index.rank()) {
            (DType::I64 | DType::I32, 0) => {
                let at = index.to_dtype(DType::I64)?.item::<i64>()?;
                // Numbers beyond `isize` are out of range for every dimension, as is the nearest `isize`.
                let at = isize::try_from(at).unwrap_or(isize::MAX);
                return self.select(dim as isize, at);
            }
            (DType::I64 | DType::I32, _) => lists.push(Some(index.to_dtype(DType::I64)?)),
            (DType::Bool, 0) => {
                let chosen = i64::from(index.item::<bool>()?);
                lists.push(Some(Self::zeros(
                    [chosen as usize],
                    (DType::I64, &self.device()),
                )?));
                return self.unsqueeze(dim as isize);
            }
            (DType::Bool, rank) => {
                let sizes = self.shape().get(dim..dim + rank);
                if sizes != Some(&**index.shape()) {
                    let (lhs, rhs) = (self.shape().clone(), index.shape().clone());
                    let rule = format!("a mask has the sizes of the dimensions from {dim} on");
                    let op = NAME;
                    return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
                }
                lists.extend(index.nonzero()?.unbind(1)?.into_iter().map(Some));
            }
            (dtype, _) => {
                let (op, needs) = (NAME, "an int64, int32 or bool tensor as an index");
                return Err(DTypeError::Unsupported { op, dtype, needs }.into());
            }
        }
        Ok(self.clone())
    }

    /// The elements at lists of indices, one list or none for each dimension.
    ///
    /// The dimensions with lists are merged into one, of which slices are selected.
    pub(super) fn at_lists(&self, lists: &[Option<Self>]) -> Result<Self> {
        let mut common = Shape::from(());
        for list in lists.iter().flatten() {
            common = common.broadcast(NAME, list.shape())?;
        }
        let (listed, rest): (Vec<usize>, Vec<usize>) =
            (0..self.rank()).partition(|&dim| lists[dim].is_some());
        let adjacent = listed.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let (x, first) = match listed.first() {
            Some(&first) if adjacent => (self.clone(), first),
            _ => {
                let order = listed.iter().chain(&rest).map(|&dim| dim as isize);
                (self.permute(order.collect::<Vec<_>>())?, 0)
            }
        };
        let mut flat_indices = vec![0_i64; check_allocatable_shape(&common)?];
        for (list, &dim) in lists.iter().flatten().zip(&listed) {
            let size = self.shape()[dim];
            let list = list.expand(&common)?.to_vec::<i64>()?;
            for (flat, index) in flat_indices.iter_mut().zip(list) {
                *flat = flat.wrapping_mul(size as i64) + resolve_index(NAME, index, size)? as i64;
            }
        }
        let flat_indices =
            Self::from_vec(flat_indices, common.numel())?.to_device(&self.device())?;
        let (before, after) = (&x.shape()[..first], &x.shape()[first + listed.len()..]);
        let sizes: Shape = listed.iter().map(|&dim| self.shape()[dim]).collect();
        let joined = sizes.checked_numel(NAME, 1)?;
        let around = |between: &[usize]| -> Shape {
            let sizes = before.iter().chain(between).chain(after);
            sizes.copied().collect()
        };
        let out = around(&common);
        out.checked_numel(NAME, self.dtype().size_in_bytes())?;
        x.reshape_to(&around(&[joined]))?
            .index_select(first as isize, &flat_indices)?
            .reshape_to(&out)
    }

    /// A copy of this tensor with `values` at an [index](Self::i): Python's `x[…] = values` and
    /// `x.index_put(indices, values)`, where PyTorch accepts only tensors.
    ///
    /// Values are a tensor that broadcasts to the selection, or a number. If an index names an element twice, the last
    /// value stays, and each value gets the gradient of its element.
    ///
    /// # Errors
    ///
    /// Those of [`i`](Self::i), values that do not broadcast or have another dtype.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[0_i64, 0, 0], [5, 5, 5]]);
    /// let y = x.index_put((.., &Tensor::from([0_i64, 2])), &Tensor::from([1_i64, 2]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [1, 0, 2, 1, 5, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn index_put<'a>(
        &self,
        index: impl IntoIndex,
        values: impl Into<Value<'a>>,
    ) -> Result<Self> {
        self.put_at(&index.into_items(), values.into(), false)
    }

    /// A copy of this tensor with `values` added at an [index](Self::i), each as often as the index names its element:
    /// `x.index_put(indices, values, accumulate=True)`.
    ///
    /// # Errors
    ///
    /// Those of [`index_put`](Self::index_put).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[0_i64, 0, 0], [5, 5, 5]]);
    /// let y = x.index_put_accumulate((0, &Tensor::from([1_i64, 1])), 3)?;
    /// assert_eq!(y.to_vec::<i64>()?, [0, 6, 0, 5, 5, 5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn index_put_accumulate<'a>(
        &self,
        index: impl IntoIndex,
        values: impl Into<Value<'a>>,
    ) -> Result<Self> {
        self.put_at(&index.into_items(), values.into(), true)
    }

    /// [`index_put`](Self::index_put), compiled once.
    fn put_at(&self, items: &[IndexItem], values: Value<'_>, accumulate: bool) -> Result<Self> {
        const NAME: &str = "index_put";
        let values = values.like(NAME, self)?;
        check_allocatable_shape(self.shape())?;
        let numel = self.numel();
        let all = Self::arange(0, numel as i64, ())?.to_device(&self.device())?;
        let flat_indices = all.reshape_to(self.shape())?.index_by(items)?;
        let common = flat_indices.shape().broadcast(NAME, values.shape());
        if !common.is_ok_and(|shape| shape == *flat_indices.shape()) {
            let (lhs, rhs) = (flat_indices.shape().clone(), values.shape().clone());
            let rule = "the values must broadcast to what the index selects".to_owned();
            let op = NAME;
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        let count = Shape::from(flat_indices.numel());
        let values = values.expand(flat_indices.shape())?.reshape_to(&count)?;
        let (x, flat_indices) = (
            self.reshape_to(&numel.into())?,
            flat_indices.reshape_to(&count)?,
        );
        let out = if accumulate {
            x.scatter_add(0, &flat_indices, &values)?
        } else {
            x.scatter(0, &flat_indices, &values)?
        };
        out.reshape_to(self.shape())
    }

    /// A copy of this tensor with the elements of `source`, in row-major order, written where `mask` is true; tensor and
    /// mask are broadcast together.
    ///
    /// # Errors
    ///
    /// A mask that is not `Bool` or does not broadcast, a source of another dtype or with fewer elements than the mask
    /// selects.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2, 3]);
    /// let mask = Tensor::from([true, false, true]);
    /// let y = x.masked_scatter(&mask, &Tensor::from([7_i64, 8, 9]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [7, 2, 8]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn masked_scatter(&self, mask: &Self, source: &Self) -> Result<Self> {
        const NAME: &str = "masked_scatter";
        self.check_same(NAME, source)?;
        let shape = self.check_mask(NAME, mask)?;
        let numel = Shape::from(check_allocatable_shape(&shape)?);
        let flat_indices = mask.expand(&shape)?.reshape_to(&numel)?.nonzero()?;
        let count = flat_indices.numel();
        if source.numel() < count {
            let (lhs, rhs) = (shape, source.shape().clone());
            let rule =
                format!("the source must have {count} elements, one for each true of the mask");
            let op = NAME;
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        let source = source
            .reshape_to(&source.numel().into())?
            .narrow(0, 0..count)?;
        let x = self.expand(&shape)?.reshape_to(&numel)?;
        x.scatter(0, &flat_indices.reshape_to(&count.into())?, &source)?
            .reshape_to(&shape)
    }

    /// A copy of this tensor with `value` in the slices of dimension `dim` that a list of indices selects; negative ones
    /// count from the end.
    ///
    /// The value is a number or a tensor without dimensions.
    ///
    /// # Errors
    ///
    /// An index that is not `I64` or `I32` with at most one dimension, or out of range; a value with dimensions, of another
    /// dtype, or that the dtype would truncate.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
    /// let y = x.index_fill(1, &Tensor::from([0_i64, -1]), 9)?;
    /// assert_eq!(y.to_vec::<i64>()?, [9, 2, 9, 9, 5, 9]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn index_fill<'a>(
        &self,
        dim: isize,
        index: &Self,
        value: impl Into<Value<'a>>,
    ) -> Result<Self> {
        self.index_fill_value(dim, index, value.into())
    }

    fn index_fill_value(&self, dim: isize, index: &Self, value: Value<'_>) -> Result<Self> {
        const NAME: &str = "index_fill";
        let value = value.fit_to(NAME, self)?;
        if let Some(value) = value.tensor().filter(|value| value.rank() > 0) {
            return Err(value.shape().error(NAME, "a value without dimensions"));
        }
        let (x, index) = (self.as_vector()?, index.as_vector()?);
        let (dim, index, _) = x.resolve_index_list(NAME, dim, &index)?;
        let size = x.shape()[dim];
        check_host_allocatable::<bool>(size)?;
        let mut chosen = vec![false; size];
        for index in index.to_vec::<i64>()? {
            chosen[resolve_index(NAME, index, size)?] = true;
        }
        let shape: Shape = (0..x.rank())
            .map(|d| if d == dim { size } else { 1 })
            .collect();
        let mask = Self::from_vec(chosen, shape)?.to_device(&self.device())?;
        mask.where_(value, &x)?.reshape_to(self.shape())
    }

    /// A copy of this tensor with the slices of `source` replacing those of dimension `dim` that a list of indices selects.
    ///
    /// If an index occurs twice, the last slice stays, and both get its gradient, as in PyTorch. A zero-dimensional tensor
    /// counts as a vector of one element.
    ///
    /// # Errors
    ///
    /// An index that is not `I64` or `I32` with at most one dimension, or out of range; a source whose shape differs from
    /// the selection, or of another dtype.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4], [5, 6]]);
    /// let y = x.index_copy(0, &Tensor::from([2_i64, 0]), &Tensor::from([[7_i64, 7], [8, 8]]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [8, 8, 3, 4, 7, 7]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn index_copy(&self, dim: isize, index: &Self, source: &Self) -> Result<Self> {
        const NAME: &str = "index_copy";
        if let Some(out) = AutocastPolicy::Promote.apply([self, source], [], |[x, source], []| {
            x.index_copy(dim, index, source)
        }) {
            return out;
        }
        self.check_same(NAME, source)?;
        let (x, index, source) = (self.as_vector()?, index.as_vector()?, source.as_vector()?);
        let (dim, index, shape) = x.resolve_index_list(NAME, dim, &index)?;
        if *source.shape() != shape {
            let (lhs, rhs) = (shape, source.shape().clone());
            let rule = "the source must have the shape of the selection".to_owned();
            let op = NAME;
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        let size = x.shape()[dim];
        if let Some(index) = index
            .to_vec::<i64>()?
            .into_iter()
            .find(|&i| !is_in_range(i, size))
        {
            let op = NAME;
            return Err(ShapeError::Index { op, index, size }.into());
        }
        let count = index.numel();
        let along: Shape = (0..x.rank())
            .map(|d| if d == dim { count } else { 1 })
            .collect();
        let index = index.reshape_to(&along)?.expand(&shape)?;
        x.scatter(dim as isize, &index, &source)?
            .reshape_to(self.shape())
    }
}

/// The number of elements of a shape, after checking that they fit in memory.
fn check_allocatable_shape(shape: &Shape) -> Result<usize> {
    let count = shape.checked_numel(NAME, size_of::<i64>())?;
    check_host_allocatable::<i64>(count)?;
    Ok(count)
}

fn is_in_range(index: i64, size: usize) -> bool {
    usize::try_from(index).is_ok_and(|index| index < size)
}

/// Converts an index into a dimension, which counts from the end if negative.
fn resolve_index(op: &'static str, index: i64, size: usize) -> Result<usize> {
    // A size fits `isize`.
    let resolved = if index < 0 {
        index.checked_add(size as i64)
    } else {
        Some(index)
    };
    let resolved = resolved.and_then(|resolved| usize::try_from(resolved).ok());
    let outside = || Error::from(ShapeError::Index { op, index, size });
    resolved
        .filter(|&resolved| resolved < size)
        .ok_or_else(outside)
}
