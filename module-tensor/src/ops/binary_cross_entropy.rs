//! The cross-entropy of probabilities of yes and no.

use crate::tensor::{Backward, Function, Gradients, Tensor, no_grad, two};
use crate::{DType, Error, ErrorKind, Result};

const NAME: &str = "binary_cross_entropy";

/// No logarithm counts less, so that a probability of 0 has a finite loss.
const LEAST_LOG: f64 = -100.0;

/// What the divisor of the slope is at least, in `F32` as in PyTorch.
const EPSILON: f32 = 1e-12;

impl Tensor {
    /// The cross-entropy of probabilities with targets `y` between 0 and 1, elementwise:
    /// `-(y · ln x + (1 - y) · ln(1 - x))`, where no logarithm counts less than -100.
    ///
    /// The slope is `(x - y) / max(x (1 - x), 1e-12)`, finite at 0 and 1 too.
    ///
    /// # Errors
    ///
    /// Shapes that differ, also where they would broadcast; different dtypes, or one that is not
    /// floating-point; an input or a target outside `[0, 1]` or NaN.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (x, y) = (Tensor::from([0.5_f32, 0.0]), Tensor::from([1.0_f32, 1.0]));
    /// let loss = x.binary_cross_entropy(&y)?;
    /// assert_eq!(loss.to_vec::<f32>()?, [2.0_f32.ln(), 100.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn binary_cross_entropy(&self, target: &Self) -> Result<Self> {
        self.check_floating(NAME)?;
        self.check_same(NAME, target)?;
        if self.shape() != target.shape() {
            let (lhs, rhs) = (self.shape().clone(), target.shape().clone());
            let rule = "a loss takes equal shapes and never broadcasts".to_owned();
            return Err(ErrorKind::ShapeMismatch {
                op: NAME,
                lhs,
                rhs,
                rule,
            }
            .into());
        }
        check_probabilities("input", self)?;
        check_probabilities("target", target)?;
        let (x, y) = (self.widened()?, target.widened()?);
        let losses = no_grad(|| {
            let (yes, no) = logarithms(&x)?;
            y.sub(1.0)?.mul(&no)?.sub(&y.mul(&yes)?)
        })?;
        let losses = losses.record([&x, &y], |_| BinaryCrossEntropy {
            x: x.clone(),
            y: y.clone(),
        });
        losses.to_dtype(self.dtype())
    }
}

/// That each element is between 0 and 1, which NaN is not.
fn check_probabilities(argument: &'static str, x: &Tensor) -> Result<()> {
    let x = x.detach();
    let outside = x.ge(0.0)?.logical_and(&x.le(1.0)?)?.logical_not()?;
    if !outside.any(.., false)?.item::<bool>()? {
        return Ok(());
    }
    let first = x.masked_select(&outside)?.select(0, 0)?;
    let first = first.to_dtype(DType::F64)?.item::<f64>()?;
    let problem = "each element must be between 0 and 1";
    Err(Error::argument(NAME, argument, first, problem))
}

/// `ln x` and `ln(1 - x)`, neither below [`LEAST_LOG`].
fn logarithms(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let yes = x.log()?.clamp_min(LEAST_LOG)?;
    let no = x.neg()?.log1p()?.clamp_min(LEAST_LOG)?;
    Ok((yes, no))
}

struct BinaryCrossEntropy {
    x: Tensor,
    y: Tensor,
}

impl Function for BinaryCrossEntropy {
    fn name(&self) -> &'static str {
        "binary_cross_entropy"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        let input = || {
            let spread = self.x.neg()?.add(1.0)?.mul(&self.x)?.clamp_min(EPSILON)?;
            self.x.sub(&self.y)?.div(&spread)?.mul(grad)
        };
        let target = || {
            let (yes, no) = logarithms(&self.x)?;
            no.sub(&yes)?.mul(grad)
        };
        two(ctx, input, target)
    }
}
