//! Orders of elements. NaN is greater than any number, and equal elements keep their order.

use crate::tensor::Tensor;
use crate::{DType, Error, Result};

impl Tensor {
    /// The elements along `dim` in ascending or descending order, and their places as `I64`.
    ///
    /// It is always stable, as `torch.sort(…, stable=True)`.
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
    /// let (values, places) = Tensor::from([2.0_f32, 3.0, 1.0, 2.0]).sort(0, false)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 2.0, 2.0, 3.0]);
    /// assert_eq!(places.to_vec::<i64>()?, [2, 0, 3, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sort(&self, dim: isize, descending: bool) -> Result<(Self, Self)> {
        self.first_of("sort", None, dim, descending, true)
    }

    /// The places that [`sort`](Self::sort) gives.
    ///
    /// # Errors
    ///
    /// As [`sort`](Self::sort).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([2_i64, 3, 1]);
    /// assert_eq!(x.argsort(0, true)?.to_vec::<i64>()?, [1, 0, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn argsort(&self, dim: isize, descending: bool) -> Result<Self> {
        let (_, places) = self
            .detach()
            .first_of("argsort", None, dim, descending, true)?;
        Ok(places)
    }

    /// The `k` greatest elements along `dim`, or the smallest unless `largest`, and their places as
    /// `I64`; in order if `sorted`.
    ///
    /// Of equal elements the first are taken, where PyTorch takes any.
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
    /// let (values, places) = Tensor::from([2.0_f32, 3.0, 1.0]).topk(2, 0, true, true)?;
    /// assert_eq!(values.to_vec::<f32>()?, [3.0, 2.0]);
    /// assert_eq!(places.to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn topk(&self, k: usize, dim: isize, largest: bool, sorted: bool) -> Result<(Self, Self)> {
        self.first_of("topk", Some(k), dim, largest, sorted)
    }

    /// The `k`-th smallest element along `dim`, counted from 1, and its place as `I64`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a `k` of 0 or more than its elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (value, place) = Tensor::from([2_i64, 3, 1]).kthvalue(2, 0, false)?;
    /// assert_eq!((value.item::<i64>()?, place.item::<i64>()?), (2, 0));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn kthvalue(&self, k: usize, dim: isize, keepdim: bool) -> Result<(Self, Self)> {
        const NAME: &str = "kthvalue";
        if k == 0 {
            return Err(Error::argument(NAME, "k", k, "is counted from 1"));
        }
        let (values, places) = self.first_of(NAME, Some(k), dim, false, true)?;
        let last = |x: Self| match self.rank() {
            0 => Ok(x),
            _ if keepdim => x.narrow(dim, k - 1..k),
            _ => x.select(dim, k as isize - 1),
        };
        Ok((last(values)?, last(places)?))
    }

    /// The median along `dim`, the lower of two, and its place as `I64`; NaN if any element is.
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
    /// let (value, place) = Tensor::from([4_i64, 2, 3, 1]).median(0, false)?;
    /// assert_eq!((value.item::<i64>()?, place.item::<i64>()?), (2, 1));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn median(&self, dim: isize, keepdim: bool) -> Result<(Self, Self)> {
        const NAME: &str = "median";
        let d = self.shape().dim(NAME, dim)?;
        let size = self.shape().get(d).copied().unwrap_or(1);
        if size == 0 {
            let problem = "at least one element in the reduced dimension";
            return Err(self.shape().error(NAME, problem));
        }
        if self.rank() == 0 {
            return self.kthvalue(1, dim, keepdim);
        }
        let (_, mut places) = self.detach().kthvalue(size.div_ceil(2), dim, true)?;
        if self.dtype().is_floating_point() {
            // The first NaN is the greatest element.
            let nan = self.detach().isnan()?.any(dim, true)?;
            places = nan.where_(&self.argmax(dim, true)?, &places)?;
        }
        let values = self.gather(dim, &places)?;
        if keepdim {
            return Ok((values, places));
        }
        Ok((values.squeeze(dim)?, places.squeeze(dim)?))
    }

    /// The first `count` elements along `dim`, or all, and their places.
    fn first_of(
        &self,
        name: &'static str,
        count: Option<usize>,
        dim: isize,
        descending: bool,
        sorted: bool,
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
            return Ok((self.clone(), Self::zeros((), (DType::I64, &self.device()))?));
        }
        let rows = self.movedim(dim, -1)?;
        let mut sizes = rows.shape().to_vec();
        if let Some(last) = sizes.last_mut() {
            *last = count;
        }
        let backend = self.device().backend();
        let storage = backend.argsort(rows.plain(name)?, count, descending, sorted)?;
        let places = Self::fresh(storage, sizes.into());
        let values = rows.gather(-1, &places)?;
        Ok((values.movedim(-1, dim)?, places.movedim(-1, dim)?))
    }
}
