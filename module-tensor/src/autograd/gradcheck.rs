use super::{BackwardOptions, grad_with};
use crate::tensor::{Tensor, enable_grad, no_grad};
use crate::{AutogradError, DType, DTypeError, Error, Result, ShapeError};

/// The step of the central difference: near the cube root of the precision of `f64`, where the
/// errors of rounding and of curvature are alike.
const STEP: f64 = 1e-5;

/// The tolerance: absolute below 1 and relative above it.
const TOLERANCE: f64 = 1e-6;

/// Checks the gradients of `f` at `inputs` against central differences.
///
/// Inputs and output are `F64`; the output may have any shape. Each element of it is weighted
/// differently, so that errors do not cancel. Memory layouts of the inputs are kept. The function
/// must be smooth around the inputs and give the same result for the same inputs.
///
/// # Errors
///
/// [`AutogradError::GradCheck`] with the input, the element and both values where they differ; what
/// `f` raises; a dtype other than `F64`; an output that depends on no input.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, autograd::gradcheck};
///
/// let x = Tensor::from([[0.5_f64, -1.5], [2.0, 1.0]]);
/// gradcheck(|x| x[0].matmul(&x[0].t()?)?.exp(), &[x.clone()])?;
///
/// // The gradient of a detached factor is missing.
/// assert!(gradcheck(|x| x[0].mul(&x[0].detach()), &[x]).is_err());
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn gradcheck(f: impl Fn(&[Tensor]) -> Result<Tensor>, inputs: &[Tensor]) -> Result<()> {
    let check = |x: &Tensor| match x.dtype() {
        DType::F64 => Ok(()),
        dtype => {
            let (op, needs) = ("gradcheck", "float64 inputs and output");
            Err(DTypeError::Unsupported { op, dtype, needs })
        }
    };
    inputs.iter().try_for_each(check)?;
    let leaves = inputs.iter().map(Tensor::with_grad);
    let leaves = leaves.collect::<Result<Vec<_>>>()?;
    let output = f(&leaves)?;
    check(&output)?;
    let weights = weights(&output)?;
    let references: Vec<&Tensor> = leaves.iter().collect();
    let options = BackwardOptions::default();
    let grads = grad_with(&[&output], &[&weights], &references, options)?;
    let weighted =
        |inputs: &[Tensor]| -> Result<Vec<f64>> { no_grad(|| f(inputs)?.mul(&weights))?.to_vec() };
    for (input, (x, grad)) in inputs.iter().zip(grads).enumerate() {
        let analytic = match &grad {
            Some(grad) if grad.shape() != x.shape() => {
                let (lhs, rhs) = (x.shape().clone(), grad.shape().clone());
                let rule = "the gradient must have the shape of the input".to_owned();
                let op = "gradcheck";
                return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
            }
            Some(grad) => grad.to_vec::<f64>()?,
            None => vec![0.0; x.numel()],
        };
        for (element, analytic) in analytic.into_iter().enumerate() {
            let at = |step: f64| {
                let mut moved = inputs.to_vec();
                moved[input] = shift_element(x, element, step)?;
                weighted(&moved)
            };
            // The differences are taken before the sum, which would round them away.
            let (after, before) = (at(STEP)?, at(-STEP)?);
            let pairs = after.iter().zip(&before);
            let numeric = pairs.map(|(a, b)| a - b).sum::<f64>() / (2.0 * STEP);
            let close = (analytic - numeric).abs()
                <= TOLERANCE * analytic.abs().max(numeric.abs()).max(1.0);
            if !close {
                return Err(AutogradError::GradCheck {
                    input,
                    element,
                    analytic,
                    numeric,
                }
                .into());
            }
        }
    }
    Ok(())
}

/// Checks the second derivatives of `f` at `inputs`: [`gradcheck`] of its gradients.
///
/// # Errors
///
/// As [`gradcheck`]; the output of which it speaks is that of the gradients in one row.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, autograd::gradgradcheck};
///
/// let x = Tensor::from([[0.5_f64, -1.5], [2.0, 1.0]]);
/// gradgradcheck(|x| x[0].matmul(&x[0].t()?)?.tanh(), &[x])?;
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn gradgradcheck(f: impl Fn(&[Tensor]) -> Result<Tensor>, inputs: &[Tensor]) -> Result<()> {
    gradcheck(|x| slopes(&f, x), inputs)
}

/// The gradients of `f` in one row, as a function of its inputs.
pub(crate) fn slopes(f: &dyn Fn(&[Tensor]) -> Result<Tensor>, inputs: &[Tensor]) -> Result<Tensor> {
    let tracked = |x: &Tensor| match x.requires_grad() {
        true => Ok(x.clone()),
        false => x.with_grad(),
    };
    enable_grad(|| {
        let leaves = inputs.iter().map(tracked).collect::<Result<Vec<_>>>()?;
        let y = f(&leaves)?;
        let wanted: Vec<&Tensor> = leaves.iter().collect();
        let options = BackwardOptions::new().create_graph(true);
        let grads = grad_with(&[&y], &[&weights(&y)?], &wanted, options)?;
        let mut row = Vec::with_capacity(grads.len());
        for (grad, x) in grads.into_iter().zip(&leaves) {
            // A gradient that is constant still depends on the inputs, with slope 0.
            let grad = grad.map_or_else(|| x.mul(0.0), |grad| grad.add(&x.mul(0.0)?))?;
            row.push(grad.reshape([grad.numel() as isize])?);
        }
        Tensor::cat(&row.iter().collect::<Vec<_>>(), 0)
    })
}

/// Weights between 1 and 2 that no symmetry of the output shares.
fn weights(output: &Tensor) -> Result<Tensor> {
    const GOLDEN_RATIO_CONJUGATE: f64 = 0.618_033_988_749_895;
    let weight = |i: usize| 1.0 + (i as f64 * GOLDEN_RATIO_CONJUGATE).fract();
    Tensor::from_vec((0..output.numel()).map(weight).collect(), output.shape())
        .and_then(|weights| weights.to_device(&output.device()))
}

/// `x` with one element moved, in the memory layout of `x`.
fn shift_element(x: &Tensor, element: usize, step: f64) -> Result<Tensor> {
    let mut values = x.to_vec::<f64>()?;
    let value = values.get_mut(element).ok_or_else(|| {
        let problem = "has fewer elements than its gradient";
        Error::argument("gradcheck", "input", x.shape(), problem)
    })?;
    *value += step;
    Tensor::from_vec(values, x.shape())?
        .to_device(&x.device())?
        .laid_out_like(x)
}

impl Tensor {
    /// The same elements with the dimensions in memory in the order that `like` has them.
    fn laid_out_like(&self, like: &Self) -> Result<Self> {
        let (order, back) = like.layout().memory_order();
        Ok(self.permute_by(&order).contiguous()?.permute_by(&back))
    }
}
