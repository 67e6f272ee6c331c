//! The tangent and the inverse trigonometric functions: `tan`, `asin`, `acos`, `atan`.

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::Tensor;

impl Tensor {
    /// `tan x`, elementwise, of a floating-point tensor.
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
    /// assert_eq!(x.tan()?.to_vec::<f64>()?, [0.0, 1.0_f64.tan()]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn tan(&self) -> Result<Self> {
        self.pointwise_by_output(UnaryOp::Tan, |y| y.square()?.add(1.0))
    }

    /// `arcsin x`, elementwise, of a floating-point tensor; NaN outside [-1, 1].
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
    /// let x = Tensor::from([0.0_f64, 1.0, 2.0]);
    /// assert_eq!(x.asin()?.to_vec::<f64>()?[..2], [0.0, std::f64::consts::FRAC_PI_2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "arcsin")]
    pub fn asin(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Asin, |x| x.square()?.neg()?.add(1.0)?.rsqrt())
    }

    /// `arccos x`, elementwise, of a floating-point tensor; NaN outside [-1, 1].
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
    /// let x = Tensor::from([1.0_f64, -1.0]);
    /// assert_eq!(x.acos()?.to_vec::<f64>()?, [0.0, std::f64::consts::PI]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "arccos")]
    pub fn acos(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Acos, |x| {
            x.square()?.neg()?.add(1.0)?.rsqrt()?.neg()
        })
    }

    /// `arctan x`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([0.0_f64, f64::INFINITY]);
    /// assert_eq!(x.atan()?.to_vec::<f64>()?, [0.0, std::f64::consts::FRAC_PI_2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "arctan")]
    pub fn atan(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Atan, |x| x.square()?.add(1.0)?.reciprocal())
    }
}
