//! Hyperbolic functions and their inverses.

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::Tensor;

impl Tensor {
    /// `sinh x = (eˣ - e⁻ˣ) / 2`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, f32::NEG_INFINITY]);
    /// assert_eq!(x.sinh()?.to_vec::<f32>()?, [0.0, f32::NEG_INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sinh(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Sinh, |x| x.cosh())
    }

    /// `cosh x = (eˣ + e⁻ˣ) / 2`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, f32::NEG_INFINITY]);
    /// assert_eq!(x.cosh()?.to_vec::<f32>()?, [1.0, f32::INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn cosh(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Cosh, |x| x.sinh())
    }

    /// `arsinh x`, the inverse of [`sinh`](Self::sinh), elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f64, 1.0]);
    /// assert_eq!(x.asinh()?.to_vec::<f64>()?, [0.0, 0.881_373_587_019_543]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "arcsinh")]
    pub fn asinh(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Asinh, |x| x.square()?.add(1.0)?.rsqrt())
    }

    /// `arcosh x`, the inverse of [`cosh`](Self::cosh), elementwise, of a floating-point tensor; NaN below 1.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, f32::INFINITY]);
    /// assert_eq!(x.acosh()?.to_vec::<f32>()?, [0.0, f32::INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "arccosh")]
    pub fn acosh(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Acosh, |x| x.square()?.sub(1.0)?.rsqrt())
    }

    /// `artanh x`, the inverse of [`tanh`](Self::tanh), elementwise, of a floating-point tensor; NaN outside [-1, 1].
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 1.0]);
    /// assert_eq!(x.atanh()?.to_vec::<f32>()?, [0.0, f32::INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "arctanh")]
    pub fn atanh(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Atanh, |x| {
            x.square()?.neg()?.add(1.0)?.reciprocal()
        })
    }
}
