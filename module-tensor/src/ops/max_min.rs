//! `max`, `min`, `amax`, `amin`, `argmax` and `argmin`.

use super::reduce_dim::ReduceDim;
use crate::backend::{ArgReduceOp, ReduceOp};
use crate::layout::{Dim, Dims};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result, Shape};

impl Tensor {
    /// The maxima along `dim`, the first if there are several, and their indices as `I64`; with `..`, the maximum of all
    /// elements, without an index. NaN is greater than any number.
    ///
    /// The gradient goes to the elements at these indices; with `..`, like that of [`amax`](Self::amax), equal elements
    /// share it.
    ///
    /// # Errors
    ///
    /// Those of [`argmax`](Self::argmax).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 3.0], [5.0, 4.0, 0.0]]);
    /// let (values, indices) = x.max(1)?;
    /// assert_eq!(values.to_vec::<f32>()?, [3.0, 5.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 0]);
    /// assert_eq!(x.max(..)?.item::<f32>()?, 5.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max<D: ReduceDim>(&self, dim: D) -> Result<D::Output> {
        dim.reduce(
            |dim| self.extreme_along("max", ArgReduceOp::Max, dim, false),
            || self.extreme_over("max", ReduceOp::Max, &Dims::All, false),
        )
    }

    /// [`max`](Self::max), with `dim` kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`max`](Self::max).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 2.0], [5.0, 4.0, 0.0]]);
    /// let (values, indices) = x.max_keepdim(1)?;
    /// assert_eq!(values.shape().to_string(), "[2, 1]");
    /// assert_eq!(indices.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max_keepdim(&self, dim: isize) -> Result<(Self, Self)> {
        self.extreme_along("max", ArgReduceOp::Max, dim, true)
    }

    /// The minima along `dim`, the first if there are several, and their indices as `I64`; with `..`, the minimum of all
    /// elements, without an index. NaN is smaller than any number.
    ///
    /// The gradient goes to the elements at these indices; with `..`, like that of [`amin`](Self::amin), equal elements
    /// share it.
    ///
    /// # Errors
    ///
    /// Those of [`argmin`](Self::argmin).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 3.0], [5.0, 4.0, 0.0]]);
    /// let (values, indices) = x.min(1)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 0.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 2]);
    /// assert_eq!(x.min(..)?.item::<f32>()?, 0.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn min<D: ReduceDim>(&self, dim: D) -> Result<D::Output> {
        dim.reduce(
            |dim| self.extreme_along("min", ArgReduceOp::Min, dim, false),
            || self.extreme_over("min", ReduceOp::Min, &Dims::All, false),
        )
    }

    /// [`min`](Self::min), with `dim` kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`min`](Self::min).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 2.0], [5.0, 4.0, 0.0]]);
    /// let (values, indices) = x.min_keepdim(1)?;
    /// assert_eq!(values.shape().to_string(), "[2, 1]");
    /// assert_eq!(indices.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn min_keepdim(&self, dim: isize) -> Result<(Self, Self)> {
        self.extreme_along("min", ArgReduceOp::Min, dim, true)
    }

    fn extreme_along(
        &self,
        name: &'static str,
        op: ArgReduceOp,
        dim: isize,
        keepdim: bool,
    ) -> Result<(Self, Self)> {
        if self.dtype() == DType::Bool {
            let numbers = self.to_dtype(DType::U8)?;
            let (values, indices) = numbers.extreme_along(name, op, dim, keepdim)?;
            return Ok((values.to_dtype(DType::Bool)?, indices));
        }
        let indices = self.arg_extreme(name, op, dim.into(), true)?;
        if self.rank() == 0 {
            return Ok((self.alias(), indices));
        }
        let values = self.gather(dim, &indices)?;
        if keepdim {
            return Ok((values, indices));
        }
        Ok((values.squeeze(dim)?, indices.squeeze(dim)?))
    }

    /// The maximum over `dims` (`..` for all); NaN if any element is NaN. For booleans, true is the greater.
    ///
    /// Elements that share the extreme share its gradient.
    ///
    /// # Errors
    ///
    /// Those of [`sum`](Self::sum), and a dimension without elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.amax(..)?.item::<i64>()?, 4);
    /// assert_eq!(x.amax(0)?.to_vec::<i64>()?, [3, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn amax(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.extreme_over("amax", ReduceOp::Max, &dims.into(), false)
    }

    /// [`amax`](Self::amax), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`amax`](Self::amax).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 2.0], [5.0, 4.0, 0.0]]);
    /// assert_eq!(x.amax_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn amax_keepdim(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.extreme_over("amax", ReduceOp::Max, &dims.into(), true)
    }

    /// The minimum over `dims` (`..` for all); NaN if any element is NaN. For booleans, false is the smaller.
    ///
    /// Elements that share the extreme share its gradient.
    ///
    /// # Errors
    ///
    /// Those of [`amax`](Self::amax).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.amin_keepdim(1)?.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn amin(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.extreme_over("amin", ReduceOp::Min, &dims.into(), false)
    }

    /// [`amin`](Self::amin), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`amin`](Self::amin).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 2.0], [5.0, 4.0, 0.0]]);
    /// assert_eq!(x.amin_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn amin_keepdim(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.extreme_over("amin", ReduceOp::Min, &dims.into(), true)
    }

    pub(super) fn extreme_over(
        &self,
        name: &'static str,
        op: ReduceOp,
        dims: &Dims,
        keepdim: bool,
    ) -> Result<Self> {
        let dims = self.shape().dims(name, dims)?;
        if dims.iter().any(|&dim| self.shape()[dim] == 0) {
            return Err(self
                .shape()
                .error(name, "at least one element in the reduced dimensions"));
        }
        if self.dtype() == DType::Bool {
            return match op {
                ReduceOp::Min => self.all_over(&Dims::from(&dims), keepdim),
                _ => self.any_over(&Dims::from(&dims), keepdim),
            };
        }
        let storage = self
            .device()
            .backend()
            .reduce(op, self.plain(name)?, &dims)?;
        let kept = self.shape().reduced(&dims, true);
        let out = Self::fresh(storage, self.shape().reduced(&dims, keepdim));
        Ok(out.record([self], |y| ReducedExtremum {
            name,
            x: self.detach(),
            y: y.clone(),
            dims: dims.to_vec(),
            kept,
        }))
    }

    /// The index of the maximum along `dim`, or with `..` in row-major order, the first if there are several, as `I64`.
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
    /// let x = Tensor::from([[1.0_f32, 3.0, 3.0], [5.0, 4.0, 0.0]]);
    /// assert_eq!(x.argmax(1)?.to_vec::<i64>()?, [1, 0]);
    /// assert_eq!(x.argmax(..)?.item::<i64>()?, 3);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn argmax(&self, dim: impl Into<Dim>) -> Result<Self> {
        self.arg_extreme("argmax", ArgReduceOp::Max, dim.into(), false)
    }

    /// [`argmax`](Self::argmax), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`argmax`](Self::argmax).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 2.0], [5.0, 4.0, 0.0]]);
    /// assert_eq!(x.argmax_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn argmax_keepdim(&self, dim: impl Into<Dim>) -> Result<Self> {
        self.arg_extreme("argmax", ArgReduceOp::Max, dim.into(), true)
    }

    /// The index of the minimum along `dim`, or with `..` in row-major order, the first if there are several, as `I64`.
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
    /// let x = Tensor::from([[1.0_f32, 3.0, 3.0], [5.0, 4.0, 0.0]]);
    /// assert_eq!(x.argmin(1)?.to_vec::<i64>()?, [0, 2]);
    /// assert_eq!(x.argmin(..)?.item::<i64>()?, 5);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn argmin(&self, dim: impl Into<Dim>) -> Result<Self> {
        self.arg_extreme("argmin", ArgReduceOp::Min, dim.into(), false)
    }

    /// [`argmin`](Self::argmin), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`argmin`](Self::argmin).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 2.0], [5.0, 4.0, 0.0]]);
    /// assert_eq!(x.argmin_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn argmin_keepdim(&self, dim: impl Into<Dim>) -> Result<Self> {
        self.arg_extreme("argmin", ArgReduceOp::Min, dim.into(), true)
    }

    fn arg_extreme(
        &self,
        name: &'static str,
        op: ArgReduceOp,
        dim: Dim,
        keepdim: bool,
    ) -> Result<Self> {
        let dim = match dim {
            Dim::One(dim) => self.shape().dim(name, dim)?,
            Dim::All => {
                let all = self.reshape(-1)?;
                let index = all.arg_extreme(name, op, Dim::One(0), false)?;
                let every: Vec<usize> = (0..self.rank()).collect();
                return index.reshape(self.shape().reduced(&every, keepdim));
            }
        };
        if self.rank() == 0 {
            return Self::zeros((), (DType::I64, &self.device()));
        }
        if self.shape()[dim] == 0 {
            return Err(self
                .shape()
                .error(name, "at least one element in the reduced dimension"));
        }
        let storage = self
            .device()
            .backend()
            .arg_reduce(op, self.plain(name)?, dim)?;
        Ok(Self::fresh(storage, self.shape().reduced(&[dim], keepdim)))
    }
}

/// The gradient of a value that is one of the elements, shared by all equal elements.
pub(super) struct ReducedExtremum {
    pub(super) name: &'static str,
    pub(super) x: Tensor,
    pub(super) y: Tensor,
    pub(super) dims: Vec<usize>,
    pub(super) kept: Shape,
}

impl Function for ReducedExtremum {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        // If there is a NaN, it is the result, and no element equals the result.
        let dtype = ctx.grad().dtype();
        let equal = self.x.eq(&self.y.reshape_to(&self.kept)?)?;
        let chosen = equal.logical_or(&self.x.isnan()?)?.to_dtype(dtype)?;
        let count = chosen.sum_keepdim(self.dims.as_slice())?;
        let share = ctx.grad().reshape_to(&self.kept)?.div(&count)?;
        one((chosen * share)?)
    }
}
