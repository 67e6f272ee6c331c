//! Elementwise `maximum` and `minimum`.

use super::{AutocastPolicy, Value};
use crate::backend::BinaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{DType, Result};

impl Tensor {
    /// The greater of the two, elementwise with broadcasting; NaN if either is NaN. For booleans, true is the greater.
    ///
    /// Where both are equal, each gets half of the gradient; where one is NaN, each gets all of it.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 5]);
    /// assert_eq!(x.maximum(&Tensor::from([3_i64, 4]))?.to_vec::<i64>()?, [3, 5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn maximum<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.maximum_value(other.into())
    }

    fn maximum_value(&self, other: Value<'_>) -> Result<Self> {
        if self.dtype() == DType::Bool {
            return self.logical_or(&*other.truths_like("maximum", self)?);
        }
        self.elementwise_extremum("maximum", BinaryOp::Maximum, other)
    }

    /// The smaller of the two, elementwise with broadcasting; NaN if either is NaN. For booleans, false is the smaller.
    ///
    /// Where both are equal, each gets half of the gradient; where one is NaN, each gets all of it.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 5]);
    /// assert_eq!(x.minimum(&Tensor::from([3_i64, 4]))?.to_vec::<i64>()?, [1, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn minimum<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.minimum_value(other.into())
    }

    fn minimum_value(&self, other: Value<'_>) -> Result<Self> {
        if self.dtype() == DType::Bool {
            return self.logical_and(&*other.truths_like("minimum", self)?);
        }
        self.elementwise_extremum("minimum", BinaryOp::Minimum, other)
    }

    fn elementwise_extremum(
        &self,
        name: &'static str,
        op: BinaryOp,
        other: Value<'_>,
    ) -> Result<Self> {
        if let Value::Tensor(other) = &other
            && let Some(out) = AutocastPolicy::Promote.apply([self, other], [], |[a, b], []| {
                a.elementwise_extremum(name, op, b.into())
            })
        {
            return out;
        }
        let other = other.fit_to(name, self)?;
        let out = self.binary_with(name, op, &other)?;
        Ok(out.record(other.inputs(self), |_| ElementwiseExtremum {
            name,
            a: self.detach(),
            b: other.detach(),
        }))
    }
}

struct ElementwiseExtremum {
    name: &'static str,
    a: Tensor,
    b: Value<'static>,
}

impl Function for ElementwiseExtremum {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (a, b, grad) = (&self.a, &self.b, ctx.grad());
        // Whether the other one is chosen.
        let [of_a, of_b] = match self.name {
            "minimum" => [Tensor::gt, Tensor::lt],
            _ => [Tensor::lt, Tensor::gt],
        };
        let share = a.eq(b.clone())?.where_(grad.mul(0.5)?, grad)?;
        let unless = |other_is_chosen: Tensor| other_is_chosen.where_(0.0, &share);
        b.gradients(
            ctx,
            || unless(of_a(a, b.clone())?)?.into_sum_to(a.shape()),
            |other| unless(of_b(a, b.clone())?)?.into_sum_to(other.shape()),
        )
    }
}
