//! The distributions that elements are drawn from.

use crate::rng::{Generator, RandomFloat, RngError};

/// A distribution over the floating-point types.
pub(crate) trait Distribution {
    fn fill<T: RandomFloat>(self, out: &mut [T], generator: &mut Generator)
    -> Result<(), RngError>;
}

pub(super) struct Uniform {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Distribution for Uniform {
    fn fill<T: RandomFloat>(
        self,
        out: &mut [T],
        generator: &mut Generator,
    ) -> Result<(), RngError> {
        generator.fill_uniform(out, self.low, self.high)
    }
}

pub(super) struct TruncNormal {
    pub(super) mean: f64,
    pub(super) std: f64,
    pub(super) interval: [f64; 2],
    /// Whether the distribution function is inverted.
    pub(super) by_inverse: bool,
}

impl Distribution for TruncNormal {
    fn fill<T: RandomFloat>(
        self,
        out: &mut [T],
        generator: &mut Generator,
    ) -> Result<(), RngError> {
        let Self { mean, std, .. } = self;
        let [low, high] = self.interval;
        if self.by_inverse {
            generator.fill_trunc_normal_by_inverse(out, mean, std, low, high)
        } else {
            generator.fill_trunc_normal(out, mean, std, low, high)
        }
    }
}

pub(super) struct Normal {
    pub(super) mean: f64,
    pub(super) std: f64,
}

impl Distribution for Normal {
    fn fill<T: RandomFloat>(
        self,
        out: &mut [T],
        generator: &mut Generator,
    ) -> Result<(), RngError> {
        generator.fill_normal(out, self.mean, self.std)
    }
}

/// The factors of dropout.
pub(crate) struct DropoutMask {
    pub(crate) p: f64,
}

impl Distribution for DropoutMask {
    fn fill<T: RandomFloat>(
        self,
        out: &mut [T],
        generator: &mut Generator,
    ) -> Result<(), RngError> {
        generator.fill_dropout(out, self.p)
    }
}
