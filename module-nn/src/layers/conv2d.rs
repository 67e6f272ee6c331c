use std::fmt;

use module_core::{
    Bias, Conv2dOptions, Error, Forward, Maybe, Module, Padding, Parameter, Result, Sizes, Tensor,
};
use serde::{Deserialize, Serialize};

use crate::PadMode;
use crate::config::{config, positive, positive_sizes};
use crate::init::{KaimingUniform, Uniform};
use crate::parametrize::WithWeight;

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

config! {
    /// The arguments of [`Conv2d`].
    pub struct Conv2dConfig => Conv2d {
        required {
            /// The number of channels of the input.
            in_channels: usize,
            /// The number of channels of the output.
            out_channels: usize,
            /// The size of the kernel.
            kernel_size: Sizes<2>,
        }
        optional {
            /// The step of the kernel.
            stride: Sizes<2> = 1,
            /// What is added around the input: sizes, [`Padding::Same`] or [`Padding::Valid`].
            padding: Padding<2> = 0,
            /// The distance between neighbours of the kernel.
            dilation: Sizes<2> = 1,
            /// The number of blocks into which the channels fall.
            groups: usize = 1,
            /// Whether a bias is learned.
            bias: bool = true,
            /// What the padding consists of.
            padding_mode: PaddingMode = PaddingMode::Zeros,
        }
    }
}

impl Conv2dConfig {
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
        positive_sizes(NAME, "kernel_size", kernel_size)?;
        positive_sizes(NAME, "stride", stride)?;
        positive_sizes(NAME, "dilation", dilation)?;
        for (channels, name) in [(in_channels, "in_channels"), (out_channels, "out_channels")] {
            if !channels.is_multiple_of(groups) {
                let problem = format!("must divide {name} = {channels}");
                return Err(Error::argument(NAME, "groups", groups, problem));
            }
        }
        if self.padding == Padding::Same && stride.get() != [1, 1] {
            return Err(Error::argument(
                NAME,
                "stride",
                stride,
                "must be 1 with padding = same",
            ));
        }
        let [height, width] = kernel_size.get();
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
                let total = self.dilation.get()[d].saturating_mul(self.kernel_size.get()[d] - 1);
                [total / 2, total - total / 2]
            }
        };
        let [[top, bottom], [left, right]] = [sides(0), sides(1)];
        [left, right, top, bottom].map(|amount| isize::try_from(amount).unwrap_or(isize::MAX))
    }
}

impl Conv2d {
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
            Padding::Size([0, 0]) => {}
            padding => write!(f, ", padding={padding}")?,
        }
        if config.dilation.get() != [1, 1] {
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
        self.forward_with(input, &self.weight.tensor())
    }
}

impl WithWeight for Conv2d {
    const PARAMETRIZED: &'static str = "ParametrizedConv2d";

    fn own_weight(&self) -> &Parameter {
        &self.weight
    }

    fn forward_with(&self, input: Tensor, weight: &Tensor) -> Result<Tensor> {
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
            stride: config.stride.get(),
            padding,
            dilation: config.dilation.get(),
            groups: config.groups,
        };
        let output = input.conv2d(weight, options)?;
        match &self.bias {
            Maybe::Present(bias) => output.add(&bias.tensor().reshape([-1, 1, 1])?),
            Maybe::Absent => Ok(output),
        }
    }
}
