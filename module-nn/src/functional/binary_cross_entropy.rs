//! The binary cross-entropy of probabilities.

use module_core::{Backward, DType, Error, Function, Gradients, Result, Tensor, no_grad};

use super::Reduction;
use super::binary::apply_weight;
use super::loss::reduce_elementwise;

const NAME: &str = "binary_cross_entropy";

/// The lower bound of logarithms, so that a probability of 0 has a finite loss.
const LEAST_LOG: f64 = -100.0;

/// The lower bound of the divisor in the gradient, in `F32` as in PyTorch.
const EPSILON: f32 = 1e-12;

/// The cross-entropy of probabilities with targets between 0 and 1: `-w (y · ln x + (1 - y) · ln(1 - x))`, where logarithms
/// are at least -100.
///
/// The gradient is `(x - y) / max(x (1 - x), 1e-12)`, finite at 0 and 1 too. The weight broadcasts to the losses.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; a weight that does not broadcast to them; an input or a target outside
/// `[0, 1]`; different dtypes, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, binary_cross_entropy}};
///
/// let (x, y) = (Tensor::from([0.5_f32, 0.5]), Tensor::from([1.0_f32, 0.0]));
/// let loss = binary_cross_entropy(&x, &y, None, Reduction::Mean)?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn binary_cross_entropy(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: Reduction,
) -> Result<Tensor> {
    reduce_elementwise(NAME, [input, target], reduction, |x, y| {
        apply_weight(NAME, compute_losses(x, y)?, weight)
    })
}

/// The loss of each element.
fn compute_losses(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    check_probabilities("input", x)?;
    check_probabilities("target", y)?;
    let losses = no_grad(|| {
        let (yes, no) = logarithms(x)?;
        y.sub(1.0)?.mul(&no)?.sub(&y.mul(&yes)?)
    })?;
    Ok(losses.record([x, y], |_| BinaryCrossEntropy {
        x: x.clone(),
        y: y.clone(),
    }))
}

/// Checks that each element is between 0 and 1; NaN is not.
fn check_probabilities(argument: &'static str, x: &Tensor) -> Result<()> {
    let x = x.detach();
    let outside = x.ge(0.0)?.logical_and(&x.le(1.0)?)?.logical_not()?;
    if !outside.any(..)?.item::<bool>()? {
        return Ok(());
    }
    let first = x.masked_select(&outside)?.select(0, 0)?;
    let first = first.to_dtype(DType::F64)?.item::<f64>()?;
    let problem = "each element must be between 0 and 1";
    Err(Error::argument(NAME, argument, first, problem))
}

/// `ln x` and `ln(1 - x)`, neither less than [`LEAST_LOG`].
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
        let of = |i, slope: &dyn Fn() -> Result<Tensor>| ctx.needs(i).then(slope).transpose();
        Ok([of(0, &input)?, of(1, &target)?].into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use module_core::autograd::{gradcheck, gradgradcheck};

    use super::*;

    fn of_each(x: &Tensor, y: &Tensor) -> Result<Tensor> {
        binary_cross_entropy(x, y, None, Reduction::None)
    }

    #[test]
    fn gradients_are_exact_also_twice() -> Result<()> {
        let inside = |x: &Tensor| x.sigmoid()?.mul(0.8)?.add(0.1);
        let f = |x: &[Tensor]| of_each(&inside(&x[0])?, &inside(&x[1])?);
        for shape in [&[2_usize, 3][..], &[], &[0]] {
            let x = [
                Tensor::randn(shape, DType::F64)?,
                Tensor::randn(shape, DType::F64)?,
            ];
            gradcheck(f, &x)?;
            gradgradcheck(f, &x)?;
        }
        Ok(())
    }

    #[test]
    fn probabilities_of_0_and_1_have_finite_losses_and_slopes() {
        let x = Tensor::from([0.0_f64, 1.0, 0.0, 1.0]).with_grad().unwrap();
        let y = Tensor::from([0.0_f64, 1.0, 1.0, 0.0]).with_grad().unwrap();
        let losses = of_each(&x, &y).unwrap();
        assert_eq!(losses.to_vec::<f64>().unwrap(), [0.0, 0.0, 100.0, 100.0]);
        losses.sum(..).unwrap().backward().unwrap();
        // PyTorch's, which divides by 1e-12 in F32.
        let steep = 1.0 / f64::from(1e-12_f32);
        let slopes = x.grad().unwrap().to_vec::<f64>().unwrap();
        assert_eq!(slopes, [0.0, 0.0, -steep, steep]);
        let slopes = y.grad().unwrap().to_vec::<f64>().unwrap();
        assert_eq!(slopes, [100.0, -100.0, 100.0, -100.0]);
    }

    #[test]
    fn a_probability_outside_is_quoted() {
        for wrong in [-0.25_f32, 1.5, f32::NAN] {
            let x = Tensor::from([0.5_f32, wrong]);
            let error = of_each(&x, &x).unwrap_err().to_string();
            assert!(error.contains(&format!("input = {wrong}")), "{error}");
        }
    }
}
