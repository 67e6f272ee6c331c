//! A step of AdamW, in blocks that stay in the cache.

use super::float::Float;
use super::lanes::number;
use super::map::{FloatKernel, run_float};
use super::memory::scratch;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::view::to_cow;
use super::{
    AdamWMemory, AdamWStep, CpuStorage, Element, Operand, Storage, check_allocatable, elements_of,
};
use crate::zip::{zip_mut, zip_mut3};
use crate::{DTypeError, Result};

pub(super) fn adamw(
    value: &Operand,
    grad: &Operand,
    moments: AdamWMemory<'_>,
    step: &AdamWStep,
) -> Result<Storage> {
    let kernel = AdamW {
        value,
        grad,
        moments,
        step,
    };
    run_float(value.storage.dtype(), kernel)
}

struct AdamW<'a> {
    value: &'a Operand,
    grad: &'a Operand,
    moments: AdamWMemory<'a>,
    step: &'a AdamWStep,
}

impl FloatKernel for AdamW<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "adamw"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let AdamWMemory {
            exp_avg,
            exp_avg_sq,
            max_exp_avg_sq,
        } = self.moments;
        let (value, grad) = (to_cow::<T>(self.value)?, to_cow::<T>(self.grad)?);
        let numel = value.len();
        // Whatever can fail does so before the first moment changes.
        let mut out = scratch(numel)?;
        let exp_avg = Items(to_write(exp_avg, numel)?, 1);
        let exp_avg_sq = Items(to_write(exp_avg_sq, numel)?, 1);
        let max = match max_exp_avg_sq {
            Some(max) => Some(Items(to_write(max, numel)?, 1)),
            None => None,
        };
        let numbers = Numbers::of(self.step);
        let items = ((Items(&mut out, 1), max), (exp_avg, exp_avg_sq));
        parallel_for(
            numel,
            2,
            items,
            &|range, ((out, max), (exp_avg, exp_avg_sq))| {
                run_at_best_level(Steps {
                    value: &value[range.clone()],
                    grad: &grad[range],
                    exp_avg: exp_avg.0,
                    exp_avg_sq: exp_avg_sq.0,
                    max_exp_avg_sq: max.map(|max| max.0),
                    numbers,
                    out: out.0,
                });
                Ok(())
            },
        )?;
        Ok(CpuStorage::wrap(out))
    }
}

/// The first elements of memory that nobody else shares, which is a copy if somebody does.
fn to_write<T: Element>(storage: &mut Storage, numel: usize) -> Result<&mut [T]> {
    let own = |memory: &mut CpuStorage| memory.values_mut::<T>().is_some();
    if !storage.downcast_mut().is_some_and(own) {
        check_allocatable::<T>(numel)?;
        let shared = elements_of::<T>(storage)?;
        *storage = CpuStorage::wrap(shared.get(..numel).unwrap_or_default().to_vec());
    }
    let (lhs, rhs) = (storage.dtype(), T::DTYPE);
    let memory = storage.downcast_mut::<CpuStorage>();
    let values = memory.and_then(|memory| memory.values_mut()?.get_mut(..numel));
    values.ok_or_else(|| {
        let op = "adamw";
        DTypeError::Mismatch { op, lhs, rhs }.into()
    })
}

/// The numbers of a step in the type of the elements.
#[derive(Clone, Copy)]
struct Numbers<T> {
    sign: T,
    part1: T,
    near_grad: bool,
    beta2: T,
    rest2: T,
    root_correction: T,
    eps: T,
    decay: T,
    step_size: T,
}

impl<T: Float> Numbers<T> {
    fn of(step: &AdamWStep) -> Self {
        let (part1, near_grad) = step.lerp();
        Self {
            sign: number(if step.maximize { -1.0 } else { 1.0 }),
            part1: number(part1),
            near_grad,
            beta2: number(step.betas.1),
            rest2: number(1.0 - step.betas.1),
            root_correction: number(step.root_correction()),
            eps: number(step.eps),
            decay: number(step.decay()),
            step_size: number(step.step_size()),
        }
    }
}

struct Steps<'a, T> {
    value: &'a [T],
    grad: &'a [T],
    exp_avg: &'a mut [T],
    exp_avg_sq: &'a mut [T],
    max_exp_avg_sq: Option<&'a mut [T]>,
    numbers: Numbers<T>,
    out: &'a mut [T],
}

impl<T: Float> Loop for Steps<'_, T> {
    type Output = ();

    // The steps and their roundings are those of PyTorch's.

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(mut self) {
        const BLOCK: usize = 512;
        let n = self.numbers;
        let inputs = self.value.chunks(BLOCK).zip(self.grad.chunks(BLOCK));
        let exp_avgs = self.exp_avg.chunks_mut(BLOCK);
        let moments = exp_avgs.zip(self.exp_avg_sq.chunks_mut(BLOCK));
        let blocks = inputs.zip(moments).zip(self.out.chunks_mut(BLOCK));
        for (i, (((value, grad), (exp_avg, exp_avg_sq)), out)) in blocks.enumerate() {
            for (m, &grad) in zip_mut(exp_avg, grad) {
                let grad = n.sign * grad;
                let base = if n.near_grad { grad } else { *m };
                *m = base + n.part1 * (grad - *m);
            }
            for (v, &grad) in zip_mut(exp_avg_sq, grad) {
                *v = *v * n.beta2 + n.rest2 * grad * grad;
            }
            let mut second = &*exp_avg_sq;
            if let Some(max) = &mut self.max_exp_avg_sq {
                let max = max.chunks_mut(BLOCK).nth(i).unwrap_or_default();
                for (max, &v) in zip_mut(max, second) {
                    *max = if v.is_nan() { v } else { max.greater(v) };
                }
                second = max;
            }
            for (out, &value, &m, &second) in zip_mut3(out, value, exp_avg, second) {
                let root = second.sqrt() / n.root_correction + n.eps;
                *out = value * n.decay - n.step_size * m / root;
            }
        }
    }
}
