//! Negative log-likelihood losses and divergences.

use module_core::{AutocastPolicy, DTypeError, Error, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::Reduction;
use super::loss::{
    check_floating, check_same_shape, reduce, reduce_elementwise, refuse_shapes, widen,
};
use crate::{GaussianNLLLossConfig, PoissonNLLLossConfig};

/// How [`kl_div`] reduces the divergences of the elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KLDivReduction {
    /// No reduction.
    None,
    /// Their mean over all elements, which is not the divergence.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// Their sum divided by the size of the first dimension: the divergence.
    BatchMean,
}

/// The Kullback–Leibler divergence of probabilities `y` from log-probabilities `x`: `y (ln y - x)`, which is 0 where `y`
/// is.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{KLDivReduction, kl_div}};
///
/// let x = Tensor::from([[0.5_f32.ln(), 0.5_f32.ln()]]);
/// let loss = kl_div(&x, &Tensor::from([[1.0_f32, 0.0]]), KLDivReduction::BatchMean)?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn kl_div(input: &Tensor, target: &Tensor, reduction: KLDivReduction) -> Result<Tensor> {
    compute_divergence(input, target, reduction, false)
}

/// [`kl_div`] with a target of log-probabilities `y`: `eʸ (y - x)`, `log_target=True`.
///
/// # Errors
///
/// Those of [`kl_div`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{KLDivReduction, kl_div_log_target}};
///
/// let x = Tensor::from([[0.5_f32.ln(), 0.5_f32.ln()]]);
/// assert_eq!(kl_div_log_target(&x, &x, KLDivReduction::BatchMean)?.item::<f32>()?, 0.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn kl_div_log_target(
    input: &Tensor,
    target: &Tensor,
    reduction: KLDivReduction,
) -> Result<Tensor> {
    compute_divergence(input, target, reduction, true)
}

fn compute_divergence(
    input: &Tensor,
    target: &Tensor,
    reduction: KLDivReduction,
    log_target: bool,
) -> Result<Tensor> {
    let (joined, batch) = match reduction {
        KLDivReduction::None => (Reduction::None, None),
        KLDivReduction::Mean => (Reduction::Mean, None),
        KLDivReduction::Sum => (Reduction::Sum, None),
        KLDivReduction::BatchMean => (Reduction::Sum, input.shape().first()),
    };
    let loss = reduce_elementwise("kl_div", [input, target], joined, |x, y| {
        if log_target {
            return y.exp()?.mul(&y.sub(x)?);
        }
        let zero = y.eq(0.0)?;
        let log = y.masked_fill(&zero, 1.0)?.log()?;
        (log * y)? - x.mul(y)?
    })?;
    match batch {
        Some(&batch) => loss.div(batch as f64),
        None => Ok(loss),
    }
}

/// The negative log-probability of counts `y` under a Poisson distribution whose mean has the logarithm `x`: `eˣ - y·x`;
/// without `log_input`, with the mean `x`: `x - y · ln(x + eps)`.
///
/// The factorial of the counts is left out, or with `full` approximated for counts above 1 by
/// Stirling's `y · ln y - y + ln(2πy) / 2`.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{PoissonNLLLossConfig, Tensor, functional::poisson_nll_loss};
///
/// let (x, y) = (Tensor::from([0.0_f32, 0.0]), Tensor::from([2.0_f32, 0.0]));
/// let loss = poisson_nll_loss(&x, &y, &PoissonNLLLossConfig::new())?;
/// assert_eq!(loss.item::<f32>()?, 1.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn poisson_nll_loss(
    input: &Tensor,
    target: &Tensor,
    options: &PoissonNLLLossConfig,
) -> Result<Tensor> {
    const NAME: &str = "poisson_nll_loss";
    reduce_elementwise(NAME, [input, target], options.reduction, |x, y| {
        let losses = match options.log_input {
            true => x.exp()?.sub(&y.mul(x)?)?,
            false => x.sub(&y.mul(&x.add(options.eps)?.log()?)?)?,
        };
        if !options.full {
            return Ok(losses);
        }
        let few = y.le(1.0)?;
        // Avoids the logarithm of 0, whose infinite derivative would turn zero gradients into NaN.
        let many = y.masked_fill(&few, 1.0)?;
        let root = many.mul(std::f64::consts::TAU)?.log()?.mul(0.5)?;
        let factorial = many.log()?.mul(&many)?.sub(&many)?.add(&root)?;
        losses.add(&factorial.masked_fill(&few, 0.0)?)
    })
}

