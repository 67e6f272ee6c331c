//! One value everywhere, and plain draws.

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

/// Normal draws, those outside `[a, b]` drawn again: PyTorch's `trunc_normal_` since 2.15.
///
/// The bounds are values, not standard deviations.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::TruncNormal};
///
/// let init = TruncNormal { std: 0.02, ..TruncNormal::default() };
/// let weight = Parameter::with_init([8, 8], init)?;
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncNormal {
    /// The mean of the distribution before it is cut.
    pub mean: f64,
    /// Its standard deviation.
    pub std: f64,
    /// The lower bound.
    pub a: f64,
    /// The upper bound.
    pub b: f64,
}

impl Default for TruncNormal {
    fn default() -> Self {
        Self {
            mean: 0.0,
            std: 1.0,
            a: -2.0,
            b: 2.0,
        }
    }
}

impl Init for TruncNormal {
    fn init(&self, shape: &Shape, dtype: DType, generator: &mut Generator) -> Result<Tensor> {
        let &Self { mean, std, a, b } = self;
        Tensor::trunc_normal(shape, mean, std, [a, b], dtype, generator)
    }
}
