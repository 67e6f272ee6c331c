mod print;

use std::fmt;

use module_core::{
    Bias, ConvOptions, Error, Forward, Maybe, Module, Padding, Parameter, Result, Shape, Sizes,
    Tensor,
};

use super::padding_mode::PaddingMode;
use super::parts::{optional_part, part, tie};
use super::spatial::{add_bias, check_channels, of_dims};
use crate::config::{Build, check_positive, check_positive_sizes, config};
use crate::init::{KaimingUniform, Uniform};
use crate::lora::{Adaptable, Adapters};
use crate::parametrize::WithWeight;

/// The cross-correlation of sequences, images or volumes with learned kernels; over an image
/// `y[n, o, i, j] = b[o] + Σ x[n, c, i·s + a·d - p, j·s + b·d - p] · w[o, c, a, b]`.
///
/// [`Conv1d`], [`Conv2d`] and [`Conv3d`] are its aliases.
///
/// Source: LeCun et al., *Backpropagation Applied to Handwritten Zip Code Recognition* (1989).
///
/// # Shapes
///
/// Input `[batch, in_channels, size…]` with `N` sizes, or without the batch; output with
/// `out_channels` and sizes `⌊(size + 2·padding - dilation·(kernel - 1) - 1)/stride⌋ + 1`.
///
/// # State dict
///
/// `weight` `[out_channels, in_channels / groups, kernel size…]` and, unless `bias` is false, `bias`
/// `[out_channels]`.
///
/// # Initialization
///
/// Both uniform in `±1/√fan_in` with `fan_in = in_channels / groups · kernel elements`, the weight
/// first: PyTorch's, bit for bit.
///
/// # Errors
///
/// An input with a wrong number of channels or dimensions, or smaller than the kernel after padding; more padding than
/// `padding_mode` can fill; a dtype or device that differs from the weight's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
/// let conv = Conv2dConfig::new(1, 16, 3).padding(1).bias(false).build()?;
/// let y = conv.call(Tensor::randn([2, 1, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[2, 16, 8, 8]");
///
/// // Atrous, depthwise and mirrored at the edges; and a weight that two layers share.
/// let config = Conv1dConfig::new(4, 4, 3).dilation(2).groups(4).padding(2).padding_mode(PaddingMode::Reflect);
/// let (mut conv, other): (Conv<1>, Conv<1>) = (config.build()?, config.build()?);
/// assert_eq!(conv.weight().shape().to_string(), "[4, 1, 3]");
/// conv.tie_weight(other.weight())?;
/// assert_eq!(conv.call(Tensor::zeros([4, 9], DType::F32)?)?.shape().to_string(), "[4, 9]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct Conv<const N: usize> {
    #[module(skip)]
    config: ConvConfig<N>,
    weight: Parameter,
    bias: Bias,
    #[module(flatten)]
    adapters: Adapters,
}

/// The convolution of sequences, [`Conv`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
/// let y = Conv1d::new(2, 4, 3)?.call(Tensor::randn([3, 2, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 4, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type Conv1d = Conv<1>;

/// The convolution of images, [`Conv`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
/// let y = Conv2d::new(2, 4, 3)?.call(Tensor::randn([3, 2, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 4, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type Conv2d = Conv<2>;

/// The convolution of volumes, [`Conv`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
/// let y = Conv3d::new(2, 4, 3)?.call(Tensor::randn([3, 2, 8, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 4, 6, 6, 6]");
/// # Ok::<(), Error>(())
/// ```
pub type Conv3d = Conv<3>;

