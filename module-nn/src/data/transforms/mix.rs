use module_core::rng::default_generator;
use module_core::{DType, Error, Result, Tensor};

use super::below;
use super::beta::symmetric_beta;
use super::functional::{image_sizes, put};
use crate::config::check_above_zero;

/// Mixes each image of a batch, and its label, with the one before it:
///
/// ```text
/// λ ~ Beta(α, α)      x ← λ x + (1 - λ) x'      y ← λ y + (1 - λ) y'
/// ```
///
/// Labels are class numbers, `[batch]`, or probabilities, `[batch, classes]`; the result has probabilities. There is one λ
/// for the whole, already shuffled, batch. Call it on batches, after the loader.
///
/// Source: Zhang et al., *mixup: Beyond Empirical Risk Minimization* (2017).
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::MixUp;
/// use module_nn::prelude::*;
///
/// let images = Tensor::zeros([2, 3, 4, 4], DType::F32)?;
/// let (images, labels) = MixUp::new(0.2, 10)?.apply(&images, &Tensor::from([3_i64, 5]))?;
/// assert_eq!((images.shape()[0], labels.shape().to_string()), (2, "[2, 10]".to_owned()));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixUp {
    alpha: f64,
    num_classes: usize,
}

/// Pastes a rectangle of the previous image into each image of a batch, and mixes the labels in proportion to the area.
///
/// ```text
/// λ ~ Beta(α, α)      a rectangle of (1 - λ) of the area, cut off at the edges      y ← λ' y + (1 - λ') y'
/// ```
///
/// Labels are as for [`MixUp`]; λ' is the fraction of the image that remains.
///
/// Source: Yun et al., *CutMix: Regularization Strategy to Train Strong Classifiers with Localizable Features* (2019).
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::CutMix;
/// use module_nn::prelude::*;
///
/// let images = Tensor::zeros([2, 3, 4, 4], DType::F32)?;
/// let (images, labels) = CutMix::new(1.0, 10)?.apply(&images, &Tensor::from([3_i64, 5]))?;
/// assert_eq!((images.shape()[0], labels.shape().to_string()), (2, "[2, 10]".to_owned()));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutMix {
    alpha: f64,
    num_classes: usize,
}

macro_rules! mixes {
    ($($name:ident)+) => {$(
        impl $name {
            /// Makes the transform with the parameter of the distribution (torchvision's default is 1) and the number
            /// of classes.
            ///
            /// # Errors
            ///
            /// An `alpha` that is not above 0, no class.
            pub fn new(alpha: f64, num_classes: usize) -> Result<Self> {
                check_above_zero(stringify!($name), "alpha", alpha)?;
                if num_classes == 0 {
                    let problem = "must be at least 1";
                    return Err(Error::argument(stringify!($name), "num_classes", num_classes, problem));
                }
                Ok(Self { alpha, num_classes })
            }
        }
    )+};
}

mixes! { MixUp CutMix }

impl MixUp {
    /// Images `[batch, channels, height, width]` and labels, mixed; λ is drawn from the default generator.
    ///
    /// # Errors
    ///
    /// Those of [`mixup`].
    pub fn apply(&self, images: &Tensor, labels: &Tensor) -> Result<(Tensor, Tensor)> {
        let labels = probabilities("MixUp", images, labels, self.num_classes)?;
        mixup(
            images,
            &labels,
            symmetric_beta(&default_generator(), self.alpha)?,
        )
    }
}

impl CutMix {
    /// Images `[batch, channels, height, width]` and labels, mixed; λ and the rectangle are drawn from the default
    /// generator.
    ///
    /// # Errors
    ///
    /// Those of [`cutmix`].
    pub fn apply(&self, images: &Tensor, labels: &Tensor) -> Result<(Tensor, Tensor)> {
        let labels = probabilities("CutMix", images, labels, self.num_classes)?;
        let [_, height, width] = image_sizes("CutMix", images)?;
        let lambda = symmetric_beta(&default_generator(), self.alpha)?;
        let (x, y) = (below(width)?, below(height)?);
        let half = 0.5 * (1.0 - lambda).sqrt();
        let (half_x, half_y) = (
            (half * width as f64) as usize,
            (half * height as f64) as usize,
        );
        let start = [y.saturating_sub(half_y), x.saturating_sub(half_x)];
        let end = [(y + half_y).min(height), (x + half_x).min(width)];
        cutmix(images, &labels, start, end)
    }
}

