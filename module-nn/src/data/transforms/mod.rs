//! Image transforms for training: torchvision's `transforms.v2` on tensors.
//!
//! A [`Transform`] maps an image to an image; [`Compose`] runs several. Functions are transforms too, so those of
//! [`functional`] can be mixed with random ones. Random transforms draw from the default generator in torchvision's order:
//! after [`manual_seed`](module_core::manual_seed) the result is torchvision's, and in a [`DataLoader`](super::DataLoader)
//! it depends only on the epoch and the batch, not on the workers.
//!
//! # Example
//!
//! ```
//! use module_nn::data::transforms::{
//!     ColorJitterConfig, Compose, Normalize, RandomCropConfig, RandomHorizontalFlip, Transform, functional,
//! };
//! use module_nn::data::{DataLoaderConfig, DatasetExt, TensorDataset};
//! use module_nn::prelude::*;
//!
//! let augment = Compose::new()
//!     .push(RandomCropConfig::new([32, 32]).padding([4; 4]).build()?)
//!     .push(RandomHorizontalFlip::new())
//!     .push(ColorJitterConfig::new().brightness([0.6, 1.4]).hue([-0.1, 0.1]).build()?)
//!     .push(|image: &Tensor| functional::to_dtype_scaled(image, DType::F32))
//!     .push(Normalize::new([0.5, 0.5, 0.5], [0.25, 0.25, 0.25])?);
//!
//! let images = Tensor::zeros([8, 3, 32, 32], DType::U8)?;
//! let labels = Tensor::arange(0, 8, DType::I64)?;
//! let dataset = TensorDataset::new((images, labels))?;
//! let dataset = dataset.map(move |(image, label)| Ok((augment.apply(&image)?, label)));
//! let loader = DataLoaderConfig::new().batch_size(4).shuffle(true).build(dataset)?;
//! let (images, _) = loader.iter().next().unwrap()?;
//! assert_eq!((images.shape().to_string(), images.dtype()), ("[4, 3, 32, 32]".to_owned(), DType::F32));
//! # Ok::<(), Error>(())
//! ```

mod beta;
mod color_jitter;
mod erasing;
mod flip;
pub mod functional;
mod gaussian_blur;
mod mix;
mod normalize;
mod rand_augment;
mod random_affine;
mod random_crop;
mod resized_crop;
mod transform;

pub use color_jitter::{ColorJitter, ColorJitterConfig, RandomGrayscale};
pub use erasing::{RandomErasing, RandomErasingConfig};
pub use flip::{RandomHorizontalFlip, RandomVerticalFlip};
pub use gaussian_blur::{GaussianBlur, GaussianBlurConfig};
pub use mix::{CutMix, MixUp, cutmix, mixup};
pub use normalize::Normalize;
pub use rand_augment::{RandAugment, RandAugmentConfig};
pub use random_affine::{RandomAffine, RandomAffineConfig, RandomRotation, RandomRotationConfig};
pub use random_crop::{RandomCrop, RandomCropConfig};
pub use resized_crop::{RandomResizedCrop, RandomResizedCropConfig};
pub use transform::{Compose, Transform};

use module_core::rng::default_generator;
use module_core::{Error, Result};

use super::draw;

/// A uniform number.
fn uniform([low, high]: [f64; 2]) -> Result<f64> {
    draw::uniform(&default_generator(), low, high)
}

/// An integer from 0 to below `n`.
fn below(n: usize) -> Result<usize> {
    let drawn = draw::below(&default_generator(), n, 1)?;
    Ok(drawn.first().copied().unwrap_or_default())
}

/// Refuses a range that is not finite, decreases, or exceeds its bounds.
fn check_range(
    op: &'static str,
    name: &'static str,
    range: [f64; 2],
    [least, most]: [f64; 2],
) -> Result<()> {
    let [low, high] = range;
    if low.is_finite() && high.is_finite() && least <= low && low <= high && high <= most {
        return Ok(());
    }
    let problem = format!("must rise and lie between {least} and {most}");
    Err(Error::argument(
        op,
        name,
        format_args!("{range:?}"),
        problem,
    ))
}
