//! Initialisers: how parameters get their first values, bit for bit as PyTorch draws them.
//!
//! Source: `torch.nn.init`; Glorot and Bengio (2010) for Xavier, He et al. (2015) for Kaiming.

use module_core::{DType, Generator, Init, Result, Shape, Tensor};

pub use module_core::module::ConstantInit as Constant;

/// Zeros, without a draw.
pub fn zeros() -> Constant {
    Constant(0.0)
}

/// Ones, without a draw.
pub fn ones() -> Constant {
    Constant(1.0)
}

/// Uniform draws from `[low, high)`.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, fork_rng, init::Uniform};
///
/// let weight = fork_rng(0, || Parameter::with_init([2], Uniform { low: -0.5, high: 0.5 }))?;
/// let bits: Vec<u32> = weight.tensor().to_vec::<f32>()?.iter().map(|v| v.to_bits()).collect();
/// assert_eq!(bits, [3145028608, 1049187422]);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Uniform {
    /// Draws from `[-bound, bound)`.
    pub fn symmetric(bound: f64) -> Self {
        Self {
            low: -bound,
            high: bound,
        }
    }

    /// `±1/√fan_in`: PyTorch's bias of a linear layer or a convolution.
    pub fn of_fan_in(fan_in: usize) -> Self {
        Self::symmetric(if fan_in > 0 {
            1.0 / (fan_in as f64).sqrt()
        } else {
            0.0
        })
    }
}

impl Init for Uniform {
    fn init(&self, shape: &Shape, dtype: DType, generator: &mut Generator) -> Result<Tensor> {
        Tensor::uniform(shape, self.low, self.high, dtype, generator)
    }
}

/// Normal draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub std: f64,
}

impl Init for Normal {
    fn init(&self, shape: &Shape, dtype: DType, generator: &mut Generator) -> Result<Tensor> {
        Tensor::normal(shape, self.mean, self.std, dtype, generator)
    }
}

/// Uniform draws from `±√3·gain/√fan_in`, which keep the variance of the forward pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KaimingUniform {
    gain: f64,
}

impl KaimingUniform {
    /// With the gain `√(2/(1 + a²))` of a leaky ReLU of slope `a`; 0 is the ReLU.
    pub fn new(a: f64) -> Self {
        Self {
            gain: (2.0 / (1.0 + a * a)).sqrt(),
        }
    }
}

/// PyTorch's weight of linear layers and convolutions: `a = √5`, which comes to `±1/√fan_in`.
impl Default for KaimingUniform {
    fn default() -> Self {
        Self::new(5.0_f64.sqrt())
    }
}

impl Init for KaimingUniform {
    fn init(&self, shape: &Shape, dtype: DType, generator: &mut Generator) -> Result<Tensor> {
        let (fan_in, _) = fans(shape)?;
        // Without elements there is nothing to draw, and no fan to divide by.
        let std = if shape.contains(&0) {
            0.0
        } else {
            self.gain / (fan_in as f64).sqrt()
        };
        Uniform::symmetric(3.0_f64.sqrt() * std).init(shape, dtype, generator)
    }
}

/// Uniform draws from `±√3·gain·√(2/(fan_in + fan_out))`, which keep the variance of both passes about
/// equal.
///
/// Source: Glorot and Bengio, *Understanding the Difficulty of Training Deep Feedforward Neural
/// Networks* (2010).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XavierUniform {
    /// What the standard deviation is multiplied by.
    pub gain: f64,
}

/// A gain of 1.
impl Default for XavierUniform {
    fn default() -> Self {
        Self { gain: 1.0 }
    }
}

impl Init for XavierUniform {
    fn init(&self, shape: &Shape, dtype: DType, generator: &mut Generator) -> Result<Tensor> {
        let bound = 3.0_f64.sqrt() * xavier_std(shape, self.gain)?;
        Uniform::symmetric(bound).init(shape, dtype, generator)
    }
}

/// Normal draws with the standard deviation `gain·√(2/(fan_in + fan_out))`: see [`XavierUniform`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct XavierNormal {
    /// What the standard deviation is multiplied by.
    pub gain: f64,
}

/// A gain of 1.
impl Default for XavierNormal {
    fn default() -> Self {
        Self { gain: 1.0 }
    }
}

impl Init for XavierNormal {
    fn init(&self, shape: &Shape, dtype: DType, generator: &mut Generator) -> Result<Tensor> {
        let (mean, std) = (0.0, xavier_std(shape, self.gain)?);
        Normal { mean, std }.init(shape, dtype, generator)
    }
}

fn xavier_std(shape: &Shape, gain: f64) -> Result<f64> {
    let (fan_in, fan_out) = fans(shape)?;
    // Without elements there is nothing to draw, and perhaps no fan to divide by.
    Ok(match shape.contains(&0) {
        true => 0.0,
        false => gain * (2.0 / (fan_in as f64 + fan_out as f64)).sqrt(),
    })
}

/// Zeros after the draws of another initialiser, where PyTorch overwrites what a layer within a layer
/// drew for itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overwritten<I>(pub(crate) I);

impl<I: Init> Init for Overwritten<I> {
    fn init(&self, shape: &Shape, dtype: DType, generator: &mut Generator) -> Result<Tensor> {
        self.0.init(shape, dtype, generator)?;
        zeros().init(shape, dtype, generator)
    }
}

/// The numbers of inputs and outputs of one unit: `size(1)·rf` and `size(0)·rf`, where `rf` is the
/// number of places of the kernel.
///
/// # Errors
///
/// Fewer than two dimensions, a number that exceeds memory.
pub fn fans(shape: &Shape) -> Result<(usize, usize)> {
    let &[outputs, inputs, ref kernel @ ..] = &**shape else {
        let (expected, got) = ("at least two dimensions".to_owned(), shape.clone());
        return Err(module_core::ErrorKind::Shape {
            op: "fans",
            expected,
            got,
        }
        .into());
    };
    let times_field =
        |units: usize| (kernel.iter()).try_fold(units, |product, &size| product.checked_mul(size));
    match (times_field(inputs), times_field(outputs)) {
        (Some(fan_in), Some(fan_out)) => Ok((fan_in, fan_out)),
        _ => {
            let shape = shape.clone();
            Err(module_core::ErrorKind::TooLarge { op: "fans", shape }.into())
        }
    }
}
