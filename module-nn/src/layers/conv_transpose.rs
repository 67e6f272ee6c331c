use std::fmt;

use module_core::{
    Bias, ConvTransposeOptions, Error, Forward, Module, Padding, Parameter, Result, Sizes, Tensor,
};

use super::parts::tie;
use super::spatial::{add_bias, check_channels, of_dims};
use super::{ConvConfig, PaddingMode};
use crate::config::{Build, config};

/// The transposed convolution: each input element adds the learned kernel times its value to the output, over an image
/// `y[n, o, i·s + a·d - p, j·s + b·d - p] += x[n, c, i, j] · w[c, o, a, b]`, and then the bias. It is the gradient of a
/// [`Conv`](super::Conv) with respect to its input.
///
/// [`ConvTranspose1d`], [`ConvTranspose2d`] and [`ConvTranspose3d`] are its aliases.
///
/// Source: Zeiler et al., *Deconvolutional Networks* (2010).
///
/// # Shapes
///
/// Input `[batch, in_channels, size…]` with `N` sizes, or without the batch; output with `out_channels` and sizes
/// `(size - 1)·stride - 2·padding + dilation·(kernel - 1) + output_padding + 1`. Several input sizes of a convolution give
/// the same output size: when called with `(x, output_size)`, the output padding is chosen to match.
///
/// # State dict
///
/// `weight` `[in_channels, out_channels / groups, kernel size…]` and, unless `bias` is false, `bias`
/// `[out_channels]`.
///
/// # Initialization
///
/// Both uniform in `±1/√fan_in` with `fan_in = out_channels / groups · kernel elements`, the weight
/// first: PyTorch's, bit for bit.
///
/// # Errors
///
/// An input with a wrong number of channels or dimensions; an output padding that is below neither the stride nor the
/// dilation; an output size that is not within a stride of the smallest; a dtype or device that differs from the
/// weight's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let up = ConvTranspose2dConfig::new(16, 8, 3).stride(2).padding(1).build()?;
/// let x = Tensor::randn([1, 16, 4, 4], DType::F32)?;
/// assert_eq!(up.call(x.clone())?.shape().to_string(), "[1, 8, 7, 7]");
/// assert_eq!(up.call((x, [8, 7]))?.shape().to_string(), "[1, 8, 8, 7]");
///
/// // The gradient of a convolution with the same weight.
/// let down = Conv2dConfig::new(8, 16, 3).stride(2).padding(1).bias(false).build()?;
/// let mut up = ConvTranspose2dConfig::new(16, 8, 3).stride(2).padding(1).bias(false).build()?;
/// up.tie_weight(down.weight())?;
/// assert!(up.weight().tensor().equal(&down.weight().tensor())?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct ConvTranspose<const N: usize> {
    #[module(skip)]
    config: ConvTransposeConfig<N>,
    weight: Parameter,
    bias: Bias,
}

/// The transposed convolution of sequences, [`ConvTranspose`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let conv = ConvTranspose1d::new(2, 4, 3)?;
/// let y = conv.call(Tensor::randn([3, 2, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 4, 10]");
/// # Ok::<(), Error>(())
/// ```
pub type ConvTranspose1d = ConvTranspose<1>;

/// The transposed convolution of images, [`ConvTranspose`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let conv = ConvTranspose2d::new(2, 4, 3)?;
/// let y = conv.call(Tensor::randn([3, 2, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 4, 10, 10]");
/// # Ok::<(), Error>(())
/// ```
pub type ConvTranspose2d = ConvTranspose<2>;

/// The transposed convolution of volumes, [`ConvTranspose`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let conv = ConvTranspose3d::new(2, 4, 3)?;
/// let y = conv.call(Tensor::randn([3, 2, 8, 8, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 4, 10, 10, 10]");
/// # Ok::<(), Error>(())
/// ```
pub type ConvTranspose3d = ConvTranspose<3>;

