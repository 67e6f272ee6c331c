//! One draw of the beta distribution: `torch.distributions.Beta(alpha, alpha).sample()`, which is PyTorch's Dirichlet distribution
//! of two equal concentrations.

use module_core::rng::{Distribution, Generator};
use module_core::{DType, Result};

use super::draw;

pub(super) fn symmetric_beta(generator: &Generator, alpha: f64) -> Result<f64> {
    // The concentration is a tensor of `F32`.
    let alpha = f64::from(alpha as f32);
    let (first, second) = (gamma(generator, alpha)?, gamma(generator, alpha)?);
    let share = (first / (first + second)) as f32;
    Ok(f64::from(
        share.clamp(f32::MIN_POSITIVE, 1.0_f32.next_down()),
    ))
}

/// Marsaglia and Tsang, *A Simple Method for Generating Gamma Variables* (2000), with the constants that PyTorch has in `f32`.
fn gamma(generator: &Generator, alpha: f64) -> Result<f64> {
    let one = |of| draw::float(generator, of, DType::F64);
    let (low, high, mean, std) = (0.0, 1.0, 0.0, 1.0);
    let uniform = || Ok(1.0 - one(Distribution::Uniform { low, high })?);
    let (scale, alpha) = match alpha < 1.0 {
        true => {
            let drawn: Result<f64> = uniform();
            (drawn?.powf(1.0 / alpha), alpha + 1.0)
        }
        false => (1.0, alpha),
    };
    let d = alpha - f64::from(1.0_f32 / 3.0);
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = one(Distribution::Normal { mean, std })?;
        let y = 1.0 + c * x;
        if y <= 0.0 {
            continue;
        }
        let (v, u, xx) = (y * y * y, uniform()?, x * x);
        let sure = 1.0 - f64::from(0.0331_f32) * xx * xx;
        if u < sure || u.ln() < 0.5 * xx + d * (1.0 - v + v.ln()) {
            return Ok(scale * d * v);
        }
    }
}