/// [`MixUp`] with a given λ: returns images, and labels that are probabilities.
///
/// # Errors
///
/// Images that are not a batch or are integers, labels with a wrong number of dimensions or samples.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::mixup;
/// use module_nn::prelude::*;
///
/// let images = Tensor::from([0.0_f32, 1.0]).reshape([2, 1, 1, 1])?;
/// let (images, labels) = mixup(&images, &Tensor::from([[1.0_f32, 0.0], [0.0, 1.0]]), 0.75)?;
/// assert_eq!(images.to_vec::<f32>()?, [0.25, 0.75]);
/// assert_eq!(labels.to_vec::<f32>()?, [0.75, 0.25, 0.25, 0.75]);
/// # Ok::<(), Error>(())
/// ```
pub fn mixup(images: &Tensor, labels: &Tensor, lambda: f64) -> Result<(Tensor, Tensor)> {
    const OP: &str = "mixup";
    check_batch(OP, images, labels)?;
    if images.dtype() == DType::U8 {
        let problem = "must be floating-point; use `to_dtype_scaled` first";
        return Err(Error::argument(OP, "images.dtype", images.dtype(), problem));
    }
    Ok((mixed(images, lambda)?, mixed(labels, lambda)?))
}

/// [`CutMix`] with a given rectangle, by top and left (inclusive) and by bottom and right (exclusive): returns images, and
/// labels that are probabilities.
///
/// # Errors
///
/// Images that are not a batch, labels with a wrong number of dimensions or samples, a rectangle out of bounds.
///
/// # Example
///
/// ```
/// use module_nn::data::transforms::cutmix;
/// use module_nn::prelude::*;
///
/// let images = Tensor::from([1_u8, 1, 2, 2]).reshape([2, 1, 1, 2])?;
/// let (images, labels) = cutmix(&images, &Tensor::from([[1.0_f32, 0.0], [0.0, 1.0]]), [0, 1], [1, 2])?;
/// assert_eq!(images.to_vec::<u8>()?, [1, 2, 2, 1]);
/// assert_eq!(labels.to_vec::<f32>()?, [0.5; 4]);
/// # Ok::<(), Error>(())
/// ```
pub fn cutmix(
    images: &Tensor,
    labels: &Tensor,
    start: [usize; 2],
    end: [usize; 2],
) -> Result<(Tensor, Tensor)> {
    const OP: &str = "cutmix";
    let [height, width] = check_batch(OP, images, labels)?;
    let inside = |i: usize, size: usize| start[i] <= end[i] && end[i] <= size;
    if !(inside(0, height) && inside(1, width)) {
        let rectangle = format_args!("{start:?} and {end:?}");
        let problem = format!("must lie within [{height}, {width}]");
        return Err(Error::argument(OP, "start and end", rectangle, problem));
    }
    let other = images.roll(1, 0)?;
    let (rows, columns) = (start[0]..end[0], start[1]..end[1]);
    let part = other
        .narrow(-2, rows.clone())?
        .narrow(-1, columns.clone())?;
    let area = (rows.len() * columns.len()) as f64 / (height * width) as f64;
    let images = put(images, rows, columns, &part)?;
    Ok((images, mixed(labels, 1.0 - area)?))
}

/// `λ x + (1 - λ) x'`, where `x'` is the previous sample.
fn mixed(x: &Tensor, lambda: f64) -> Result<Tensor> {
    x.roll(1, 0)?.mul(1.0 - lambda)?.add(&x.mul(lambda)?)
}

/// Height and width of the images of a batch whose labels are probabilities.
fn check_batch(op: &'static str, images: &Tensor, labels: &Tensor) -> Result<[usize; 2]> {
    let [_, height, width] = image_sizes(op, images)?;
    let (4, &[batch, ..]) = (images.rank(), &images.shape()[..]) else {
        return Err(images.shape().error(op, "[batch, channels, height, width]"));
    };
    match (labels.rank(), labels.shape().first()) {
        (2, Some(&count)) if count == batch => Ok([height, width]),
        _ => Err(labels.shape().error(
            op,
            format!("[{batch}, classes], the probabilities of the labels"),
        )),
    }
}

/// Labels as probabilities.
fn probabilities(
    op: &'static str,
    images: &Tensor,
    labels: &Tensor,
    classes: usize,
) -> Result<Tensor> {
    let labels = match labels.rank() {
        1 => labels.one_hot(classes)?,
        _ => labels.clone(),
    };
    let labels = match labels.dtype().is_floating_point() {
        true => labels,
        false => labels.to_dtype(DType::F32)?,
    };
    check_batch(op, images, &labels)?;
    match labels.size(1)? == classes {
        true => Ok(labels),
        false => Err(labels.shape().error(op, format!("[batch, {classes}]"))),
    }
}
