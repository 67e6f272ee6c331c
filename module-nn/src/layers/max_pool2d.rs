use module_core::module::Repr;
use module_core::{Forward, Module, Pool2dOptions, Result, Tensor};
use serde::{Deserialize, Serialize};

use crate::config::{Pair, positive_pair, setters};

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

/// The arguments of [`MaxPool2d`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaxPool2dConfig {
    /// The size of the window.
    pub kernel_size: Pair,
    /// The step of the window; the window's size if absent.
    #[serde(default)]
    pub stride: Option<Pair>,
    /// Places around the input that never win; at most half the window.
    #[serde(default = "zero")]
    pub padding: Pair,
    /// The distance between neighbours of the window.
    #[serde(default = "one")]
    pub dilation: Pair,
    /// Whether a last window that starts inside but ends outside counts.
    #[serde(default)]
    pub ceil_mode: bool,
}

fn zero() -> Pair {
    0.into()
}

fn one() -> Pair {
    1.into()
}

setters!(MaxPool2dConfig {
    /// Places around the input that never win; at most half the window; 0 by default.
    padding: Pair,
    /// The distance between neighbours of the window; 1 by default.
    dilation: Pair,
    /// Whether a last window that starts inside but ends outside counts; false by default.
    ceil_mode: bool,
});

impl MaxPool2dConfig {
    /// PyTorch's defaults.
    pub fn new(kernel_size: impl Into<Pair>) -> Self {
        Self {
            kernel_size: kernel_size.into(),
            stride: None,
            padding: zero(),
            dilation: one(),
            ceil_mode: false,
        }
    }

    /// The step of the window; the window's size by default.
    #[must_use]
    pub fn stride(mut self, stride: impl Into<Pair>) -> Self {
        self.stride = Some(stride.into());
        self
    }

    /// The layer.
    ///
    /// # Errors
    ///
    /// A zero window, stride or dilation, padding of more than half the window.
    pub fn build(&self) -> Result<MaxPool2d> {
        let stride = self.stride.unwrap_or(self.kernel_size);
        positive_pair("MaxPool2d", "kernel_size", self.kernel_size)?;
        positive_pair("MaxPool2d", "stride", stride)?;
        positive_pair("MaxPool2d", "dilation", self.dilation)?;
        if (0..2).any(|d| self.padding.0[d] > self.kernel_size.0[d] / 2) {
            let problem = format!("must be at most half of kernel_size = {}", self.kernel_size);
            return Err(crate::Error::argument(
                "MaxPool2d",
                "padding",
                self.padding,
                problem,
            ));
        }
        let options = Pool2dOptions {
            kernel_size: self.kernel_size.0,
            stride: stride.0,
            padding: self.padding.0,
            dilation: self.dilation.0,
            ceil_mode: self.ceil_mode,
        };
        Ok(MaxPool2d {
            config: self.clone(),
            options,
        })
    }
}

impl MaxPool2d {
    /// Windows side by side, without padding.
    ///
    /// # Errors
    ///
    /// A zero window.
    pub fn new(kernel_size: impl Into<Pair>) -> Result<Self> {
        MaxPool2dConfig::new(kernel_size).build()
    }

    /// PyTorch prints a pair as it was given: one number if both are equal.
    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |Pair([a, b]): Pair| match a == b {
            true => a.to_string(),
            false => format!("({a}, {b})"),
        };
        let MaxPool2dConfig {
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
        } = &self.config;
        write!(
            f,
            "kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}",
            short(*kernel_size),
            short(stride.unwrap_or(*kernel_size)),
            short(*padding),
            short(*dilation),
            Repr(ceil_mode),
        )
    }
}

impl Forward for MaxPool2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.max_pool2d(self.options)
    }
}