/// The negative log-density of the target `y` under normal distributions with the mean `x` and the variance `v`, which is
/// at least `eps`: `(ln v + (x - y)² / v) / 2`, with `full` also the constant `ln(2π) / 2`.
///
/// Raising the variance to `eps` does not affect its gradient.
///
/// # Shapes
///
/// An input and a target of the same shape. The variance has that shape too, possibly with 1 in one dimension, or without
/// the last one.
///
/// # Errors
///
/// Other shapes, even if they would broadcast; a negative variance; an `eps` that is not above 0; different dtypes, or one
/// that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{GaussianNLLLossConfig, Tensor, functional::gaussian_nll_loss};
///
/// let (x, y) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f32, 4.0]));
/// let loss = gaussian_nll_loss(&x, &y, &Tensor::from([1.0_f32, 1.0]), &GaussianNLLLossConfig::new())?;
/// assert_eq!(loss.item::<f32>()?, 1.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn gaussian_nll_loss(
    input: &Tensor,
    target: &Tensor,
    var: &Tensor,
    options: &GaussianNLLLossConfig,
) -> Result<Tensor> {
    const NAME: &str = "gaussian_nll_loss";
    if let Some(out) =
        AutocastPolicy::Promote.apply([input, target, var], [], |[input, target, var], []| {
            gaussian_nll_loss(input, target, var, options)
        })
    {
        return out;
    }
    check_floating(NAME, input)?;
    check_same_shape(NAME, input, target)?;
    options.check(NAME)?;
    let var = widen(&fit_variance(NAME, input, var)?)?;
    if let Some(negative) = first_negative(&var)? {
        let problem = "a variance must not be negative";
        return Err(Error::argument(NAME, "var", negative, problem));
    }
    let raised = var.detach().clamp_min(options.eps)?;
    // The values of one, the gradient of the other.
    let var = raised.add(&var.sub(var.detach())?)?;
    let distance = widen(input)?.sub(&widen(target)?)?;
    let losses = distance.square()?.div(&var)?.add(&var.log()?)?.mul(0.5)?;
    let losses = match options.full {
        true => losses.add(0.5 * std::f64::consts::TAU.ln())?,
        false => losses,
    };
    reduce(&losses, options.reduction)?.to_dtype(input.dtype())
}

/// The variance in a shape that broadcasts to the input's in at most one dimension.
fn fit_variance(op: &'static str, input: &Tensor, var: &Tensor) -> Result<Tensor> {
    if input.dtype() != var.dtype() {
        let (lhs, rhs) = (input.dtype(), var.dtype());
        return Err(DTypeError::Mismatch { op, lhs, rhs }.into());
    }
    let (wide, shape) = (input.shape(), var.shape());
    let differing = wide.iter().zip(shape.iter()).filter(|(a, b)| a != b);
    let differing: Vec<usize> = differing.map(|(_, &size)| size).collect();
    if wide.rank() == shape.rank() && (differing.is_empty() || differing == [1]) {
        Ok(var.clone())
    } else if wide.rank() == shape.rank() + 1 && differing.is_empty() {
        var.unsqueeze(-1)
    } else {
        let rule = "a variance has the input's shape, or 1 in one dimension, or lacks the last one";
        refuse_shapes(op, input, var, rule)
    }
}

/// The first element below 0.
fn first_negative(var: &Tensor) -> Result<Option<f64>> {
    let var = var.detach();
    let negative = var.masked_select(&var.lt(0.0)?)?;
    let negative = negative.to_dtype(module_core::DType::F64)?;
    Ok(negative.to_vec::<f64>()?.first().copied())
}
