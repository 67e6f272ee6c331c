//! `log2`, `log10` and `exp2`.

use std::f64::consts::{LN_2, LN_10};

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::Tensor;

impl Tensor {
    /// `log₂ x`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([8.0_f32, 0.0]);
    /// assert_eq!(x.log2()?.to_vec::<f32>()?, [3.0, f32::NEG_INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn log2(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Log2, |x| x.mul(LN_2)?.reciprocal())
    }

    /// `log₁₀ x`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([1000.0_f32, 0.0]);
    /// assert_eq!(x.log10()?.to_vec::<f32>()?, [3.0, f32::NEG_INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn log10(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Log10, |x| x.mul(LN_10)?.reciprocal())
    }

    /// `2ˣ`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([3.0_f32, -1.0]);
    /// assert_eq!(x.exp2()?.to_vec::<f32>()?, [8.0, 0.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn exp2(&self) -> Result<Self> {
        self.pointwise_by_output(UnaryOp::Exp2, |y| y.mul(LN_2))
    }
}
