use std::fmt;

use module_core::{Forward, Module, Result, Sizes, Tensor};

use super::UnfoldConfig;
use crate::config::{Build, check_positive_sizes, config};

/// Adds columns to an image at the positions of their windows: [`Tensor::col2im`].
///
/// # Shapes
///
/// `[batch, channels · kernel elements, windows]` to `[batch, channels, height, width]`, or both without the
/// batch.
///
/// # Errors
///
/// Columns that do not match such an image, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let columns = Tensor::randn([2, 18, 9], DType::F32)?;
/// let image = Fold::new((4, 5), (2, 3))?.call(columns)?;
/// assert_eq!(image.shape().to_string(), "[2, 3, 4, 5]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Fold {
    #[module(skip)]
    output_size: Sizes<2>,
    #[module(skip)]
    windows: UnfoldConfig,
}

config! {
    /// The arguments of [`Fold`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // The windows of the corresponding `Unfold`, added up: each pixel times the number of its windows.
    /// let x = Tensor::ones([1, 3, 3], DType::F32)?;
    /// let columns = UnfoldConfig::new(2).dilation(2).padding(1).stride(1).build()?.call(x)?;
    /// let fold = FoldConfig::new(3, 2).dilation(2).padding(1).stride(1).build()?;
    /// assert_eq!(fold.call(columns)?.to_vec::<f32>()?, [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct FoldConfig => Fold {
        required {
            /// The height and the width of the image.
            output_size: Sizes<2>,
            /// The size of the window.
            kernel_size: Sizes<2>,
        }
        optional {
            /// The spacing between window elements.
            dilation: Sizes<2> = 1,
            /// Zeros around the image.
            padding: Sizes<2> = 0,
            /// The step of the window.
            stride: Sizes<2> = 1,
        }
    }
}

impl Build for FoldConfig {
    type Output = Fold;

    /// The layer.
    ///
    /// # Errors
    ///
    /// An empty image, a zero window, dilation or stride.
    fn build(&self) -> Result<Fold> {
        check_positive_sizes("Fold", "output_size", self.output_size)?;
        let windows = UnfoldConfig {
            kernel_size: self.kernel_size,
            dilation: self.dilation,
            padding: self.padding,
            stride: self.stride,
        };
        windows.check("Fold")?;
        let output_size = self.output_size;
        Ok(Fold {
            output_size,
            windows,
        })
    }
}

impl Fold {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "output_size={}, ", self.output_size.as_given())?;
        self.windows.print(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> FoldConfig {
        let UnfoldConfig {
            kernel_size,
            dilation,
            padding,
            stride,
        } = self.windows;
        let output_size = self.output_size;
        FoldConfig {
            output_size,
            kernel_size,
            dilation,
            padding,
            stride,
        }
    }
}

impl Forward for Fold {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.col2im(self.output_size.get(), self.windows.options())
    }
}