config! {
    /// The arguments of [`Conv`]; those of [`Conv1d`], [`Conv2d`] and [`Conv3d`] are [`Conv1dConfig`],
    /// [`Conv2dConfig`] and [`Conv3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let config: ConvConfig<3> = Conv3dConfig::new(2, 4, (1, 3, 3)).stride(2).padding(Padding::Valid);
    /// let conv = config.build()?;
    /// assert_eq!(conv.config(), config);
    /// let text = "Conv3d(2, 4, kernel_size=(1, 3, 3), stride=(2, 2, 2), padding=valid)";
    /// assert_eq!(conv.tree().to_string(), text);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ConvConfig<const N: usize> => Conv {
        required {
            /// The number of channels of the input.
            in_channels: usize,
            /// The number of channels of the output.
            out_channels: usize,
            /// The size of the kernel.
            kernel_size: Sizes<N>,
        }
        optional {
            /// The step of the kernel.
            stride: Sizes<N> = 1,
            /// The padding: sizes, [`Padding::Same`] or [`Padding::Valid`].
            padding: Padding<N> = 0,
            /// The spacing between kernel elements.
            dilation: Sizes<N> = 1,
            /// The number of groups of channels that are convolved separately.
            groups: usize = 1,
            /// Whether a bias is learned.
            bias: bool = true,
            /// The padding mode.
            padding_mode: PaddingMode = PaddingMode::Zeros,
        }
    }
}

/// The arguments of [`Conv1d`].
pub type Conv1dConfig = ConvConfig<1>;

/// The arguments of [`Conv2d`].
pub type Conv2dConfig = ConvConfig<2>;

/// The arguments of [`Conv3d`].
pub type Conv3dConfig = ConvConfig<3>;

impl<const N: usize> Build for ConvConfig<N> {
    type Output = Conv<N>;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, groups that do not divide both numbers of channels, `Same` padding with a
    /// stride, sizes that exceed memory.
    fn build(&self) -> Result<Conv<N>> {
        let lead = [self.out_channels, self.in_channels];
        let (weight, bias) = self.parameters(Conv::<N>::NAME, lead)?;
        Ok(self.with_parameters(weight, bias))
    }
}

impl<const N: usize> ConvConfig<N> {
    /// A layer made from existing parameters: nothing is drawn.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), a weight or a bias of another shape, a bias that is missing, or given although
    /// `bias` is false.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let weight = Parameter::new(Tensor::ones([1, 1, 2], DType::F32)?)?;
    /// let sums = Conv1dConfig::new(1, 1, 2).stride(2).bias(false).from_parts(weight, Bias::Absent)?;
    /// let y = sums.call(Tensor::from([[1.0_f32, 2.0, 3.0, 4.0]]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [3.0, 7.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_parts(&self, weight: Parameter, bias: impl Into<Bias>) -> Result<Conv<N>> {
        let lead = [self.out_channels, self.in_channels];
        let (weight, bias) = self.check_parts(Conv::<N>::NAME, lead, weight, bias.into())?;
        Ok(self.with_parameters(weight, bias))
    }

    fn with_parameters(&self, weight: Parameter, bias: Bias) -> Conv<N> {
        Conv {
            config: self.clone(),
            weight,
            bias,
            adapters: Adapters::new(Adaptable::Conv {
                groups: self.groups,
            }),
        }
    }

    /// An existing weight and bias, of the shapes of newly made ones.
    pub(super) fn check_parts(
        &self,
        name: &'static str,
        lead: [usize; 2],
        weight: Parameter,
        bias: Bias,
    ) -> Result<(Parameter, Bias)> {
        self.check(name)?;
        Ok((
            part(name, "weight", weight, self.weight_shape(lead))?,
            optional_part(name, "bias", self.bias, bias, self.out_channels)?,
        ))
    }

    /// The channels, the second divided into groups, and the kernel.
    fn weight_shape(&self, [first, second]: [usize; 2]) -> Shape {
        let lead = [first, second / self.groups].into_iter();
        lead.chain(self.kernel_size.get()).collect()
    }

    /// A fresh weight, whose first two sizes are the channels `lead` with the second divided into
    /// groups, and a fresh bias, drawn after it.
    pub(super) fn parameters(
        &self,
        name: &'static str,
        lead: [usize; 2],
    ) -> Result<(Parameter, Bias)> {
        self.check(name)?;
        let shape = self.weight_shape(lead);
        let fan_in = shape[1..]
            .iter()
            .try_fold(1, |fan: usize, &size| fan.checked_mul(size));
        let Some(fan_in) = fan_in else {
            let (size, problem) = (self.kernel_size, "exceeds memory");
            return Err(Error::argument(name, "kernel_size", size, problem));
        };
        Ok((
            Parameter::with_init(shape, KaimingUniform::default())?,
            Maybe::when(self.bias, || {
                Parameter::with_init(self.out_channels, Uniform::of_fan_in(fan_in))
            })?,
        ))
    }

    fn check(&self, name: &'static str) -> Result<()> {
        let &Self {
            in_channels,
            out_channels,
            stride,
            groups,
            ..
        } = self;
        check_positive(name, "in_channels", in_channels)?;
        check_positive(name, "out_channels", out_channels)?;
        check_positive(name, "groups", groups)?;
        check_positive_sizes(name, "kernel_size", self.kernel_size)?;
        check_positive_sizes(name, "stride", stride)?;
        check_positive_sizes(name, "dilation", self.dilation)?;
        for (channels, which) in [(in_channels, "in_channels"), (out_channels, "out_channels")] {
            if !channels.is_multiple_of(groups) {
                let problem = format!("must divide {which} = {channels}");
                return Err(Error::argument(name, "groups", groups, problem));
            }
        }
        if self.padding == Padding::Same && stride.get() != [1; N] {
            let problem = "must be 1 with padding = same";
            return Err(Error::argument(name, "stride", stride, problem));
        }
        Ok(())
    }

    /// Elements before and after, starting with the last dimension, as [`Tensor::pad`] takes them.
    fn pad_amounts(&self) -> Vec<isize> {
        let sides = |d: usize| match self.padding {
            Padding::Valid => [0, 0],
            Padding::Size(size) => [size[d], size[d]],
            Padding::Same => {
                let total = self.dilation.get()[d].saturating_mul(self.kernel_size.get()[d] - 1);
                [total / 2, total - total / 2]
            }
        };
        let amounts = (0..N).rev().flat_map(sides);
        amounts
            .map(|amount| isize::try_from(amount).unwrap_or(isize::MAX))
            .collect()
    }
}

