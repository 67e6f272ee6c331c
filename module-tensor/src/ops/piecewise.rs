//! Piecewise linear activations: hardtanh, ReLU6, hardsigmoid, hardshrink, softshrink.

use super::fill_in_range::FillInRange;
use crate::backend::{FillRange, UnaryOp};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Error, Result, Scalar};

impl Tensor {
    /// `min(max(x, low), high)`, elementwise, like [`clamp`](Self::clamp); the gradient of NaN passes.
    ///
    /// # Errors
    ///
    /// A `min_val` above `max_val`, or NaN; those of [`clamp`](Self::clamp).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-2.0_f32, 0.5, 2.0]);
    /// assert_eq!(x.hardtanh(-1.0, 1.0)?.to_vec::<f32>()?, [-1.0, 0.5, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn hardtanh(&self, min_val: f64, max_val: f64) -> Result<Self> {
        if min_val <= max_val {
            return self.clamp_activation("hardtanh", min_val, max_val);
        }
        let problem = format!("must not be above max_val = {max_val}");
        Err(Error::argument("hardtanh", "min_val", min_val, problem))
    }

    /// `min(max(x, 0), 6)`, elementwise.
    ///
    /// Source: Howard et al., "MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
    /// Applications", 2017.
    ///
    /// # Errors
    ///
    /// Those of [`clamp`](Self::clamp).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-2.0_f32, 0.5, 8.0]);
    /// assert_eq!(x.relu6()?.to_vec::<f32>()?, [0.0, 0.5, 6.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn relu6(&self) -> Result<Self> {
        self.clamp_activation("relu6", 0.0, 6.0)
    }

    fn clamp_activation(&self, name: &'static str, low: f64, high: f64) -> Result<Self> {
        self.check_floating(name)?;
        let out = self.detach().clamp(low, high)?;
        let [low, high] = self.bounds(low, high);
        Ok(out.record([self], |_| {
            FillInRange::new(name, self, FillRange::Outside(low, high))
        }))
    }

    /// `min(max(x + 3, 0), 6) / 6`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([-4.0_f32, 1.5, 4.0]);
    /// assert_eq!(x.hardsigmoid()?.to_vec::<f32>()?, [0.0, 0.75, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn hardsigmoid(&self) -> Result<Self> {
        let out = self.unary(UnaryOp::Hardsigmoid)?;
        Ok(out.record([self], |_| Hardsigmoid { x: self.detach() }))
    }

    /// 0 where `|x| ≤ λ`, else `x`, elementwise, of a floating-point tensor; NaN stays NaN.
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
    /// let x = Tensor::from([-2.0_f32, 0.5, 2.0]);
    /// assert_eq!(x.hardshrink(0.5)?.to_vec::<f32>()?, [-2.0, 0.0, 2.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn hardshrink(&self, lambd: f64) -> Result<Self> {
        const NAME: &str = "hardshrink";
        self.check_floating(NAME)?;
        let [low, high] = self.bounds(-lambd, lambd);
        self.fill_in_range(NAME, &self.detach(), FillRange::Within(low, high), 0)
    }

    /// `x` moved toward 0 by `λ`, and 0 where `|x| ≤ λ`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A `lambd` below 0, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-2.0_f32, 0.5, 2.0]);
    /// assert_eq!(x.softshrink(0.5)?.to_vec::<f32>()?, [-1.5, 0.0, 1.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn softshrink(&self, lambd: f64) -> Result<Self> {
        const NAME: &str = "softshrink";
        self.check_floating(NAME)?;
        if lambd < 0.0 || lambd.is_nan() {
            return Err(Error::argument(NAME, "lambd", lambd, "must be at least 0"));
        }
        let x = self.detach();
        let out = x.unary(UnaryOp::Softshrink { lambd })?;
        let [low, high] = self.bounds(-lambd, lambd);
        Ok(out.record([self], |_| {
            FillInRange::new(NAME, &x, FillRange::Within(low, high))
        }))
    }

    /// Bounds in the precision of this tensor's elements, with which they are compared.
    fn bounds(&self, low: f64, high: f64) -> [Scalar; 2] {
        [low, high].map(|bound| self.dtype().rounded(bound).into())
    }
}

/// Flat outside an interval in which the slope is constant.
struct Hardsigmoid {
    x: Tensor,
}

impl Function for Hardsigmoid {
    fn name(&self) -> &'static str {
        "hardsigmoid"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad().mul(1.0 / 6.0)?;
        let flat = FillRange::NotBetween((-3.0).into(), 3.0.into());
        one(grad.fill_in_range("hardsigmoid", &self.x, flat, 0)?)
    }
}
