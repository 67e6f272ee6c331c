use module_core::module::Repr;
use module_core::{Error, Forward, Module, Pool2dOptions, Result, Sizes, Tensor};

use crate::config::{config, positive_sizes};

/// The greatest element of each window.
///
/// # Shapes
///
/// `[batch, channels, height, width]` or without the batch; each size becomes
/// `⌊(size + 2·padding - dilation·(kernel - 1) - 1)/stride⌋ + 1`, rounded up with `ceil_mode`.
///
/// # Errors
///
/// Another number of dimensions, a window larger than the padded input.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::zeros([1, 3, 8, 8], DType::F32, &Device::cpu())?;
/// assert_eq!(MaxPool2d::new(2)?.call(x)?.shape().to_string(), "[1, 3, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(extra_repr = Self::extra_repr)]
pub struct MaxPool2d {
    #[module(skip)]
    config: MaxPool2dConfig,
    #[module(skip)]
    options: Pool2dOptions,
}

config! {
    /// The arguments of [`MaxPool2d`].
    pub struct MaxPool2dConfig => MaxPool2d {
        required {
            /// The size of the window.
            kernel_size: Sizes<2>,
        }
        optional {
            /// The step of the window.
            stride: Sizes<2> = kernel_size,
            /// Places around the input that never win; at most half the window.
            padding: Sizes<2> = 0,
            /// The distance between neighbours of the window.
            dilation: Sizes<2> = 1,
            /// Whether a last window that starts inside but ends outside counts.
            ceil_mode: bool = false,
        }
    }
}

impl MaxPool2dConfig {
    /// The layer.
    ///
    /// # Errors
    ///
    /// A zero window, stride or dilation, padding of more than half the window.
    pub fn build(&self) -> Result<MaxPool2d> {
        let (kernel_size, padding) = (self.kernel_size.get(), self.padding.get());
        positive_sizes("MaxPool2d", "kernel_size", self.kernel_size)?;
        positive_sizes("MaxPool2d", "stride", self.stride)?;
        positive_sizes("MaxPool2d", "dilation", self.dilation)?;
        if (0..2).any(|d| padding[d] > kernel_size[d] / 2) {
            let problem = format!("must be at most half of kernel_size = {}", self.kernel_size);
            return Err(Error::argument(
                "MaxPool2d",
                "padding",
                self.padding,
                problem,
            ));
        }
        let options = Pool2dOptions {
            kernel_size,
            stride: self.stride.get(),
            padding,
            dilation: self.dilation.get(),
            ceil_mode: self.ceil_mode,
        };
        Ok(MaxPool2d {
            config: self.clone(),
            options,
        })
    }
}

impl MaxPool2d {
    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let config = &self.config;
        write!(
            f,
            "kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}",
            config.kernel_size.as_given(),
            config.stride.as_given(),
            config.padding.as_given(),
            config.dilation.as_given(),
            Repr(&config.ceil_mode),
        )
    }
}

impl Forward for MaxPool2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.max_pool2d(self.options)
    }
}