impl<const N: usize> Conv<N> {
    /// The convolution with any weight, whose shape determines the groups.
    fn convolve(&self, input: Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let config = &self.config;
        let (input, padding) = match config.padding_mode.pad_mode() {
            None => (input, config.padding),
            Some(mode) => (input.pad(config.pad_amounts(), mode)?, Padding::Valid),
        };
        let within = weight.shape().get(1).copied().unwrap_or(1);
        let options = ConvOptions::new()
            .stride(config.stride.get())
            .padding(padding)
            .dilation(config.dilation.get())
            .groups(config.in_channels / within.max(1));
        add_bias::<N>(input.conv(weight, options)?, bias)
    }

    const NAME: &'static str = of_dims::<N>(["Conv1d", "Conv2d", "Conv3d"]);

    /// The weight, `[out_channels, in_channels / groups, kernel size…]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// The bias, `[out_channels]`.
    pub fn bias(&self) -> &Bias {
        &self.bias
    }

    /// Ties its weight to another one.
    ///
    /// # Errors
    ///
    /// A weight of another shape.
    pub fn tie_weight(&mut self, weight: &Parameter) -> Result<()> {
        tie(&mut self.weight, weight)
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.print(f, [0; N])
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> ConvConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for Conv<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.forward_with(input, &self.weight.tensor())
    }
}

impl<const N: usize> WithWeight for Conv<N> {
    const PARAMETRIZED: &'static str = of_dims::<N>([
        "ParametrizedConv1d",
        "ParametrizedConv2d",
        "ParametrizedConv3d",
    ]);

    fn own_weight(&self) -> &Parameter {
        &self.weight
    }

    fn forward_with(&self, input: Tensor, weight: &Tensor) -> Result<Tensor> {
        let op = of_dims::<N>(["conv1d", "conv2d", "conv3d"]);
        check_channels::<N>(op, &input, self.config.in_channels)?;
        let bias = self.bias.get().map(Parameter::tensor);
        if self.adapters.is_empty() {
            return self.convolve(input, weight, bias.as_ref());
        }
        let convolve = |x: &Tensor, weight: &Tensor, bias: Option<&Tensor>| {
            self.convolve(x.clone(), weight, bias)
        };
        let groups = self.config.groups;
        let project =
            |x: &Tensor, weight: &Tensor| x.conv(weight, ConvOptions::<N>::new().groups(groups));
        let adapters = &self.adapters;
        adapters.forward(&input, weight, bias.as_ref(), &convolve, &project)
    }
}
