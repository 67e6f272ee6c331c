//! Random numbers of a device.

use super::Storage;
use crate::{DType, Result};

/// The distribution of random elements.
///
/// # Example
///
/// ```
/// use module_tensor::DType;
/// use module_tensor::backend::Distribution;
/// use module_tensor::rng::Generator;
///
/// let generator = Generator::new(0);
/// let letters = generator.draw(Distribution::Integers { low: 0, high: 26 }, 8, DType::I64)?;
/// assert_eq!((letters.dtype(), Distribution::Permutation.name()), (DType::I64, "randperm"));
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// Uniform over `[low, high)`.
    Uniform {
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
    },
    /// The normal distribution.
    Normal {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        std: f64,
    },
    /// The normal distribution within `[low, high]`; values outside are redrawn.
    TruncNormal {
        /// The mean of the whole distribution.
        mean: f64,
        /// The standard deviation of the whole distribution.
        std: f64,
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
    },
    /// The same distribution by inverting its cumulative distribution function, with one draw per value.
    TruncNormalByInverse {
        /// The mean of the whole distribution.
        mean: f64,
        /// The standard deviation of the whole distribution.
        std: f64,
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
    },
    /// `-ln(1 - u) / λ` for a uniform `u`.
    Exponential {
        /// `λ`
        lambda: f64,
    },
    /// 1 with probability `p`, else 0.
    Bernoulli {
        /// The probability of 1.
        p: f64,
    },
    /// 0 with probability `p`, else `1 / (1 - p)`.
    Dropout {
        /// The probability of 0.
        p: f64,
    },
    /// The integers of `[low, high)`, as `I64`.
    Integers {
        /// The smallest integer.
        low: i64,
        /// One more than the largest integer.
        high: i64,
    },
    /// A random permutation of `0..n` for `n` elements, as `I64`.
    Permutation,
}

impl Distribution {
    /// The name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform { .. } => "uniform",
            Self::Normal { .. } => "normal",
            Self::TruncNormal { .. } | Self::TruncNormalByInverse { .. } => "trunc_normal",
            Self::Exponential { .. } => "exponential",
            Self::Bernoulli { .. } => "bernoulli",
            Self::Dropout { .. } => "dropout",
            Self::Integers { .. } => "randint",
            Self::Permutation => "randperm",
        }
    }
}

/// The engine behind a [`Generator`](crate::Generator): a device that draws its own random numbers has
/// one ([`Backend::generator`](super::Backend::generator)).
///
/// # Example
///
/// ```
/// use module_tensor::DType;
/// use module_tensor::backend::{DeviceGenerator, Distribution};
/// use module_tensor::rng::CpuGenerator;
///
/// let mut generator: Box<dyn DeviceGenerator> = Box::new(CpuGenerator::new(0));
/// let state = generator.get_state();
/// let uniform = Distribution::Uniform { low: 0.0, high: 1.0 };
/// let _first = generator.draw(uniform, 4, DType::F32)?;
/// generator.set_state(&state)?; // Draws the same again.
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::DType;
/// use module_tensor::backend::{DeviceGenerator, Distribution};
/// use module_tensor::rng::CpuGenerator;
///
/// // Skipping values leads to the same state as drawing them.
/// let normal = Distribution::Normal { mean: 0.0, std: 1.0 };
/// let mut generator: Box<dyn DeviceGenerator> = Box::new(CpuGenerator::new(0));
/// generator.manual_seed(7);
/// generator.skip(normal, 5, DType::F32)?;
/// let skipped = generator.get_state();
/// generator.manual_seed(7);
/// assert_eq!(generator.initial_seed(), 7);
/// generator.draw(normal, 5, DType::F32)?;
/// assert_eq!(generator.get_state(), skipped);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub trait DeviceGenerator: Send {
    /// Starts over with this seed.
    fn manual_seed(&mut self, seed: u64);

    /// The last seed, regardless of draws since.
    fn initial_seed(&self) -> u64;

    /// The state that determines all future draws.
    fn get_state(&self) -> Vec<u8>;

    /// Restores what [`get_state`](Self::get_state) returned.
    ///
    /// # Errors
    ///
    /// Bytes that are not such a state. The generator is then unchanged.
    fn set_state(&mut self, state: &[u8]) -> Result<()>;

    /// `numel` values on the device, rounded to `dtype`; they depend only on the state.
    ///
    /// # Errors
    ///
    /// Invalid parameters of the distribution, an unsupported dtype, not enough memory.
    fn draw(&mut self, distribution: Distribution, numel: usize, dtype: DType) -> Result<Storage>;

    /// Advances as if the values had been drawn.
    ///
    /// # Errors
    ///
    /// Those of [`draw`](Self::draw).
    fn skip(&mut self, distribution: Distribution, numel: usize, dtype: DType) -> Result<()> {
        self.draw(distribution, numel, dtype).map(drop)
    }
}
