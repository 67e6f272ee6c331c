//! Constants and simple distributions.

use module_core::rng::Distribution;
use module_core::{DType, Generator, Init, Result, Shape, Tensor};

pub use module_core::module::ConstantInit as Constant;

/// Zeros, without random draws.
///
/// # Example
///
/// ```
/// use module_nn::init::zeros;
/// use module_nn::prelude::*;
///
/// let layer = Linear::new(2, 2)?;
/// layer.weight().initialize(zeros())?;
/// assert_eq!(layer.weight().tensor().to_vec::<f32>()?, [0.0; 4]);
/// # Ok::<(), Error>(())
/// ```
pub fn zeros() -> Constant {
    Constant(0.0)
}

/// Ones, without random draws.
///
/// # Example
///
/// ```
/// use module_nn::init::ones;
/// use module_nn::prelude::*;
///
/// let layer = Linear::new(2, 2)?;
/// layer.weight().initialize(ones())?;
/// assert_eq!(layer.weight().tensor().to_vec::<f32>()?, [1.0; 4]);
/// # Ok::<(), Error>(())
/// ```
pub fn ones() -> Constant {
    Constant(1.0)
}

/// A uniform distribution over `[low, high)`.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, fork_rng, init::Uniform};
///
/// let weight = fork_rng(0, || Parameter::with_init([2], Uniform { low: -0.5, high: 0.5 }))?;
/// let bits: Vec<u32> = weight.tensor().to_vec::<f32>()?.iter().map(|v| v.to_bits()).collect();
/// assert_eq!(bits, [3145028608, 1049187422]);
///
/// // PyTorch's bias of a linear layer with four inputs.
/// let bias = Parameter::with_init([8], Uniform::of_fan_in(4))?;
/// assert!(bias.tensor().abs()?.amax(..)?.item::<f32>()? <= 0.5);
/// assert_eq!(Uniform::symmetric(0.5), Uniform::of_fan_in(4));
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
    /// A uniform distribution over `[-bound, bound)`.
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
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        Tensor::uniform(shape, self.low, self.high, dtype, generator)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        let &Self { low, high } = self;
        let distribution = Distribution::Uniform { low, high };
        generator.skip(distribution, shape.numel(), dtype)
    }
}

/// A normal distribution.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// use module_nn::init::Normal;
///
/// let layer = Linear::new(2, 2)?;
/// layer.weight().initialize(Normal { mean: 0.0, std: 0.02 })?;
/// assert!(layer.weight().tensor().abs()?.amax(..)?.item::<f32>()? < 0.2);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub std: f64,
}

impl Init for Normal {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        Tensor::normal(shape, self.mean, self.std, dtype, generator)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        let &Self { mean, std } = self;
        let distribution = Distribution::Normal { mean, std };
        generator.skip(distribution, shape.numel(), dtype)
    }
}

/// A normal distribution, with draws outside `[a, b]` repeated: PyTorch's `trunc_normal_` since 2.15.
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
    /// The mean of the distribution before truncation.
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
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        let &Self { mean, std, a, b } = self;
        Tensor::trunc_normal(shape, mean, std, [a, b], dtype, generator)
    }
}

/// A normal distribution truncated to `[a, b]` by inverting the distribution function: timm's `trunc_normal_`, which was
/// PyTorch's before 2.15 and gives other values for a seed than [`TruncNormal`].
///
/// The bounds are values, not standard deviations. PyTorch's own numbers depend on the library that computes `erfinv`:
/// about one in 3000 of those of its x86-64 builds differs from these by one unit in the last place, before scaling.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::TimmTruncNormal};
///
/// let init = TimmTruncNormal { std: 0.02, ..TimmTruncNormal::default() };
/// let weight = Parameter::with_init([8, 8], init)?;
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimmTruncNormal {
    /// The mean of the distribution before truncation.
    pub mean: f64,
    /// Its standard deviation.
    pub std: f64,
    /// The lower bound.
    pub a: f64,
    /// The upper bound.
    pub b: f64,
}

impl Default for TimmTruncNormal {
    fn default() -> Self {
        Self {
            mean: 0.0,
            std: 1.0,
            a: -2.0,
            b: 2.0,
        }
    }
}

impl TimmTruncNormal {
    fn distribution(&self) -> Distribution {
        let &Self { mean, std, a, b } = self;
        let (low, high) = (a, b);
        Distribution::TruncNormalByInverse {
            mean,
            std,
            low,
            high,
        }
    }
}

impl Init for TimmTruncNormal {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        let &Self { mean, std, a, b } = self;
        Tensor::trunc_normal_by_inverse(shape, mean, std, [a, b], dtype, generator)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        generator.skip(self.distribution(), shape.numel(), dtype)
    }
}

/// [`TimmTruncNormal`] with mean 0 and standard deviation 1, then scaled and shifted: timm's `trunc_normal_tf_`. The bounds
/// are standard deviations.
///
/// # Example
///
/// ```
/// use module_nn::{Parameter, init::TimmTruncNormalTf};
///
/// let init = TimmTruncNormalTf { std: 0.02, ..TimmTruncNormalTf::default() };
/// let weight = Parameter::with_init([8, 8], init)?;
/// assert!(weight.tensor().abs()?.amax(..)?.item::<f32>()? <= 0.04);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimmTruncNormalTf {
    /// The final offset.
    pub mean: f64,
    /// The scale of the draws.
    pub std: f64,
    /// The lower bound of the draws.
    pub a: f64,
    /// The upper bound of the draws.
    pub b: f64,
}

impl Default for TimmTruncNormalTf {
    fn default() -> Self {
        let TimmTruncNormal { mean, std, a, b } = TimmTruncNormal::default();
        Self { mean, std, a, b }
    }
}

impl Init for TimmTruncNormalTf {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        let &Self { mean, std, a, b } = self;
        let drawn = Tensor::trunc_normal_by_inverse(shape, 0.0, 1.0, [a, b], dtype, generator)?;
        drawn.mul(std)?.add(mean)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        let &Self { a, b, .. } = self;
        let (mean, std) = (0.0, 1.0);
        TimmTruncNormal { mean, std, a, b }.skip(shape, dtype, generator)
    }
}
