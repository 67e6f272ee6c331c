use std::fmt;

use module_core::{Forward, Module, Result, Sizes, Tensor, UnfoldOptions};

use crate::config::{Build, check_positive_sizes, config};

/// The windows over an image as columns: [`Tensor::im2col`].
///
/// A convolution is the product of its weight, as a matrix, with these columns. [`Fold`](super::Fold) is the reverse,
/// which adds where windows overlap.
///
/// # Shapes
///
/// `[batch, channels, height, width]` to `[batch, channels · kernel elements, windows]`, or both without the
/// batch.
///
/// # Errors
///
/// A wrong number of dimensions, a window larger than the padded image, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::randn([2, 3, 4, 5], DType::F32)?;
/// assert_eq!(Unfold::new((2, 3))?.call(x)?.shape().to_string(), "[2, 18, 9]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Unfold {
    #[module(skip)]
    config: UnfoldConfig,
}

config! {
    /// The arguments of [`Unfold`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]);
    /// let corners = UnfoldConfig::new(2).dilation(2).build()?;
    /// assert_eq!(corners.call(x.clone())?.to_vec::<f32>()?, [1.0, 3.0, 7.0, 9.0]);
    /// let patches = UnfoldConfig::new(2).padding(1).stride(2).build()?;
    /// assert_eq!(patches.call(x)?.shape().to_string(), "[4, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct UnfoldConfig => Unfold {
        required {
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

impl Build for UnfoldConfig {
    type Output = Unfold;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A zero window, dilation or stride.
    fn build(&self) -> Result<Unfold> {
        self.check("Unfold")?;
        let config = self.clone();
        Ok(Unfold { config })
    }
}

impl UnfoldConfig {
    /// Checks of the windows that `Unfold` and `Fold` share.
    pub(super) fn check(&self, layer: &'static str) -> Result<()> {
        check_positive_sizes(layer, "kernel_size", self.kernel_size)?;
        check_positive_sizes(layer, "dilation", self.dilation)?;
        check_positive_sizes(layer, "stride", self.stride)
    }

    pub(super) fn options(&self) -> UnfoldOptions<2> {
        UnfoldOptions::new(self.kernel_size.get())
            .dilation(self.dilation.get())
            .padding(self.padding.get())
            .stride(self.stride.get())
    }

    pub(super) fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel_size={}, dilation={}, padding={}, stride={}",
            self.kernel_size.as_given(),
            self.dilation.as_given(),
            self.padding.as_given(),
            self.stride.as_given(),
        )
    }
}

impl Unfold {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.print(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> UnfoldConfig {
        self.config.clone()
    }
}

impl Forward for Unfold {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.im2col(self.config.options())
    }
}
