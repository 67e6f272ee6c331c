//! Losses that are 0 beyond a margin.

use module_core::{AutocastPolicy, DType, Error, ErrorKind, Integers, Result, ShapeError, Tensor};

use super::Reduction;
use super::loss::{check_floating, check_same_shape, reduce, refuse_shapes, to_signs, widen};

/// `max(0, -y (x₁ - x₂) + margin)` with targets `y` of 1, if the first should be greater, and -1 otherwise.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes of the inputs, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, margin_ranking_loss}};
///
/// let (a, b) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([3.0_f32, 0.0]));
/// let loss = margin_ranking_loss(&a, &b, &Tensor::from([1_i64, 1]), 0.5, Reduction::None)?;
/// assert_eq!(loss.to_vec::<f32>()?, [2.5, 0.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn margin_ranking_loss(
    input1: &Tensor,
    input2: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    const NAME: &str = "margin_ranking_loss";
    if let Some(out) = AutocastPolicy::Float32.apply(
        [input1, input2, target],
        [],
        |[input1, input2, target], []| {
            margin_ranking_loss(input1, input2, target, margin, reduction)
        },
    ) {
        return out;
    }
    check_floating(NAME, input1)?;
    check_same_shape(NAME, input1, input2)?;
    check_same_shape(NAME, input1, target)?;
    let lead = widen(input1)?.sub(&widen(input2)?)?;
    let losses = lead.mul(&to_signs(target, input1)?)?.neg()?;
    let losses = losses.add(margin)?.clamp_min(0.0)?;
    reduce(&losses, reduction)?.to_dtype(input1.dtype())
}

/// A distance `x` if the target is 1, and `max(0, margin - x)` if it is -1.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; an input that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, hinge_embedding_loss}};
///
/// let (x, y) = (Tensor::from([0.5_f32, 0.25]), Tensor::from([1_i64, -1]));
/// let loss = hinge_embedding_loss(&x, &y, 1.0, Reduction::None)?;
/// assert_eq!(loss.to_vec::<f32>()?, [0.5, 0.75]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn hinge_embedding_loss(
    input: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    const NAME: &str = "hinge_embedding_loss";
    if let Some(out) = AutocastPolicy::Float32.apply([input, target], [], |[input, target], []| {
        hinge_embedding_loss(input, target, margin, reduction)
    }) {
        return out;
    }
    check_floating(NAME, input)?;
    check_same_shape(NAME, input, target)?;
    let x = widen(input)?;
    let apart = x.neg()?.add(margin)?.clamp_min(0.0)?;
    // As in PyTorch, a target that is neither 1 nor -1 adds both terms.
    let apart = apart.masked_fill(&target.eq(1)?, 0.0)?;
    let together = x.masked_fill(&target.eq(-1)?, 0.0)?;
    reduce(&apart.add(&together)?, reduction)?.to_dtype(input.dtype())
}

/// How close other classes come to the correct one, `y`: `Σ w_y · max(0, margin - x_y + xᵢ)ᵖ / classes` over all `i ≠ y`.
///
/// # Shapes
///
/// `[batch, classes]` with a target of classes `[batch]` (`I64`, `I32` or `U8`), or `[classes]` with `[]` or
/// `[1]`; a weight `[classes]`.
///
/// # Errors
///
/// Other shapes, a class that is out of range, a `p` other than 1 and 2.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, multi_margin_loss}};
///
/// let x = Tensor::from([[0.5_f32, 1.0, -2.0, 0.25]]);
/// let loss = multi_margin_loss(&x, &Tensor::from([1_i64]), 1, 1.0, None, Reduction::Mean)?;
/// assert_eq!(loss.item::<f32>()?, (0.5 + 0.25) / 4.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn multi_margin_loss(
    input: &Tensor,
    target: &Tensor,
    p: u32,
    margin: f64,
    weight: Option<&Tensor>,
    reduction: Reduction,
) -> Result<Tensor> {
    const NAME: &str = "multi_margin_loss";
    if let Some(out) = AutocastPolicy::Float32.apply([input], [weight], |[input], [weight]| {
        multi_margin_loss(input, target, p, margin, weight, reduction)
    }) {
        return out;
    }
    check_p(NAME, p)?;
    let (x, classes) = rows(NAME, input)?;
    let count = x.size(0)?;
    if target.rank() > 1 || target.numel() != count {
        let rule = "a target holds a class for each row of the input";
        return refuse_shapes(NAME, input, target, rule);
    }
    let given = target.shape();
    let target = target
        .to_integers(NAME, Integers::Classes)?
        .reshape(count)?;
    let own = target.unsqueeze(1)?;
    let right = x
        .gather(1, &own)
        .map_err(|e| class_error(NAME, e, classes))?;
    let short = x.sub(&right)?.add(margin)?.relu()?;
    let mut losses = if p == 2 { short.square()? } else { short };
    if let Some(weight) = weight {
        if **weight.shape() != [classes] {
            return refuse_shapes(NAME, input, weight, format!("a weight is [{classes}]"));
        }
        let weight = widen(weight)?.index_select(0, &target)?;
        losses = losses.mul(&weight.unsqueeze(1)?)?;
    }
    let losses = losses.scatter(1, &own, 0.0)?.mean(1)?;
    reduce(&losses.reshape(given)?, reduction)?.to_dtype(input.dtype())
}