config! {
    /// The arguments of [`ConvTranspose`]; those of [`ConvTranspose1d`], [`ConvTranspose2d`] and
    /// [`ConvTranspose3d`] are [`ConvTranspose1dConfig`], [`ConvTranspose2dConfig`] and
    /// [`ConvTranspose3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let config = ConvTranspose1dConfig::new(4, 6, 3).stride(2).dilation(2).padding(1).output_padding(1);
    /// let up: ConvTranspose<1> = config.groups(2).bias(false).build()?;
    /// assert_eq!(up.weight().shape().to_string(), "[4, 3, 3]");
    /// // (5 - 1)·2 - 2·1 + 2·(3 - 1) + 1 + 1
    /// let y = up.call(Tensor::zeros([1, 4, 5], DType::F32)?)?;
    /// assert_eq!(y.shape().to_string(), "[1, 6, 12]");
    /// let config: ConvTransposeConfig<3> = ConvTranspose3dConfig::new(4, 2, 2);
    /// assert_eq!(config.build()?.config(), config);
    ///
    /// // From existing parameters: each element is written twice.
    /// let weight = Parameter::new(Tensor::ones([1, 1, 2], DType::F32)?)?;
    /// let twice = ConvTranspose1dConfig::new(1, 1, 2).stride(2).bias(false).padding_mode(PaddingMode::Zeros);
    /// let y = twice.from_parts(weight, Bias::Absent)?.call(Tensor::from([[1.0_f32, 2.0]]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 1.0, 2.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ConvTransposeConfig<const N: usize> => ConvTranspose {
        required {
            /// The number of channels of the input.
            in_channels: usize,
            /// The number of channels of the output.
            out_channels: usize,
            /// The size of the kernel.
            kernel_size: Sizes<N>,
        }
        optional {
            /// The distance between neighboring input elements in the output.
            stride: Sizes<N> = 1,
            /// The number of elements cropped from the output on both sides.
            padding: Sizes<N> = 0,
            /// The number of elements added after the output; below the stride or the dilation.
            output_padding: Sizes<N> = 0,
            /// The number of groups of channels that are convolved separately.
            groups: usize = 1,
            /// Whether a bias is learned.
            bias: bool = true,
            /// The spacing between kernel elements.
            dilation: Sizes<N> = 1,
            /// Zeros, the only mode of PyTorch here.
            padding_mode: PaddingMode = PaddingMode::Zeros,
        }
    }
}

/// The arguments of [`ConvTranspose1d`].
pub type ConvTranspose1dConfig = ConvTransposeConfig<1>;

/// The arguments of [`ConvTranspose2d`].
pub type ConvTranspose2dConfig = ConvTransposeConfig<2>;

/// The arguments of [`ConvTranspose3d`].
pub type ConvTranspose3dConfig = ConvTransposeConfig<3>;

impl<const N: usize> Build for ConvTransposeConfig<N> {
    type Output = ConvTranspose<N>;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, groups that do not divide both numbers of channels, a padding mode other than zeros,
    /// sizes that exceed memory.
    fn build(&self) -> Result<ConvTranspose<N>> {
        let (conv, lead) = self.check()?;
        let (weight, bias) = conv.parameters(ConvTranspose::<N>::NAME, lead)?;
        Ok(self.with_parameters(weight, bias))
    }
}

impl<const N: usize> ConvTransposeConfig<N> {
    /// A layer made from existing parameters: nothing is drawn.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), a weight or a bias of another shape, a bias that is missing, or given although
    /// `bias` is false.
    pub fn from_parts(&self, weight: Parameter, bias: impl Into<Bias>) -> Result<ConvTranspose<N>> {
        let (conv, lead) = self.check()?;
        let (weight, bias) =
            conv.check_parts(ConvTranspose::<N>::NAME, lead, weight, bias.into())?;
        Ok(self.with_parameters(weight, bias))
    }

    fn with_parameters(&self, weight: Parameter, bias: Bias) -> ConvTranspose<N> {
        ConvTranspose {
            config: self.clone(),
            weight,
            bias,
        }
    }

