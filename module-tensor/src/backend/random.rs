//! Random numbers of a device.

use super::Storage;
use crate::{DType, Result};

/// The distribution of random elements.
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
    /// The normal distribution within `[low, high]`; values outside are drawn again.
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
    /// The same distribution by the inverse of its cumulative distribution function, one draw a value.
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
    /// `-ln(1 - u) / λ` of an even `u`.
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
        /// The least.
        low: i64,
        /// One more than the greatest.
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
pub trait DeviceGenerator: Send {
    /// Starts over with this seed.
    fn manual_seed(&mut self, seed: u64);

    /// The seed given last, whatever was drawn since.
    fn initial_seed(&self) -> u64;

    /// Everything that decides the draws to come.
    fn get_state(&self) -> Vec<u8>;

    /// Takes up what [`get_state`](Self::get_state) gave.
    ///
    /// # Errors
    ///
    /// Bytes that are no such state. The generator is unchanged then.
    fn set_state(&mut self, state: &[u8]) -> Result<()>;

    /// `numel` values on the device, rounded to `dtype`; what they are depends on the state alone.
    ///
    /// # Errors
    ///
    /// Numbers that are no such distribution, a dtype that is not served, not enough memory.
    fn draw(&mut self, distribution: Distribution, numel: usize, dtype: DType) -> Result<Storage>;

    /// Goes on as if the values had been drawn.
    ///
    /// # Errors
    ///
    /// As [`draw`](Self::draw).
    fn skip(&mut self, distribution: Distribution, numel: usize, dtype: DType) -> Result<()> {
        self.draw(distribution, numel, dtype).map(drop)
    }
}
