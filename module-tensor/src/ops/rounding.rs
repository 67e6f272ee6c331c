//! `floor`, `ceil`, `round` and `trunc`.

use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result};

impl Tensor {
    /// `x` rounded down to an integer, elementwise; the derivative is 0.
    ///
    /// Integers are unchanged.
    ///
    /// # Errors
    ///
    /// A tensor of booleans.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.5_f32, -1.5]);
    /// assert_eq!(x.floor()?.to_vec::<f32>()?, [1.0, -2.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn floor(&self) -> Result<Self> {
        self.whole("floor", UnaryOp::Floor)
    }

    /// `x` rounded up to an integer, elementwise; the derivative is 0.
    ///
    /// Integers are unchanged.
    ///
    /// # Errors
    ///
    /// A tensor of booleans.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.5_f32, -1.5]);
    /// assert_eq!(x.ceil()?.to_vec::<f32>()?, [2.0, -1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn ceil(&self) -> Result<Self> {
        self.whole("ceil", UnaryOp::Ceil)
    }

    /// `x` rounded to the nearest integer, ties to even, elementwise; the derivative is 0.
    ///
    /// Integers are unchanged.
    ///
    /// # Errors
    ///
    /// A tensor of booleans.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.5_f32, 1.5, 2.5, -0.7]);
    /// assert_eq!(x.round()?.to_vec::<f32>()?, [0.0, 2.0, 2.0, -1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn round(&self) -> Result<Self> {
        self.whole("round", UnaryOp::Round)
    }

    /// `x` rounded toward 0, elementwise; the derivative is 0.
    ///
    /// Integers are unchanged.
    ///
    /// # Errors
    ///
    /// A tensor of booleans.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.5_f32, -1.5]);
    /// assert_eq!(x.trunc()?.to_vec::<f32>()?, [1.0, -1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "fix")]
    pub fn trunc(&self) -> Result<Self> {
        self.whole("trunc", UnaryOp::Trunc)
    }

    fn whole(&self, name: &'static str, op: UnaryOp) -> Result<Self> {
        if matches!(self.dtype(), DType::I64 | DType::I32 | DType::U8) {
            return Ok(self.clone());
        }
        self.check_floating(name)?;
        Ok(self.unary(op)?.record([self], |_| Step { name }))
    }
}

/// A step function: its derivative is 0 wherever it exists.
struct Step {
    name: &'static str,
}

impl Function for Step {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().zeros_like()?)
    }
}
