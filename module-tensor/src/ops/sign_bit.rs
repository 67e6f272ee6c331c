//! `signbit`, `copysign`, `isposinf` and `isneginf`: the sign of numbers, including zeros and NaN.

use super::Value;
use crate::backend::BinaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{DType, Result};

impl Tensor {
    /// Whether the element is negative, including negative zeros and NaN with a sign bit, elementwise.
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
    /// let x = Tensor::from([1.0_f32, -0.0, -2.0]);
    /// assert_eq!(x.signbit()?.to_vec::<bool>()?, [false, true, true]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn signbit(&self) -> Result<Self> {
        match self.dtype() {
            DType::Bool => self.ne(self),
            dtype if dtype.is_floating_point() => {
                let x = self.detach();
                let one = Self::full((), 1.0, (dtype, &self.device()))?;
                one.copysign(&x)?.lt(0.0)
            }
            _ => self.lt(0),
        }
    }

    /// `|self|` with the sign of `other`, elementwise with broadcasting, of floating-point tensors.
    ///
    /// The gradient of `self` is its sign times that of the result, 0 at 0; that of `other` is 0.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add), and a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, -2.0]);
    /// assert_eq!(x.copysign(&Tensor::from([-0.0_f32, 3.0]))?.to_vec::<f32>()?, [-1.0, 2.0]);
    /// assert_eq!(x.copysign(-1.0)?.to_vec::<f32>()?, [-1.0, -2.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn copysign<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.copysign_value(other.into())
    }

    fn copysign_value(&self, other: Value<'_>) -> Result<Self> {
        const NAME: &str = "copysign";
        self.check_floating(NAME)?;
        let other = other.fit_to(NAME, self)?;
        let out = self.binary_with(NAME, BinaryOp::Copysign, &other)?;
        Ok(out.record(other.inputs(self), |y| Copysign {
            a: self.detach(),
            b: other.detach(),
            y: y.clone(),
        }))
    }

    /// Whether the element is `∞`, elementwise.
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
    /// let x = Tensor::from([f32::INFINITY, f32::NEG_INFINITY, 1.0]);
    /// assert_eq!(x.isposinf()?.to_vec::<bool>()?, [true, false, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn isposinf(&self) -> Result<Self> {
        self.equals(f64::INFINITY)
    }

    /// Whether the element is `-∞`, elementwise.
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
    /// let x = Tensor::from([f32::INFINITY, f32::NEG_INFINITY, 1.0]);
    /// assert_eq!(x.isneginf()?.to_vec::<bool>()?, [false, true, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn isneginf(&self) -> Result<Self> {
        self.equals(f64::NEG_INFINITY)
    }

    /// Whether the element is this infinity, which no integer is.
    fn equals(&self, infinity: f64) -> Result<Self> {
        match self.dtype().is_floating_point() {
            true => self.eq(infinity),
            false => self.ne(self),
        }
    }
}

struct Copysign {
    a: Tensor,
    b: Value<'static>,
    y: Tensor,
}

impl Function for Copysign {
    fn name(&self) -> &'static str {
        "copysign"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { a, b, y } = self;
        b.gradients(
            ctx,
            || {
                let sign = y.div(a)?.masked_fill(&a.eq(0.0)?, 0.0)?;
                ctx.grad().mul(&sign)?.sum_to(a.shape())
            },
            Tensor::zeros_like,
        )
    }
}
