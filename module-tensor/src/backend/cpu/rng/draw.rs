//! The CPU's generator as its device has it.

use super::{CpuGenerator, GeneratorState, RandomFloat};
use crate::backend::cpu::{CpuStorage, scratch};
use crate::backend::{DeviceGenerator, Distribution, Element, Storage};
use crate::error::RngError;
use crate::{DType, DTypeError, Result};

impl DeviceGenerator for CpuGenerator {
    fn manual_seed(&mut self, seed: u64) {
        self.manual_seed(seed);
    }

    fn initial_seed(&self) -> u64 {
        self.initial_seed()
    }

    fn get_state(&self) -> Vec<u8> {
        self.to_bytes()
    }

    fn set_state(&mut self, state: &[u8]) -> Result<()> {
        Ok(self.set_state(&GeneratorState::from_bytes(state)?)?)
    }

    fn draw(&mut self, distribution: Distribution, numel: usize, dtype: DType) -> Result<Storage> {
        match (distribution, dtype) {
            (_, DType::F32) => draw_floats::<f32>(self, distribution, numel),
            (_, DType::F64) => draw_floats::<f64>(self, distribution, numel),
            (_, DType::F16) => draw_floats::<half::f16>(self, distribution, numel),
            (_, DType::BF16) => draw_floats::<half::bf16>(self, distribution, numel),
            (Distribution::Bernoulli { p }, DType::Bool) => {
                draw_with(numel, |out| self.fill_mask(out, p))
            }
            (Distribution::Integers { low, high }, DType::I64) => {
                draw_with(numel, |out| self.fill_randint::<i64>(out, low, high))
            }
            (Distribution::Permutation, DType::I64) => Ok(CpuStorage::wrap(self.randperm(numel)?)),
            _ => Err(unsupported(distribution, dtype)),
        }
    }

    fn skip(&mut self, distribution: Distribution, numel: usize, dtype: DType) -> Result<()> {
        match distribution {
            Distribution::Uniform { .. } | Distribution::TruncNormalByInverse { .. } => {
                self.skip_uniform(numel, dtype);
            }
            Distribution::Normal { .. } => self.skip_normal(numel, dtype),
            _ => drop(self.draw(distribution, numel, dtype)?),
        }
        Ok(())
    }
}

fn draw_floats<T: Element + RandomFloat>(
    generator: &mut CpuGenerator,
    distribution: Distribution,
    numel: usize,
) -> Result<Storage> {
    let unsupported = || unsupported(distribution, T::DTYPE);
    if matches!(
        distribution,
        Distribution::Integers { .. } | Distribution::Permutation
    ) {
        return Err(unsupported());
    }
    draw_with::<T>(numel, |out| match distribution {
        Distribution::Uniform { low, high } => generator.fill_uniform(out, low, high),
        Distribution::Normal { mean, std } => generator.fill_normal(out, mean, std),
        Distribution::TruncNormal {
            mean,
            std,
            low,
            high,
        } => generator.fill_trunc_normal(out, mean, std, low, high),
        Distribution::TruncNormalByInverse {
            mean,
            std,
            low,
            high,
        } => generator.fill_trunc_normal_by_inverse(out, mean, std, low, high),
        Distribution::Exponential { lambda } => generator.fill_exponential(out, lambda),
        Distribution::Bernoulli { p } => generator.fill_bernoulli(out, p),
        Distribution::Dropout { p } => generator.fill_dropout(out, p),
        Distribution::Integers { .. } | Distribution::Permutation => Ok(()),
    })
}

fn draw_with<T: Element>(
    numel: usize,
    fill: impl FnOnce(&mut [T]) -> std::result::Result<(), RngError>,
) -> Result<Storage> {
    let mut values = scratch::<T>(numel)?;
    fill(&mut values)?;
    Ok(CpuStorage::wrap(values))
}

fn unsupported(distribution: Distribution, dtype: DType) -> crate::Error {
    let needs = match distribution {
        Distribution::Integers { .. } | Distribution::Permutation => "int64",
        _ => "a floating-point dtype",
    };
    let op = distribution.name();
    DTypeError::Unsupported { op, dtype, needs }.into()
}
