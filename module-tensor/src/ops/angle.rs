//! Angles: `atan2`, `hypot`, `deg2rad`, `rad2deg`.

use crate::Result;
use crate::backend::BinaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, two};

impl Tensor {
    /// The angle of the point `(other, self)` in `[-π, π]`, elementwise with broadcasting, for floating-point tensors:
    /// `arctan(self / other)` in the correct quadrant.
    ///
    /// At the point `(0, 0)` the gradients are 0, as in PyTorch.
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
    /// let (y, x) = (Tensor::from([1.0_f64, 0.0]), Tensor::from([0.0_f64, -1.0]));
    /// let pi = std::f64::consts::PI;
    /// assert_eq!(y.atan2(&x)?.to_vec::<f64>()?, [pi / 2.0, pi]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "arctan2")]
    pub fn atan2(&self, other: &Self) -> Result<Self> {
        const NAME: &str = "atan2";
        self.check_floating(NAME)?;
        let out = self.binary(NAME, BinaryOp::Atan2, other)?;
        Ok(out.record([self, other], |_| Atan2 {
            y: self.clone(),
            x: other.clone(),
        }))
    }

    /// `√(self² + other²)`, elementwise with broadcasting, of floating-point tensors, without overflow.
    ///
    /// At the point `(0, 0)` the gradients are NaN, as in PyTorch.
    ///
    /// # Errors
    ///
    /// Those of [`atan2`](Self::atan2).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([3.0_f32, 3e30]);
    /// assert_eq!(x.hypot(&Tensor::from([4.0_f32, 4e30]))?.to_vec::<f32>()?, [5.0, 5e30]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn hypot(&self, other: &Self) -> Result<Self> {
        const NAME: &str = "hypot";
        self.check_floating(NAME)?;
        let out = self.binary(NAME, BinaryOp::Hypot, other)?;
        Ok(out.record([self, other], |y| Hypot {
            a: self.clone(),
            b: other.clone(),
            y: y.clone(),
        }))
    }

    /// Degrees as radians: `x · π / 180`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([180.0_f64]);
    /// assert_eq!(x.deg2rad()?.item::<f64>()?, std::f64::consts::PI);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn deg2rad(&self) -> Result<Self> {
        self.check_floating("deg2rad")?;
        self.mul(std::f64::consts::PI / 180.0)
    }

    /// Radians as degrees: `x · 180 / π`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([std::f64::consts::PI]);
    /// assert_eq!(x.rad2deg()?.item::<f64>()?, 180.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn rad2deg(&self) -> Result<Self> {
        self.check_floating("rad2deg")?;
        self.mul(180.0 / std::f64::consts::PI)
    }
}

struct Atan2 {
    y: Tensor,
    x: Tensor,
}

impl Function for Atan2 {
    fn name(&self) -> &'static str {
        "atan2"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        // In half precision, the quotient by the square of a small distance would be infinite.
        let [y, x] = [self.y.widened()?, self.x.widened()?];
        let square = (y.square()? + x.square()?)?;
        let zero = square.eq(0.0)?;
        // Inside as well, so that second derivatives do not multiply 0 by an infinity.
        let square = zero.where_(1.0, square)?;
        let grad = (ctx.grad().widened()? / square)?;
        let grad = zero.where_(0.0, grad)?;
        let along = |other: &Tensor, of: &Tensor| {
            let grad = grad.mul(other)?.sum_to(of.shape())?;
            grad.to_dtype(of.dtype())
        };
        two(ctx, || along(&x, &self.y), || along(&y.neg()?, &self.x))
    }
}

struct Hypot {
    a: Tensor,
    b: Tensor,
    y: Tensor,
}

impl Function for Hypot {
    fn name(&self) -> &'static str {
        "hypot"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { a, b, y } = self;
        let y = ctx.output(y);
        two(
            ctx,
            || ctx.grad().mul(&a.div(&y)?)?.sum_to(a.shape()),
            || ctx.grad().mul(&b.div(&y)?)?.sum_to(b.shape()),
        )
    }
}
