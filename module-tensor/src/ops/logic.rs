//! Logical operations, `isnan`, `isinf`, `isfinite`, `any`, `all` and masks.

use crate::layout::Dims;
use crate::tensor::Tensor;
use crate::{DType, DTypeError, Result, Scalar};

/// Logical operations return a `Bool` tensor, accept every dtype as `x ≠ 0`, broadcast, and have no gradient.
impl Tensor {
    /// Whether both are true, elementwise.
    ///
    /// # Errors
    ///
    /// Shapes that do not broadcast, different devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([true, true, false]);
    /// let y = Tensor::from([1_i64, 0, 1]);
    /// assert_eq!(x.logical_and(&y)?.to_vec::<bool>()?, [true, false, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn logical_and(&self, other: &Self) -> Result<Self> {
        let (a, b) = self.truths("logical_and", other)?;
        a.where_(&b, false)
    }

    /// Whether at least one is true, elementwise.
    ///
    /// # Errors
    ///
    /// Those of [`logical_and`](Self::logical_and).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([true, true, false]);
    /// let y = Tensor::from([true, false, false]);
    /// assert_eq!(x.logical_or(&y)?.to_vec::<bool>()?, [true, true, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn logical_or(&self, other: &Self) -> Result<Self> {
        let (a, b) = self.truths("logical_or", other)?;
        a.where_(true, &b)
    }

    /// Whether exactly one of the two is true, elementwise.
    ///
    /// # Errors
    ///
    /// Those of [`logical_and`](Self::logical_and).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([true, true, false]);
    /// let y = Tensor::from([true, false, false]);
    /// assert_eq!(x.logical_xor(&y)?.to_vec::<bool>()?, [false, true, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn logical_xor(&self, other: &Self) -> Result<Self> {
        let (a, b) = self.truths("logical_xor", other)?;
        a.ne(&b)
    }

    /// Whether the element is 0, elementwise.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, -1.0, f32::NAN]);
    /// assert_eq!(x.logical_not()?.to_vec::<bool>()?, [true, false, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn logical_not(&self) -> Result<Self> {
        self.eq(self.zero())
    }

    /// Whether the element is NaN, elementwise.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, f32::INFINITY, f32::NAN]);
    /// assert_eq!(x.isnan()?.to_vec::<bool>()?, [false, false, true]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn isnan(&self) -> Result<Self> {
        self.ne(self)
    }

    /// Whether the element is an infinity, elementwise.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, f32::NEG_INFINITY, f32::NAN]);
    /// assert_eq!(x.isinf()?.to_vec::<bool>()?, [false, true, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn isinf(&self) -> Result<Self> {
        if !self.dtype().is_floating_point() {
            return self.ne(self);
        }
        self.detach().abs()?.eq(f64::INFINITY)
    }

    /// Whether the element is neither an infinity nor NaN, elementwise.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, f32::NEG_INFINITY, f32::NAN]);
    /// assert_eq!(x.isfinite()?.to_vec::<bool>()?, [true, false, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn isfinite(&self) -> Result<Self> {
        if !self.dtype().is_floating_point() {
            return self.eq(self);
        }
        self.detach().abs()?.lt(f64::INFINITY)
    }

    /// Whether an element over `dims` (`..` for all) is true; false if there are no elements.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or occurs twice.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[true, false], [false, false]]);
    /// assert_eq!(x.any(1)?.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn any(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.any_over(&dims.into(), false)
    }

    /// [`any`](Self::any), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`any`](Self::any).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[true, false], [true, true]]);
    /// assert_eq!(x.any_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn any_keepdim(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.any_over(&dims.into(), true)
    }

    pub(super) fn any_over(&self, dims: &Dims, keepdim: bool) -> Result<Self> {
        self.agreement("any", dims, keepdim, false)
    }

    /// Whether all elements over `dims` (`..` for all) are true; true if there are no elements.
    ///
    /// # Errors
    ///
    /// Those of [`any`](Self::any).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[true, false], [true, true]]);
    /// assert_eq!(x.all(1)?.to_vec::<bool>()?, [false, true]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn all(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.all_over(&dims.into(), false)
    }

    /// [`all`](Self::all), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`all`](Self::all).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[true, false], [true, true]]);
    /// assert_eq!(x.all_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn all_keepdim(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.all_over(&dims.into(), true)
    }

    pub(super) fn all_over(&self, dims: &Dims, keepdim: bool) -> Result<Self> {
        self.agreement("all", dims, keepdim, true)
    }

    fn agreement(
        &self,
        name: &'static str,
        dims: &Dims,
        keepdim: bool,
        of_nothing: bool,
    ) -> Result<Self> {
        let dims = self.shape().dims(name, dims)?;
        if dims.iter().any(|&dim| self.shape()[dim] == 0) {
            let shape = self.shape().reduced(&dims, keepdim);
            return Self::full(shape, of_nothing, (DType::Bool, &self.device()));
        }
        let (backend, x) = (self.device().backend(), self.is_true()?.plain(name)?);
        let storage = match of_nothing {
            true => backend.all(x, &dims),
            false => backend.any(x, &dims),
        }?;
        let shape = self.shape().reduced(&dims, keepdim);
        Ok(Self::fresh(storage, shape))
    }

    /// The elements, with `value` where `mask` is true, with broadcasting.
    ///
    /// # Errors
    ///
    /// A mask that is not `Bool`, shapes that do not broadcast, different devices, a floating-point
    /// number for integers.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0]);
    /// let y = x.masked_fill(&Tensor::from([false, true]), f64::NEG_INFINITY)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, f32::NEG_INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn masked_fill(&self, mask: &Self, value: impl Into<Scalar>) -> Result<Self> {
        self.masked_fill_number(mask, value.into())
    }

    fn masked_fill_number(&self, mask: &Self, value: Scalar) -> Result<Self> {
        const NAME: &str = "masked_fill";
        self.check_mask(NAME, mask)?;
        self.check_number(NAME, value)?;
        value.check_fits(NAME, self.dtype())?;
        mask.where_(value, self)
    }

    /// The elements where `mask` is true, with broadcasting, in row-major order as a vector.
    ///
    /// # Errors
    ///
    /// A mask that is not `Bool`, shapes that do not broadcast, different devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0]);
    /// let y = x.masked_select(&Tensor::from([true, false, true]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn masked_select(&self, mask: &Self) -> Result<Self> {
        const NAME: &str = "masked_select";
        let shape = self.check_mask(NAME, mask)?;
        shape.checked_numel(NAME, DType::I64.size_in_bytes())?;
        let flat = shape.numel().into();
        let indices = mask.expand(&shape)?.reshape_to(&flat)?.nonzero()?;
        let x = self.expand(&shape)?.reshape_to(&flat)?;
        x.index_select(0, &indices.squeeze(1)?)
    }

    /// Checks that `mask` is a mask for this tensor; returns their broadcast shape.
    pub(super) fn check_mask(&self, op: &'static str, mask: &Self) -> Result<crate::Shape> {
        self.check_device(op, mask)?;
        if mask.dtype() != DType::Bool {
            let (dtype, needs) = (mask.dtype(), "a bool mask");
            return Err(DTypeError::Unsupported { op, dtype, needs }.into());
        }
        self.shape().broadcast(op, mask.shape())
    }

    /// A zero of this dtype, for comparisons.
    fn zero(&self) -> Scalar {
        if self.dtype() == DType::Bool {
            false.into()
        } else {
            0_i64.into()
        }
    }

    pub(super) fn is_true(&self) -> Result<Self> {
        if self.dtype() == DType::Bool {
            Ok(self.clone())
        } else {
            self.ne(self.zero())
        }
    }

    /// Both as booleans, in shapes that broadcast.
    fn truths(&self, op: &'static str, other: &Self) -> Result<(Self, Self)> {
        self.check_device(op, other)?;
        self.shape().broadcast(op, other.shape())?;
        Ok((self.is_true()?, other.is_true()?))
    }
}
