//! `neg`, `abs` and `sign`.

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

impl Tensor {
    /// `-self`, elementwise.
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
    /// let x = Tensor::from([1_i64, -2]);
    /// assert_eq!(x.neg()?.to_vec::<i64>()?, [-1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "negative")]
    pub fn neg(&self) -> Result<Self> {
        Ok(self.unary(UnaryOp::Neg)?.record([self], |_| Neg))
    }

    /// `|self|`, elementwise.
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
    /// let x = Tensor::from([-1.0_f32, 0.0, 2.0]);
    /// assert_eq!(x.abs()?.to_vec::<f32>()?, [1.0, 0.0, 2.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "absolute")]
    pub fn abs(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Abs)?
            .record([self], |_| Abs { x: self.clone() }))
    }

    /// -1, 0 or 1, elementwise.
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
    /// let x = Tensor::from([-1.0_f32, 0.0, 2.0]);
    /// assert_eq!(x.sign()?.to_vec::<f32>()?, [-1.0, 0.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sign(&self) -> Result<Self> {
        Ok(self.unary(UnaryOp::Sign)?.record([self], |_| Sign))
    }
}

struct Neg;

impl Function for Neg {
    fn name(&self) -> &'static str {
        "neg"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().neg()?)
    }
}

struct Abs {
    x: Tensor,
}

impl Function for Abs {
    fn name(&self) -> &'static str {
        "abs"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().mul(&self.x.sign()?)?)
    }
}

struct Sign;

impl Function for Sign {
    fn name(&self) -> &'static str {
        "sign"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().zeros_like()?)
    }
}
