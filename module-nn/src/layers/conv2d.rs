use std::fmt;

use module_core::{
    Bias, Conv2dOptions, Error, Forward, Maybe, Module, Padding, Parameter, Result, Tensor,
};
use serde::{Deserialize, Serialize};

use crate::PadMode;
use crate::config::{Pair, positive, positive_pair, setters};
use crate::init::{KaimingUniform, Uniform};

/// The cross-correlation of an image with learned kernels:
/// `y[n, o, i, j] = b[o] + Σ x[n, c, i·s + a·d - p, j·s + b·d - p] · w[o, c, a, b]`.
///
/// # Shapes
///
/// Input `[batch, in_channels, height, width]` or without the batch; output with `out_channels`
/// and sizes `⌊(size + 2·padding - dilation·(kernel - 1) - 1)/stride⌋ + 1`.
///
/// # State dict
///
/// `weight` `[out_channels, in_channels / groups, kernel height, kernel width]` and, unless `bias`
/// is false, `bias` `[out_channels]`.
///
/// # Initialisation
///
/// Both uniform in `±1/√fan_in` with `fan_in = in_channels / groups · kernel places`, the weight
/// first: PyTorch's, bit for bit.
///
/// # Errors
///
/// An input with another number of channels or dimensions, or smaller than the kernel after
/// padding; another dtype or device than the weight's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let conv = Conv2dConfig::new(1, 16, 3).padding(1).bias(false).build()?;
/// let y = conv.call(Tensor::randn([2, 1, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[2, 16, 8, 8]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(extra_repr = Self::extra_repr)]
pub struct Conv2d {
    #[module(skip)]
    config: Conv2dConfig,
    weight: Parameter,
    bias: Bias,
}

/// What stands around the image in a convolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaddingMode {
    /// Zeros.
    #[default]
    Zeros,
    /// The image mirrored at its edge, which is not repeated.
    Reflect,
    /// The edge repeated.
    Replicate,
    /// The other end of the image.
    Circular,
}

/// The arguments of [`Conv2d`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Arguments")]
pub struct Conv2dConfig {
    /// The number of channels of the input.
    pub in_channels: usize,
    /// The number of channels of the output.
    pub out_channels: usize,
    /// The size of the kernel.
    pub kernel_size: Pair,
    /// The step of the kernel.
    pub stride: Pair,
    /// What is added around the input.
    pub padding: Padding,
    /// The distance between neighbours of the kernel.
    pub dilation: Pair,
    /// The number of blocks into which the channels fall.
    pub groups: usize,
    /// Whether a bias is learned.
    pub bias: bool,
    /// What the padding consists of.
    pub padding_mode: PaddingMode,
}

/// What a file must and may say; the rest is PyTorch's default.
#[derive(Deserialize)]
struct Arguments {
    in_channels: usize,
    out_channels: usize,
    kernel_size: Pair,
    stride: Option<Pair>,
    padding: Option<Padding>,
    dilation: Option<Pair>,
    groups: Option<usize>,
    bias: Option<bool>,
    padding_mode: Option<PaddingMode>,
}

impl From<Arguments> for Conv2dConfig {
    fn from(given: Arguments) -> Self {
        let default = Self::new(given.in_channels, given.out_channels, given.kernel_size);
        Self {
            stride: given.stride.unwrap_or(default.stride),
            padding: given.padding.unwrap_or(default.padding),
            dilation: given.dilation.unwrap_or(default.dilation),
            groups: given.groups.unwrap_or(default.groups),
            bias: given.bias.unwrap_or(default.bias),
            padding_mode: given.padding_mode.unwrap_or(default.padding_mode),
            ..default
        }
    }
}

setters!(Conv2dConfig {
    /// The step of the kernel; 1 by default.
    stride: Pair,
    /// What is added around the input: a size, [`Padding::Same`] or [`Padding::Valid`]; 0 by
    /// default.
    padding: Padding,
    /// The distance between neighbours of the kernel; 1 by default.
    dilation: Pair,
    /// The number of blocks into which the channels fall; 1 by default.
    groups: usize,
    /// Whether a bias is learned; true by default.
    bias: bool,
    /// What the padding consists of; zeros by default.
    padding_mode: PaddingMode,
});

