use std::fmt;

use super::{Outside, SampleGeometry};
#[cfg(doc)]
use crate::Tensor;

/// The interpolation of [`Tensor::grid_sample`] between pixels; it prints as PyTorch names it.
///
/// # Example
///
/// ```
/// use module_tensor::GridSampleMode;
///
/// assert_eq!(GridSampleMode::default().to_string(), "bilinear");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridSampleMode {
    /// Linear interpolation between the two neighboring pixels of each dimension.
    #[default]
    Bilinear,
    /// The nearest pixel; halfway between two, the one with the even index.
    Nearest,
    /// Cubic interpolation of four pixels in each dimension, with `A = -0.75`; two dimensions.
    Bicubic,
}

impl fmt::Display for GridSampleMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bilinear => "bilinear",
            Self::Nearest => "nearest",
            Self::Bicubic => "bicubic",
        })
    }
}

/// The values that [`Tensor::grid_sample`] reads outside the image; it prints as PyTorch names it.
///
/// # Example
///
/// ```
/// use module_tensor::GridPaddingMode;
///
/// assert_eq!(GridPaddingMode::default().to_string(), "zeros");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridPaddingMode {
    /// Zeros.
    #[default]
    Zeros,
    /// The nearest pixel of the image.
    Border,
    /// The image reflected at its border.
    Reflection,
}

impl fmt::Display for GridPaddingMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zeros => "zeros",
            Self::Border => "border",
            Self::Reflection => "reflection",
        })
    }
}

/// The sampling of images `[batch, channels, size…]` at the locations of a grid `[batch, locations, dimensions]`, as
/// [`Tensor::grid_sample`] defines it, which gives `[batch, channels, locations]`.
///
/// # Example
///
/// ```
/// use module_tensor::backend::GridSampleGeometry;
/// use module_tensor::{Device, GridPaddingMode, GridSampleMode, Layout, Tensor};
///
/// // An image of two pixels, sampled between them.
/// let geometry = GridSampleGeometry {
///     batch: 1,
///     channels: 1,
///     sizes: vec![1, 2],
///     locations: 1,
///     mode: GridSampleMode::Bilinear,
///     padding_mode: GridPaddingMode::Zeros,
///     align_corners: true,
/// };
/// assert_eq!(geometry.neighbors().all_taps(), 4);
/// assert_eq!(geometry.location_padding(), GridPaddingMode::Zeros);
/// let image = Tensor::from([1.0, 3.0]).reshape([1, 1, 2])?;
/// let grid = Tensor::from([0.0, 0.0]).reshape([1, 1, 2])?;
/// let kernels = Device::cpu().backend().grid_sample().expect("the CPU has this family");
/// let out = kernels.forward(image.operand(), grid.operand(), &geometry)?;
/// let out = Tensor::from_storage(out, Layout::contiguous([1, 1, 1].into()));
/// assert_eq!(out.item::<f64>()?, 2.0);
///
/// let grad = out.ones_like()?.operand();
/// let grads = kernels.backward(grad, image.operand(), grid.operand(), [true; 2], &geometry)?;
/// let [image, grid] = grads.map(|grad| Tensor::from_storage(grad.unwrap(), Layout::contiguous(2.into())));
/// assert_eq!(image.to_vec::<f64>()?, [0.5, 0.5]);
/// assert_eq!(grid.to_vec::<f64>()?, [1.0, 0.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridSampleGeometry {
    /// The size of the batch.
    pub batch: usize,
    /// The number of channels.
    pub channels: usize,
    /// The spatial sizes of the image, of which none is 0.
    pub sizes: Vec<usize>,
    /// The number of locations.
    pub locations: usize,
    /// The interpolation between pixels.
    pub mode: GridSampleMode,
    /// The values outside the image.
    pub padding_mode: GridPaddingMode,
    /// Whether -1 and 1 are the centers of the corner pixels rather than their outer edges.
    pub align_corners: bool,
}

impl GridSampleGeometry {
    /// The neighbors that are read at each location, once it is known in pixels.
    pub fn neighbors(&self) -> SampleGeometry {
        let outside = match (self.mode, self.padding_mode) {
            (_, GridPaddingMode::Zeros) => Outside::Zero,
            (_, GridPaddingMode::Border) => Outside::Border,
            // The location itself is reflected, and may then be on the last pixel.
            (GridSampleMode::Bilinear | GridSampleMode::Nearest, _) => Outside::Zero,
            (_, GridPaddingMode::Reflection) => Outside::Reflection {
                align_corners: self.align_corners,
            },
        };
        let (taps, first) = match self.mode {
            GridSampleMode::Bilinear => (2, 0),
            GridSampleMode::Nearest => (1, 0),
            GridSampleMode::Bicubic => (4, -1),
        };
        SampleGeometry {
            batch: self.batch,
            channels: self.channels,
            sizes: self.sizes.clone(),
            locations: self.locations,
            taps,
            first,
            outside,
        }
    }

    /// How locations themselves are moved into the image: with bicubic sampling not they are, but each of their neighbors.
    pub fn location_padding(&self) -> GridPaddingMode {
        match self.mode {
            GridSampleMode::Bicubic => GridPaddingMode::Zeros,
            _ => self.padding_mode,
        }
    }
}