    /// The arguments as those of a convolution, which checks the rest, and the channels of the weight.
    fn check(&self) -> Result<(ConvConfig<N>, [usize; 2])> {
        if self.padding_mode != PaddingMode::Zeros {
            let mode = format_args!("{:?}", self.padding_mode);
            let problem = "must be zeros in a transposed convolution";
            return Err(Error::argument(
                ConvTranspose::<N>::NAME,
                "padding_mode",
                mode,
                problem,
            ));
        }
        Ok((self.to_conv(), [self.in_channels, self.out_channels]))
    }

    /// The arguments that a convolution also has.
    fn to_conv(&self) -> ConvConfig<N> {
        ConvConfig {
            in_channels: self.in_channels,
            out_channels: self.out_channels,
            kernel_size: self.kernel_size,
            stride: self.stride,
            padding: Padding::Size(self.padding.get()),
            dilation: self.dilation,
            groups: self.groups,
            bias: self.bias,
            padding_mode: self.padding_mode,
        }
    }

    /// The size of the output without output padding; `None` if it is below 0 or does not fit in memory.
    fn smallest(&self, d: usize, size: usize) -> Option<usize> {
        let [kernel, stride, dilation, padding] =
            [self.kernel_size, self.stride, self.dilation, self.padding]
                .map(|sizes| sizes.get()[d]);
        let steps = size.checked_sub(1)?.checked_mul(stride)?;
        let reach = dilation.checked_mul(kernel - 1)?.checked_add(1)?;
        steps
            .checked_add(reach)?
            .checked_sub(padding.checked_mul(2)?)
    }
}

impl<const N: usize> ConvTranspose<N> {
    const NAME: &'static str =
        of_dims::<N>(["ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]);
    const OP: &'static str =
        of_dims::<N>(["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]);

    /// The weight, `[in_channels, out_channels / groups, kernel size…]`.
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
        let config = &self.config;
        config.to_conv().print(f, config.output_padding.get())
    }

    fn run(&self, input: &Tensor, output_padding: [usize; N]) -> Result<Tensor> {
        let config = &self.config;
        let options = ConvTransposeOptions::new()
            .stride(config.stride.get())
            .padding(config.padding.get())
            .output_padding(output_padding)
            .groups(config.groups)
            .dilation(config.dilation.get());
        let output = input.conv_transpose(&self.weight.tensor(), options)?;
        let bias = self.bias.get().map(Parameter::tensor);
        add_bias::<N>(output, bias.as_ref())
    }

    /// The output padding that gives this output size.
    fn padding_for(&self, input: &Tensor, output_size: [usize; N]) -> Result<[usize; N]> {
        let mut padding = [0; N];
        // The layer has checked the number of dimensions.
        let lead = input.rank().saturating_sub(N);
        for (d, (&size, &to)) in input
            .shape()
            .iter()
            .skip(lead)
            .zip(&output_size)
            .enumerate()
        {
            let (smallest, stride) = (self.config.smallest(d, size), self.config.stride.get()[d]);
            let more = smallest.and_then(|smallest| to.checked_sub(smallest));
            let Some(more) = more.filter(|&more| more < stride) else {
                let problem = match smallest {
                    Some(low) => format!(
                        "must lie between {low} and {} in dimension {d} for input {}",
                        low.saturating_add(stride - 1),
                        input.shape()
                    ),
                    None => format!("cannot be reached from input {}", input.shape()),
                };
                let given = Sizes::<N>::from(output_size);
                return Err(Error::argument(Self::OP, "output_size", given, problem));
            };
            padding[d] = more;
        }
        Ok(padding)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> ConvTransposeConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for ConvTranspose<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        check_channels::<N>(Self::OP, &input, self.config.in_channels)?;
        self.run(&input, self.config.output_padding.get())
    }
}

/// With the desired spatial sizes of the output.
impl<const N: usize> Forward<(Tensor, [usize; N])> for ConvTranspose<N> {
    type Output = Tensor;

    fn forward(&self, (input, output_size): (Tensor, [usize; N])) -> Result<Tensor> {
        check_channels::<N>(Self::OP, &input, self.config.in_channels)?;
        self.run(&input, self.padding_for(&input, output_size)?)
    }
}
