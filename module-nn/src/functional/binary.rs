//! Binary classification losses of probabilities and logits.

use module_core::{AutocastPolicy, Integers, Result, Tensor};

use super::Reduction;
use super::loss::{
    check_floating, check_same_shape, reduce, reduce_by_policy, reduce_elementwise, refuse_shapes,
    softplus, to_signs, widen,
};

/// The cross-entropy of logits with targets between 0 and 1:
/// `-w (p · y · ln σ(x) + (1 - y) · ln(1 - σ(x)))`, without overflow.
///
/// `weight` (`w`) and `pos_weight` (`p`) broadcast to the losses.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; weights that do not broadcast to them; different dtypes, or one that
/// is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, binary_cross_entropy_with_logits}};
///
/// let (x, y) = (Tensor::from([0.0_f32, 500.0]), Tensor::from([1.0_f32, 0.0]));
/// let loss = binary_cross_entropy_with_logits(&x, &y, None, Reduction::None, None)?;
/// assert_eq!(loss.to_vec::<f32>()?, [2.0_f32.ln(), 500.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn binary_cross_entropy_with_logits(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: Reduction,
    pos_weight: Option<&Tensor>,
) -> Result<Tensor> {
    const NAME: &str = "binary_cross_entropy_with_logits";
    reduce_elementwise(NAME, [input, target], reduction, |x, y| {
        let log_sigmoid = x.log_sigmoid()?;
        let log_sigmoid = match pos_weight {
            Some(p) => {
                let more = fit_weight(NAME, p, y)?.sub(1.0)?.mul(y)?;
                more.add(1.0)?.mul(&log_sigmoid)?
            }
            None => log_sigmoid,
        };
        let losses = ((1.0 - y)?.mul(x)? - &log_sigmoid)?;
        apply_weight(NAME, losses, weight)
    })
}

/// The losses, each times its weight.
pub(super) fn apply_weight(
    op: &'static str,
    losses: Tensor,
    weight: Option<&Tensor>,
) -> Result<Tensor> {
    match weight {
        Some(weight) => losses.mul(&fit_weight(op, weight, &losses)?),
        None => Ok(losses),
    }
}

/// Refuses a weight unless it broadcasts to the losses, rather than the reverse.
fn fit_weight(op: &'static str, weight: &Tensor, losses: &Tensor) -> Result<Tensor> {
    match weight.expand(losses.shape()) {
        Ok(weight) => widen(&weight),
        Err(_) => refuse_shapes(op, losses, weight, "a weight must broadcast to the losses"),
    }
}

/// `ln(1 + e^(-y·x))` with targets `y` of 1 and -1, without overflow.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; an input that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, soft_margin_loss}};
///
/// let (x, y) = (Tensor::from([0.0_f32, -200.0]), Tensor::from([1.0_f32, 1.0]));
/// let loss = soft_margin_loss(&x, &y, Reduction::None)?;
/// assert_eq!(loss.to_vec::<f32>()?, [2.0_f32.ln(), 200.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn soft_margin_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    const NAME: &str = "soft_margin_loss";
    if let Some(out) = AutocastPolicy::Float32.apply([input, target], [], |[input, target], []| {
        soft_margin_loss(input, target, reduction)
    }) {
        return out;
    }
    check_floating(NAME, input)?;
    check_same_shape(NAME, input, target)?;
    let against = widen(input)?.mul(&to_signs(target, input)?)?.neg()?;
    reduce(&softplus(&against)?, reduction)?.to_dtype(input.dtype())
}

/// The mean over the last dimension, that of the classes, of
/// `-w (y · ln σ(x) + (1 - y) · ln(1 - σ(x)))`.
///
/// The weight broadcasts to the input.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast, or without a dimension; a weight that does not broadcast to them; an
/// input that is not floating-point, a target of another floating-point dtype or of `Bool`.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, multilabel_soft_margin_loss}};
///
/// let (x, y) = (Tensor::from([[0.0_f32, 0.0]]), Tensor::from([[1.0_f32, 0.0]]));
/// let loss = multilabel_soft_margin_loss(&x, &y, None, Reduction::Mean)?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn multilabel_soft_margin_loss(
    input: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: Reduction,
) -> Result<Tensor> {
    const NAME: &str = "multilabel_soft_margin_loss";
    if input.rank() == 0 {
        return Err(input.shape().error(NAME, "[…, classes]"));
    }
    check_floating(NAME, input)?;
    // Labels are 0 or 1, and often integers.
    let target = match target.dtype().is_floating_point() {
        true => target,
        false => &target
            .to_integers(NAME, Integers::Classes)?
            .to_dtype(input.dtype())?,
    };
    // PyTorch composes it of operations that are in no autocast list.
    let policy = AutocastPolicy::Promote;
    reduce_by_policy(NAME, policy, [input, target], reduction, |x, y| {
        let no = softplus(x)?.mul(&y.neg()?.add(1.0)?)?;
        let losses = no.sub(&x.log_sigmoid()?.mul(y)?)?;
        apply_weight(NAME, losses, weight)?.mean(-1)
    })
}
