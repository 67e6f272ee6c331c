//! Regression losses.

use module_core::fused::huber;
use module_core::{Error, Result, Tensor};

use super::Reduction;
use super::loss::reduce_elementwise;

/// The squared differences: `(x - y)²`.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, mse_loss}};
///
/// let (x, y) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f32, 4.0]));
/// assert_eq!(mse_loss(&x, &y, Reduction::Mean)?.item::<f32>()?, 2.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn mse_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    // Sums need no tensor of squares, and are then reduced already.
    let reduce = |x: &Tensor, y: &Tensor| {
        let difference = x.sub(y)?;
        match reduction {
            Reduction::None => difference.square(),
            Reduction::Sum => difference.sum_squares(..),
            Reduction::Mean => difference
                .sum_squares(..)?
                .div(difference.shape().numel() as f64),
        }
    };
    reduce_elementwise("mse_loss", [input, target], Reduction::None, reduce)
}

/// The absolute differences: `|x - y|`.
///
/// # Errors
///
/// Those of [`mse_loss`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, l1_loss}};
///
/// let (x, y) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f32, 4.0]));
/// assert_eq!(l1_loss(&x, &y, Reduction::Sum)?.item::<f32>()?, 2.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn l1_loss(input: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    reduce_elementwise("l1_loss", [input, target], reduction, |x, y| {
        x.sub(y)?.abs()
    })
}

/// Squared below a distance of `beta`, absolute above: with `z = |x - y|`
///
/// ```text
/// z² / (2 beta)   if z < beta
/// z - beta / 2    otherwise
/// ```
///
/// # Errors
///
/// Those of [`mse_loss`], and a `beta` below 0.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, smooth_l1_loss}};
///
/// let (x, y) = (Tensor::from([0.0_f32, 2.0]), Tensor::from([0.5_f32, 4.0]));
/// assert_eq!(smooth_l1_loss(&x, &y, Reduction::None, 1.0)?.to_vec::<f32>()?, [0.125, 1.5]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn smooth_l1_loss(
    input: &Tensor,
    target: &Tensor,
    reduction: Reduction,
    beta: f64,
) -> Result<Tensor> {
    const NAME: &str = "smooth_l1_loss";
    if beta.is_nan() || beta < 0.0 {
        return Err(Error::argument(NAME, "beta", beta, "must be at least 0"));
    }
    reduce_elementwise(NAME, [input, target], reduction, |x, y| {
        let difference = x.sub(y)?;
        match beta == 0.0 {
            true => difference.abs(),
            false => huber(&difference, beta, 1.0),
        }
    })
}

/// Squared up to a distance of `delta`, absolute above: with `z = |x - y|`
///
/// ```text
/// z² / 2                  if z ≤ delta
/// delta (z - delta / 2)   otherwise
/// ```
///
/// # Errors
///
/// Those of [`mse_loss`], and a `delta` that is not above 0.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{Reduction, huber_loss}};
///
/// let (x, y) = (Tensor::from([0.0_f32, 2.0]), Tensor::from([1.0_f32, 4.0]));
/// assert_eq!(huber_loss(&x, &y, Reduction::None, 0.5)?.to_vec::<f32>()?, [0.375, 0.875]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn huber_loss(
    input: &Tensor,
    target: &Tensor,
    reduction: Reduction,
    delta: f64,
) -> Result<Tensor> {
    const NAME: &str = "huber_loss";
    if delta.is_nan() || delta <= 0.0 {
        return Err(Error::argument(NAME, "delta", delta, "must be above 0"));
    }
    reduce_elementwise(NAME, [input, target], reduction, |x, y| {
        huber(&x.sub(y)?, delta, delta)
    })
}
