//! Image transforms as functions of tensors: torchvision's `transforms.v2.functional`.
//!
//! An image is `[…, channels, height, width]` of `U8` (0 to 255), `F32` or `F64` (0 to 1), with any number of leading
//! dimensions, which are all treated alike. Results have the dtype of the image, rounded or truncated where torchvision
//! rounds or truncates.

mod affine;
mod blur;
mod check;
mod color;
mod dtype;
mod equalize;
mod geometry;
mod hue;
mod pad;
mod resize;
mod resize_bytes;
mod sample_places;
mod sharpness;

pub use affine::{AffineOptions, RotateOptions, affine, rotate};
pub(super) use blur::check_kernel_size;
pub use blur::gaussian_blur;
pub(super) use check::image_sizes;
pub use color::{
    adjust_brightness, adjust_contrast, adjust_saturation, autocontrast, invert, posterize,
    rgb_to_grayscale, solarize,
};
pub(super) use dtype::{check_normalize, check_std, normalize_by, per_channel};
pub use dtype::{normalize, to_dtype_scaled};
pub use equalize::equalize;
pub(super) use geometry::put;
pub use geometry::{center_crop, crop, erase, horizontal_flip, vertical_flip};
pub use hue::adjust_hue;
pub use pad::{PaddingMode, pad};
pub(super) use resize::check_size;
pub use resize::{ResizeMode, resize, resized_crop};
pub use sample_places::InterpolationMode;
pub use sharpness::adjust_sharpness;
