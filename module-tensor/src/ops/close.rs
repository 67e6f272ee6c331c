//! `isclose`, `allclose` and `equal`.

use crate::tensor::Tensor;
use crate::{DType, Error, Result};

crate::options! {
    /// The distance up to which two numbers count as close, with PyTorch's names and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Tensor, Tolerance};
    ///
    /// let (a, b) = (Tensor::from([1.0_f32]), Tensor::from([1.01_f32]));
    /// assert!(!a.allclose(&b, Tolerance::new())?);
    /// assert!(a.allclose(&b, Tolerance::new().atol(0.1))?);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    ///
    /// ```
    /// use module_tensor::{Tensor, Tolerance};
    ///
    /// let x = Tensor::from([1.0, f64::NAN]);
    /// assert!(!x.allclose(&x, Tolerance::new())?);
    /// assert!(x.allclose(&x, Tolerance::new().equal_nan(true))?);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Tolerance {
        optional {
            /// The relative tolerance: a factor of the other number's magnitude.
            rtol: f64 = 1e-5,
            /// The absolute tolerance.
            atol: f64 = 1e-8,
            /// Whether NaN is close to NaN.
            equal_nan: bool = false,
        }
    }
}

impl Tensor {
    /// Whether both are nearly equal, elementwise with broadcasting, as a `Bool` tensor:
    ///
    /// ```text
    /// |self - other| ≤ atol + rtol · |other|
    /// ```
    ///
    /// Infinities are close to themselves, and NaN to NaN if `equal_nan`. Half precision is compared in `F32`, integers in `F64`.
    ///
    /// # Errors
    ///
    /// A tolerance that is negative or NaN, shapes that do not broadcast, different dtypes or devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Tensor, Tolerance};
    ///
    /// let (x, y) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([1.000_001_f32, 2.1]));
    /// assert_eq!(x.isclose(&y, Tolerance::new())?.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn isclose(&self, other: &Self, tolerance: Tolerance) -> Result<Self> {
        const NAME: &str = "isclose";
        let Tolerance {
            rtol,
            atol,
            equal_nan,
        } = tolerance;
        for (name, tolerance) in [("rtol", rtol), ("atol", atol)] {
            if tolerance < 0.0 || tolerance.is_nan() {
                return Err(Error::argument(NAME, name, tolerance, "must be at least 0"));
            }
        }
        self.check_same(NAME, other)?;
        let (a, b) = (self.detach(), other.detach());
        let mut close = a.eq(&b)?;
        if equal_nan {
            close = close.logical_or(&a.isnan()?.logical_and(&b.isnan()?)?)?;
        }
        let wide = |x: &Self| match x.dtype().is_floating_point() {
            true => x.widened(),
            false => x.to_dtype(DType::F64),
        };
        let (a, b) = (wide(&a)?, wide(&b)?);
        let distance = a.sub(&b)?.abs()?;
        let near = distance.le(&b.abs()?.mul(rtol)?.add(atol)?)?;
        // By the formula, an infinity would be within any distance of another number.
        close.logical_or(&near.logical_and(&distance.isfinite()?)?)
    }

    /// Whether all elements are nearly equal, with broadcasting; see [`isclose`](Self::isclose).
    ///
    /// # Errors
    ///
    /// Those of [`isclose`](Self::isclose).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Tensor, Tolerance};
    ///
    /// let x = Tensor::from([1.0_f32, 2.0]);
    /// assert!(x.allclose(&x.add(1e-6)?, Tolerance::new())?);
    /// assert!(!x.allclose(&x.add(0.1)?, Tolerance::new())?);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn allclose(&self, other: &Self, tolerance: Tolerance) -> Result<bool> {
        self.isclose(other, tolerance)?.all(..)?.item()
    }

    /// Whether both have the same shape and equal elements; NaN equals nothing.
    ///
    /// # Errors
    ///
    /// Different dtypes or devices.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert!(x.t()?.equal(&Tensor::from([[1_i64, 3], [2, 4]]))?);
    /// assert!(!x.equal(&Tensor::from([1_i64, 2]))?);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn equal(&self, other: &Self) -> Result<bool> {
        self.check_same("equal", other)?;
        if self.shape() != other.shape() {
            return Ok(false);
        }
        let (a, b) = (self.comparable()?, other.comparable()?);
        a.eq(&b)?.all(..)?.item()
    }

    /// The same numbers in the dtype of the comparison.
    fn comparable(&self) -> Result<Self> {
        match self.dtype() {
            DType::Complex64 => self.view_as_real(),
            dtype if !dtype.is_storage_only() => Ok(self.clone()),
            dtype if dtype.is_floating_point() => self.to_dtype(DType::F32),
            _ => self.to_dtype(DType::I64),
        }
    }
}
