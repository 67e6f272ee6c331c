//! Distances of vectors, and losses based on them.

use module_core::{AutocastPolicy, Result, Tensor};

use super::loss::{check_floating, check_same_shape, reduce, refuse_shapes, widen};
use super::{Reduction, pairwise_distance};
use crate::config::check_above_zero;
use crate::{TripletMarginLossConfig, TripletMarginWithDistanceLossConfig};

/// Added to the squared lengths, so that no cosine divides by 0.
const COSINE_EPSILON: f64 = 1e-12;

/// `1 - cos(x₁, x₂)` where the target is 1, and `max(0, cos(x₁, x₂) - margin)` where it is -1.
///
/// # Shapes
///
/// Vectors `[batch, features]` with a target `[batch]`, or `[features]` with `[]`.
///
/// # Errors
///
/// Other shapes, even if they would broadcast; different dtypes of the inputs, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, cosine_embedding_loss}};
///
/// let (a, b) = (Tensor::from([[1.0_f32, 0.0]]), Tensor::from([[0.0_f32, 2.0]]));
/// let loss = cosine_embedding_loss(&a, &b, &Tensor::from([1_i64]), 0.0, Reduction::Mean)?;
/// assert_eq!(loss.item::<f32>()?, 1.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn cosine_embedding_loss(
    input1: &Tensor,
    input2: &Tensor,
    target: &Tensor,
    margin: f64,
    reduction: Reduction,
) -> Result<Tensor> {
    const NAME: &str = "cosine_embedding_loss";
    if let Some(out) = AutocastPolicy::Float32.apply(
        [input1, input2, target],
        [],
        |[input1, input2, target], []| {
            cosine_embedding_loss(input1, input2, target, margin, reduction)
        },
    ) {
        return out;
    }
    check_floating(NAME, input1)?;
    if !(1..=2).contains(&input1.rank()) {
        let expected = "[batch, features] or [features]";
        return Err(input1.shape().error(NAME, expected));
    }
    check_same_shape(NAME, input1, input2)?;
    if **target.shape() != input1.shape()[..input1.rank() - 1] {
        let rule = "a target has the shape of the inputs without the features";
        return refuse_shapes(NAME, input1, target, rule);
    }
    let (a, b) = (widen(input1)?, widen(input2)?);
    let product = |x: &Tensor, y: &Tensor| x.mul(y)?.sum(-1);
    let squares = product(&a, &a)?.add(COSINE_EPSILON)?;
    let squares = squares.mul(&product(&b, &b)?.add(COSINE_EPSILON)?)?;
    let cosine = product(&a, &b)?.div(&squares.sqrt()?)?;
    let zero = cosine.zeros_like()?;
    let together = target.eq(1)?.where_(&cosine.neg()?.add(1.0)?, &zero)?;
    let apart = cosine.sub(margin)?.clamp_min(0.0)?;
    let losses = target.eq(-1)?.where_(&apart, &zero)?.add(&together)?;
    reduce(&losses, reduction)?.to_dtype(input1.dtype())
}

/// Penalizes an anchor that is not closer to the positive than to the negative by at least the margin:
/// `max(0, d(a, p) - d(a, n) + margin)` with the [`pairwise_distance`]; with `swap`, the distance of the negative is that
/// from the anchor or from the positive, whichever is smaller.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; a margin that is not above 0; different dtypes, or one that is not
/// floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, TripletMarginLossConfig, functional::triplet_margin_loss};
///
/// let vector = |x: f32| Tensor::from([[x, 0.0]]);
/// let loss = triplet_margin_loss(&vector(0.0), &vector(1.0), &vector(9.0), &TripletMarginLossConfig::new())?;
/// assert_eq!(loss.item::<f32>()?, 0.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn triplet_margin_loss(
    anchor: &Tensor,
    positive: &Tensor,
    negative: &Tensor,
    options: &TripletMarginLossConfig,
) -> Result<Tensor> {
    if let Some(out) = AutocastPolicy::Float32.apply(
        [anchor, positive, negative],
        [],
        |[anchor, positive, negative], []| triplet_margin_loss(anchor, positive, negative, options),
    ) {
        return out;
    }
    let &TripletMarginLossConfig {
        margin,
        p,
        eps,
        swap,
        reduction,
    } = options;
    let distance = |a: Tensor, b: Tensor| pairwise_distance(&a, &b, p, eps);
    let triplet = [anchor, positive, negative];
    triplets(
        "triplet_margin_loss",
        triplet,
        distance,
        margin,
        swap,
        reduction,
    )
}

/// [`triplet_margin_loss`] with another distance between tensors of equal shape, such as a closure.
///
/// # Errors
///
/// Those of [`triplet_margin_loss`], and those of the distance.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::triplet_margin_with_distance_loss};
/// use module_nn::TripletMarginWithDistanceLossConfig;
///
/// let far = |a: Tensor, b: Tensor| a.sub(&b)?.abs()?.amax(-1);
/// let vector = |x: f32| Tensor::from([[x, 0.0]]);
/// let (anchor, positive, negative) = (vector(0.0), vector(2.0), vector(2.5));
/// let options = TripletMarginWithDistanceLossConfig::new();
/// let loss = triplet_margin_with_distance_loss(&anchor, &positive, &negative, far, &options)?;
/// assert_eq!(loss.item::<f32>()?, 0.5);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn triplet_margin_with_distance_loss(
    anchor: &Tensor,
    positive: &Tensor,
    negative: &Tensor,
    distance_function: impl Fn(Tensor, Tensor) -> Result<Tensor>,
    options: &TripletMarginWithDistanceLossConfig,
) -> Result<Tensor> {
    const NAME: &str = "triplet_margin_with_distance_loss";
    let &TripletMarginWithDistanceLossConfig {
        margin,
        swap,
        reduction,
    } = options;
    let triplet = [anchor, positive, negative];
    triplets(NAME, triplet, distance_function, margin, swap, reduction)
}

fn triplets(
    op: &'static str,
    [anchor, positive, negative]: [&Tensor; 3],
    distance: impl Fn(Tensor, Tensor) -> Result<Tensor>,
    margin: f64,
    swap: bool,
    reduction: Reduction,
) -> Result<Tensor> {
    check_above_zero(op, "margin", margin)?;
    check_floating(op, anchor)?;
    check_same_shape(op, anchor, positive)?;
    check_same_shape(op, anchor, negative)?;
    let dtype = anchor.dtype();
    let (anchor, positive) = (widen(anchor)?, widen(positive)?);
    let negative = widen(negative)?;
    let near = distance(anchor.clone(), positive.clone())?;
    let mut far = distance(anchor, negative.clone())?;
    if swap {
        far = far.minimum(&distance(positive, negative)?)?;
    }
    let losses = near.add(margin)?.sub(&far)?.clamp_min(0.0)?;
    reduce(&losses, reduction)?.to_dtype(dtype)
}
