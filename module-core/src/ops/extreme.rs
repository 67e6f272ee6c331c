//! The greater and the smaller of two.

use super::Value;
use crate::Result;
use crate::backend::BinaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, two};

impl Tensor {
    /// The greater of the two, elementwise with broadcasting; NaN if either is.
    ///
    /// Where both are equal, each gets half of the gradient.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 5]);
    /// assert_eq!(x.maximum(&Tensor::from([3_i64, 4]))?.to_vec::<i64>()?, [3, 5]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn maximum<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        let other = other.into().like("maximum", self)?;
        let out = self.binary("maximum", BinaryOp::Maximum, &other)?;
        Ok(out.record([self, &other], |_| Extreme {
            name: "maximum",
            a: self.clone(),
            b: Tensor::clone(&other),
        }))
    }

    /// The smaller of the two, elementwise with broadcasting; NaN if either is.
    ///
    /// Where both are equal, each gets half of the gradient.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 5]);
    /// assert_eq!(x.minimum(&Tensor::from([3_i64, 4]))?.to_vec::<i64>()?, [1, 4]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn minimum<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        let other = other.into().like("minimum", self)?;
        let out = self.binary("minimum", BinaryOp::Minimum, &other)?;
        Ok(out.record([self, &other], |_| Extreme {
            name: "minimum",
            a: self.clone(),
            b: Tensor::clone(&other),
        }))
    }
}

struct Extreme {
    name: &'static str,
    a: Tensor,
    b: Tensor,
}

impl Function for Extreme {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (a, b) = (self.a.detach(), self.b.detach());
        let dtype = ctx.grad().dtype();
        let tie = a.eq(&b)?.to_dtype(dtype)?.mul(0.5)?;
        let wins = if self.name == "maximum" {
            a.gt(&b)?
        } else {
            a.lt(&b)?
        };
        let share = wins.to_dtype(dtype)?.add(&tie)?;
        two(
            ctx,
            || ctx.grad().mul(&share)?.sum_to(a.shape()),
            || ctx.grad().mul(&share.neg()?.add(1.0)?)?.sum_to(b.shape()),
        )
    }
}