impl Conv2dConfig {
    /// PyTorch's defaults.
    pub fn new(in_channels: usize, out_channels: usize, kernel_size: impl Into<Pair>) -> Self {
        Self {
            in_channels,
            out_channels,
            kernel_size: kernel_size.into(),
            stride: 1.into(),
            padding: 0.into(),
            dilation: 1.into(),
            groups: 1,
            bias: true,
            padding_mode: PaddingMode::Zeros,
        }
    }

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, groups that do not divide both numbers of channels, `Same` padding with a
    /// stride, sizes that exceed memory.
    pub fn build(&self) -> Result<Conv2d> {
        const NAME: &str = "Conv2d";
        let &Self {
            in_channels,
            out_channels,
            kernel_size,
            stride,
            dilation,
            groups,
            ..
        } = self;
        positive(NAME, "in_channels", in_channels)?;
        positive(NAME, "out_channels", out_channels)?;
        positive(NAME, "groups", groups)?;
        positive_pair(NAME, "kernel_size", kernel_size)?;
        positive_pair(NAME, "stride", stride)?;
        positive_pair(NAME, "dilation", dilation)?;
        for (channels, name) in [(in_channels, "in_channels"), (out_channels, "out_channels")] {
            if !channels.is_multiple_of(groups) {
                let problem = format!("must divide {name} = {channels}");
                return Err(Error::argument(NAME, "groups", groups, problem));
            }
        }
        if self.padding == Padding::Same && stride.0 != [1, 1] {
            return Err(Error::argument(
                NAME,
                "stride",
                stride,
                "must be 1 with padding = same",
            ));
        }
        let [height, width] = kernel_size.0;
        let weight = [out_channels, in_channels / groups, height, width];
        let fan_in = weight[1..]
            .iter()
            .try_fold(1_usize, |fan, &size| fan.checked_mul(size));
        let Some(fan_in) = fan_in else {
            return Err(Error::argument(
                NAME,
                "kernel_size",
                kernel_size,
                "exceeds memory",
            ));
        };
        Ok(Conv2d {
            config: self.clone(),
            weight: Parameter::with_init(weight, KaimingUniform::default())?,
            bias: Maybe::when(self.bias, || {
                Parameter::with_init(out_channels, Uniform::of_fan_in(fan_in))
            })?,
        })
    }

    /// Elements before and after, of the width first, as [`Tensor::pad`] takes them.
    fn around(&self) -> [isize; 4] {
        let sides = |d: usize| match self.padding {
            Padding::Valid => [0, 0],
            Padding::Size(size) => [size[d], size[d]],
            Padding::Same => {
                let total = self.dilation.0[d].saturating_mul(self.kernel_size.0[d] - 1);
                [total / 2, total - total / 2]
            }
        };
        let [[top, bottom], [left, right]] = [sides(0), sides(1)];
        [left, right, top, bottom].map(|amount| isize::try_from(amount).unwrap_or(isize::MAX))
    }
}

impl Conv2d {
    /// A layer with stride 1, no padding, a bias and fresh weights.
    ///
    /// # Errors
    ///
    /// As [`Conv2dConfig::build`].
    pub fn new(
        in_channels: usize,
        out_channels: usize,
        kernel_size: impl Into<Pair>,
    ) -> Result<Self> {
        Conv2dConfig::new(in_channels, out_channels, kernel_size).build()
    }

    /// The weight, `[out_channels, in_channels / groups, kernel height, kernel width]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// The bias, `[out_channels]`.
    pub fn bias(&self) -> &Bias {
        &self.bias
    }

    /// What differs from the defaults, as PyTorch prints it.
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        let Conv2dConfig {
            in_channels,
            out_channels,
            kernel_size,
            stride,
            ..
        } = config;
        write!(
            f,
            "{in_channels}, {out_channels}, kernel_size={kernel_size}, stride={stride}"
        )?;
        match config.padding {
            Padding::Valid => write!(f, ", padding=valid")?,
            Padding::Same => write!(f, ", padding=same")?,
            Padding::Size([0, 0]) => {}
            Padding::Size(size) => write!(f, ", padding={}", Pair(size))?,
        }
        if config.dilation.0 != [1, 1] {
            write!(f, ", dilation={}", config.dilation)?;
        }
        if config.groups != 1 {
            write!(f, ", groups={}", config.groups)?;
        }
        if !config.bias {
            write!(f, ", bias=False")?;
        }
        match config.padding_mode {
            PaddingMode::Zeros => Ok(()),
            PaddingMode::Reflect => write!(f, ", padding_mode=reflect"),
            PaddingMode::Replicate => write!(f, ", padding_mode=replicate"),
            PaddingMode::Circular => write!(f, ", padding_mode=circular"),
        }
    }
}

impl Forward for Conv2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let config = &self.config;
        if !matches!(input.rank(), 3 | 4) || input.size(-3)? != config.in_channels {
            let expected = format!(
                "[batch, {0}, height, width] or [{0}, height, width]",
                config.in_channels
            );
            let got = input.shape().clone();
            return Err(module_core::ErrorKind::Shape {
                op: "conv2d",
                expected,
                got,
            }
            .into());
        }
        let mode = match config.padding_mode {
            PaddingMode::Zeros => None,
            PaddingMode::Reflect => Some(PadMode::Reflect),
            PaddingMode::Replicate => Some(PadMode::Replicate),
            PaddingMode::Circular => Some(PadMode::Circular),
        };
        let (input, padding) = match mode {
            None => (input, config.padding),
            Some(mode) => (input.pad(config.around(), mode)?, Padding::Valid),
        };
        let options = Conv2dOptions {
            stride: config.stride.0,
            padding,
            dilation: config.dilation.0,
            groups: config.groups,
        };
        let output = input.conv2d(&self.weight.tensor(), options)?;
        match &self.bias {
            Maybe::Present(bias) => output.add(&bias.tensor().reshape([-1, 1, 1])?),
            Maybe::Absent => Ok(output),
        }
    }
}
