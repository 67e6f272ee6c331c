//! `sort`, `argsort`, `topk`, `kthvalue` and `median`. NaN is greater than any number, and equal elements
//! keep their order.

use super::max_min::ReducedExtremum;
use super::reduce_dim::ReduceDim;
use crate::tensor::Tensor;
use crate::{DType, Error, Result};

impl Tensor {
    /// The elements along `dim` in ascending order, and their indices as `I64`.
    ///
    /// The sort is always stable, like `torch.sort(…, stable=True)`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (values, indices) = Tensor::from([2.0_f32, 3.0, 1.0, 2.0]).sort(0)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 2.0, 2.0, 3.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [2, 0, 3, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sort(&self, dim: isize) -> Result<(Self, Self)> {
        self.first_of("sort", None, dim, false)
    }

    /// [`sort`](Self::sort) in descending order; equal elements keep their order.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (values, indices) = Tensor::from([2.0_f32, 3.0, 2.0]).sort_descending(0)?;
    /// assert_eq!(values.to_vec::<f32>()?, [3.0, 2.0, 2.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 0, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sort_descending(&self, dim: isize) -> Result<(Self, Self)> {
        self.first_of("sort", None, dim, true)
    }

    /// The indices that [`sort`](Self::sort) returns.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([2_i64, 3, 1]);
    /// assert_eq!(x.argsort(0)?.to_vec::<i64>()?, [2, 0, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn argsort(&self, dim: isize) -> Result<Self> {
        Ok(self.detach().first_of("argsort", None, dim, false)?.1)
    }

    /// The indices that [`sort_descending`](Self::sort_descending) returns.
    ///
    /// # Errors
    ///
    /// Those of [`sort`](Self::sort).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([2_i64, 3, 1]);
    /// assert_eq!(x.argsort_descending(0)?.to_vec::<i64>()?, [1, 0, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn argsort_descending(&self, dim: isize) -> Result<Self> {
        Ok(self.detach().first_of("argsort", None, dim, true)?.1)
    }

    /// The `k` largest elements along `dim` in descending order, and their indices as `I64`.
    ///
    /// Of equal elements the first ones are taken; PyTorch may take any.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or has fewer than `k` elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (values, indices) = Tensor::from([2.0_f32, 3.0, 1.0]).topk(2, 0)?;
    /// assert_eq!(values.to_vec::<f32>()?, [3.0, 2.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn topk(&self, k: usize, dim: isize) -> Result<(Self, Self)> {
        self.first_of("topk", Some(k), dim, true)
    }

    /// The `k` smallest elements along `dim` in ascending order, and their indices as `I64`:
    /// `torch.topk(…, largest=False)`.
    ///
    /// # Errors
    ///
    /// Those of [`topk`](Self::topk).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (values, indices) = Tensor::from([2.0_f32, 3.0, 1.0]).topk_smallest(2, 0)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 2.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [2, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn topk_smallest(&self, k: usize, dim: isize) -> Result<(Self, Self)> {
        self.first_of("topk", Some(k), dim, false)
    }

    /// The `k`-th smallest element along `dim`, counted from 1, and its index as `I64`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a `k` of 0 or more than its elements.
    ///
    /// A dimension that is out of range, a `k` of 0 or more than its size.
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (value, index) = Tensor::from([2_i64, 3, 1]).kthvalue(2, 0)?;
    /// assert_eq!((value.item::<i64>()?, index.item::<i64>()?), (2, 0));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn kthvalue(&self, k: usize, dim: isize) -> Result<(Self, Self)> {
        self.kthvalue_over(k, dim, false)
    }

    /// [`kthvalue`](Self::kthvalue), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`kthvalue`](Self::kthvalue).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// let (value, index) = x.kthvalue_keepdim(2, 1)?;
    /// assert_eq!(value.shape().to_string(), "[2, 1]");
    /// assert_eq!(index.to_vec::<i64>()?, [1, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn kthvalue_keepdim(&self, k: usize, dim: isize) -> Result<(Self, Self)> {
        self.kthvalue_over(k, dim, true)
    }

    pub(super) fn kthvalue_over(
        &self,
        k: usize,
        dim: isize,
        keepdim: bool,
    ) -> Result<(Self, Self)> {
        const NAME: &str = "kthvalue";
        if k == 0 {
            return Err(Error::argument(NAME, "k", k, "is counted from 1"));
        }
        let (values, indices) = self.first_of(NAME, Some(k), dim, false)?;
        let last = |x: Self| match self.rank() {
            0 => Ok(x),
            _ if keepdim => x.narrow(dim, k - 1..k),
            _ => x.select(dim, k as isize - 1),
        };
        Ok((last(values)?, last(indices)?))
    }

    /// The median along `dim`, the lower of two, and its index as `I64`; with `..`, that of all elements, without an index.
    /// NaN if any element is NaN.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or has no elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[4_i64, 2], [3, 1]]);
    /// let (values, indices) = x.median(1)?;
    /// assert_eq!(values.to_vec::<i64>()?, [2, 1]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 1]);
    /// assert_eq!(x.median(..)?.item::<i64>()?, 2);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn median<D: ReduceDim>(&self, dim: D) -> Result<D::Output> {
        dim.reduce(|dim| self.median_along(dim, false), || self.median_of_all())
    }

    /// [`median`](Self::median), with `dim` kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`median`](Self::median).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (values, _) = Tensor::from([[4_i64, 2], [3, 1]]).median_keepdim(1)?;
    /// assert_eq!(values.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn median_keepdim(&self, dim: isize) -> Result<(Self, Self)> {
        self.median_along(dim, true)
    }

    /// The median of all elements, whose gradient is shared by elements that equal it.
    fn median_of_all(&self) -> Result<Self> {
        let (value, _) = self.detach().reshape(-1)?.median_along(0, false)?;
        Ok(value.record([self], |y| ReducedExtremum {
            name: "median",
            x: self.detach(),
            y: y.clone(),
            dims: (0..self.rank()).collect(),
            kept: vec![1; self.rank()].into(),
        }))
    }

    fn median_along(&self, dim: isize, keepdim: bool) -> Result<(Self, Self)> {
        const NAME: &str = "median";
        let d = self.shape().dim(NAME, dim)?;
        let size = self.shape().get(d).copied().unwrap_or(1);
        if size == 0 {
            let problem = "at least one element in the reduced dimension";
            return Err(self.shape().error(NAME, problem));
        }
        if self.rank() == 0 {
            return self.kthvalue_over(1, dim, keepdim);
        }
        let (_, mut indices) = self.detach().kthvalue_keepdim(size.div_ceil(2), dim)?;
        if self.dtype().is_floating_point() {
            // The first NaN is the greatest element.
            let nan = self.detach().isnan()?.any_keepdim(dim)?;
            indices = nan.where_(&self.argmax_keepdim(dim)?, &indices)?;
        }
        let values = self.gather(dim, &indices)?;
        if keepdim {
            return Ok((values, indices));
        }
        Ok((values.squeeze(dim)?, indices.squeeze(dim)?))
    }

    /// The first `count` elements along `dim`, or all, and their indices.
    fn first_of(
        &self,
        name: &'static str,
        count: Option<usize>,
        dim: isize,
        descending: bool,
    ) -> Result<(Self, Self)> {
        let dim = self.shape().dim(name, dim)?;
        let size = self.shape().get(dim).copied().unwrap_or(1);
        let count = count.unwrap_or(size);
        if count > size {
            let problem = format!("is more than the {size} elements of the dimension");
            return Err(Error::argument(name, "k", count, problem));
        }
        if self.rank() == 0 {
            if count == 0 {
                let problem = "must be 1 for a tensor without dimensions";
                return Err(Error::argument(name, "k", count, problem));
            }
            return Ok((self.alias(), Self::zeros((), (DType::I64, &self.device()))?));
        }
        let rows = self.movedim(dim, -1)?;
        let mut sizes = rows.shape().to_vec();
        if let Some(last) = sizes.last_mut() {
            *last = count;
        }
        let backend = self.device().backend();
        let storage = backend.argsort(rows.plain(name)?, count, descending)?;
        let indices = Self::fresh(storage, sizes.into());
        let values = rows.gather(-1, &indices)?;
        Ok((values.movedim(-1, dim)?, indices.movedim(-1, dim)?))
    }
}
