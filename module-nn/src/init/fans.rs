//! Distributions scaled by the numbers of inputs and outputs, so that the variance stays the same from layer to layer.

use module_core::{DType, Generator, Init, Result, Shape, ShapeError, Tensor};

use super::{Nonlinearity, Normal, Uniform};

/// Which pass keeps its variance under Kaiming's rule.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// use module_nn::init::{FanMode, KaimingNormal, Nonlinearity};
///
/// let layer = Conv2d::new(3, 8, 3)?;
/// layer.weight().initialize(KaimingNormal::of(Nonlinearity::Relu).mode(FanMode::FanOut))?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FanMode {
    /// The forward pass: the number of inputs.
    #[default]
    FanIn,
    /// The backward pass: the number of outputs.
    FanOut,
}

/// A uniform distribution with the standard deviation `gain · √(2 / (fan_in + fan_out))`.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::{Nonlinearity, XavierUniform}};
///
/// let weight = Parameter::with_init([8, 4], XavierUniform::new(Nonlinearity::Tanh.gain()))?;
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XavierUniform {
    gain: f64,
}

/// A normal distribution with the standard deviation `gain · √(2 / (fan_in + fan_out))`.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::XavierNormal};
///
/// let weight = Parameter::with_init([8, 4], XavierNormal::default())?;
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XavierNormal {
    gain: f64,
}

/// A uniform distribution with the standard deviation `gain / √fan`, which keeps the variance of the forward pass or, with
/// the fan of the outputs, of the backward pass.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::{FanMode, KaimingUniform}};
///
/// let weight = Parameter::with_init([8, 4], KaimingUniform::new(0.0).mode(FanMode::FanOut))?;
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KaimingUniform {
    gain: f64,
    mode: FanMode,
}

/// A normal distribution with the standard deviation `gain / √fan`, which keeps the variance of the forward pass or, with
/// the fan of the outputs, of the backward pass.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::{FanMode, KaimingNormal, Nonlinearity}};
///
/// let init = KaimingNormal::of(Nonlinearity::Relu).mode(FanMode::FanOut);
/// let weight = Parameter::with_init([8, 4, 3, 3], init)?;
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KaimingNormal {
    gain: f64,
    mode: FanMode,
}

macro_rules! xavier {
    ($($name:ident)*) => {$(
        impl $name {
            /// Makes the initializer with a gain.
            pub fn new(gain: f64) -> Self {
                Self { gain }
            }
        }

        /// Makes the initializer with a gain of 1.
        impl Default for $name {
            fn default() -> Self {
                Self::new(1.0)
            }
        }
    )*};
}

xavier!(XavierUniform XavierNormal);

macro_rules! kaiming {
    ($($name:ident)*) => {$(
        impl $name {
            /// Makes the initializer with the gain `√(2/(1 + a²))` of a leaky ReLU of slope `a`; 0 is the ReLU.
            pub fn new(a: f64) -> Self {
                Self::of(Nonlinearity::LeakyRelu(a))
            }

            /// Makes the initializer with the gain of a nonlinearity.
            pub fn of(nonlinearity: Nonlinearity) -> Self {
                let (gain, mode) = (nonlinearity.gain(), FanMode::FanIn);
                Self { gain, mode }
            }

            /// By the number of inputs or of outputs.
            #[must_use]
            pub fn mode(self, mode: FanMode) -> Self {
                Self { mode, ..self }
            }
        }
    )*};
}

kaiming!(KaimingUniform KaimingNormal);

/// PyTorch's weight of linear layers and convolutions: `a = √5`, which amounts to `±1/√fan_in`.
impl Default for KaimingUniform {
    fn default() -> Self {
        Self::new(5.0_f64.sqrt())
    }
}

impl Init for XavierUniform {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        uniform(xavier(self.gain, shape)?).init(shape, dtype, generator)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        uniform(xavier(self.gain, shape)?).skip(shape, dtype, generator)
    }
}

impl Init for XavierNormal {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        normal(xavier(self.gain, shape)?).init(shape, dtype, generator)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        normal(xavier(self.gain, shape)?).skip(shape, dtype, generator)
    }
}

impl Init for KaimingUniform {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        uniform(kaiming(self.gain, self.mode, shape)?).init(shape, dtype, generator)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        uniform(kaiming(self.gain, self.mode, shape)?).skip(shape, dtype, generator)
    }
}

impl Init for KaimingNormal {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        normal(kaiming(self.gain, self.mode, shape)?).init(shape, dtype, generator)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        normal(kaiming(self.gain, self.mode, shape)?).skip(shape, dtype, generator)
    }
}

/// A uniform distribution with this standard deviation.
fn uniform(std: f64) -> Uniform {
    Uniform::symmetric(3.0_f64.sqrt() * std)
}

fn normal(std: f64) -> Normal {
    Normal { mean: 0.0, std }
}

fn xavier(gain: f64, shape: &Shape) -> Result<f64> {
    let (fan_in, fan_out) = fans(shape)?;
    // Without elements there is nothing to draw, and no fan to divide by.
    if shape.contains(&0) {
        return Ok(0.0);
    }
    Ok(gain * (2.0 / (fan_in as f64 + fan_out as f64)).sqrt())
}

fn kaiming(gain: f64, mode: FanMode, shape: &Shape) -> Result<f64> {
    let (fan_in, fan_out) = fans(shape)?;
    if shape.contains(&0) {
        return Ok(0.0);
    }
    let fan = match mode {
        FanMode::FanIn => fan_in,
        FanMode::FanOut => fan_out,
    };
    Ok(gain / (fan as f64).sqrt())
}

/// The numbers of inputs and outputs of one unit: `size(1)·rf` and `size(0)·rf`, where `rf` is the number of kernel
/// elements.
///
/// # Errors
///
/// Fewer than two dimensions, a number that is too large for memory.
///
/// # Example
///
/// ```
/// use module_nn::init::fans;
/// use module_nn::prelude::*;
///
/// assert_eq!(fans(&Shape::from([8, 3, 5, 5]))?, (75, 200)); // A convolution from 3 to 8 channels.
/// # Ok::<(), Error>(())
/// ```
pub fn fans(shape: &Shape) -> Result<(usize, usize)> {
    let &[outputs, inputs, ref kernel @ ..] = &**shape else {
        return Err(shape.error("fans", "at least two dimensions"));
    };
    let times_field =
        |units: usize| (kernel.iter()).try_fold(units, |product, &size| product.checked_mul(size));
    match (times_field(inputs), times_field(outputs)) {
        (Some(fan_in), Some(fan_out)) => Ok((fan_in, fan_out)),
        _ => {
            let shape = shape.clone();
            Err(ShapeError::TooLarge { op: "fans", shape }.into())
        }
    }
}