/// Refuses a power other than 1 and 2.
pub(crate) fn check_p(op: &'static str, p: u32) -> Result<()> {
    match p {
        1 | 2 => Ok(()),
        _ => Err(Error::argument(op, "p", p, "must be 1 or 2")),
    }
}

/// How close other classes come to the correct ones, of which there may be several: `Σ max(0, 1 - (x_y - xᵢ)) / classes`
/// over the correct classes `y` and all other `i`.
///
/// # Shapes
///
/// `[batch, classes]` or `[classes]`. The target has the shape of the input: the correct classes as `I64` or `I32`, of
/// which those before the first -1 count.
///
/// # Errors
///
/// Other shapes, a class that is out of range.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, multilabel_margin_loss}};
///
/// let x = Tensor::from([0.25_f32, 0.5, 1.0, 0.75]);
/// let right = Tensor::from([3_i64, 0, -1, 1]);
/// let loss = multilabel_margin_loss(&x, &right, Reduction::Mean)?;
/// assert_eq!(loss.item::<f32>()?, (0.75 + 1.25 + 1.25 + 1.75) / 4.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn multilabel_margin_loss(
    input: &Tensor,
    target: &Tensor,
    reduction: Reduction,
) -> Result<Tensor> {
    const NAME: &str = "multilabel_margin_loss";
    if let Some(out) = AutocastPolicy::Float32.apply([input], [], |[input], []| {
        multilabel_margin_loss(input, target, reduction)
    }) {
        return out;
    }
    let (x, classes) = rows(NAME, input)?;
    check_same_shape(NAME, input, target)?;
    // Not U8, which has no -1 to mark the end.
    let target = target
        .to_integers(NAME, Integers::Indices)?
        .reshape(x.shape())?;
    // 1 until the first -1.
    let counts = target.ne(-1)?.to_dtype(DType::I64)?.cumprod(1)?.ne(0)?;
    let safe = target.masked_fill(&counts.logical_not()?, 0_i64)?;
    let right = x
        .gather(1, &safe)
        .map_err(|e| class_error(NAME, e, classes))?;
    let zeros = counts.to_dtype(DType::I64)?.zeros_like()?;
    let is_right = zeros.scatter_add(1, &safe, &counts.to_dtype(DType::I64)?)?;
    let compared = is_right.eq(0)?.unsqueeze(1)?;
    let compared = counts.unsqueeze(2)?.logical_and(&compared)?;
    // Each correct class (dimension 1) with each other class (dimension 2).
    let short = x
        .unsqueeze(1)?
        .sub(&right.unsqueeze(2)?)?
        .add(1.0)?
        .relu()?;
    let short = short.masked_fill(&compared.logical_not()?, 0.0)?;
    let losses = short.sum([1, 2])?.div(classes as f64)?;
    finish(&losses, input, reduction)
}

/// The input as `[batch, classes]`, and the number of classes.
fn rows(op: &'static str, input: &Tensor) -> Result<(Tensor, usize)> {
    check_floating(op, input)?;
    let (x, classes) = match **input.shape() {
        [] => (input.reshape([1, 1])?, 1),
        [classes] => (input.unsqueeze(0)?, classes),
        [_, classes] => (input.clone(), classes),
        _ => (input.clone(), 0),
    };
    if classes == 0 {
        let expected = "[batch, classes] or [classes], with a class";
        return Err(input.shape().error(op, expected));
    }
    Ok((widen(&x)?, classes))
}

/// The losses of the rows in the batch shape of the input, reduced.
fn finish(losses: &Tensor, input: &Tensor, reduction: Reduction) -> Result<Tensor> {
    let losses = if input.rank() < 2 {
        losses.squeeze(0)?
    } else {
        losses.clone()
    };
    reduce(&losses, reduction)?.to_dtype(input.dtype())
}

/// The look-up error in the terms of the loss.
fn class_error(op: &'static str, error: Error, classes: usize) -> Error {
    match error.kind() {
        &ErrorKind::Shape(ShapeError::Index { index, .. }) => {
            let problem = format!("must be a class below {classes}");
            Error::argument(op, "target", index, problem)
        }
        _ => error,
    }
}
