//! A step of AdamW.

use super::float::Float;
use super::lanes::number;
use super::map::{FloatKernel, run_float};
use super::update_in_place::{LANES, Update, to_write, update_in_place};
use super::view::to_cow;
use super::{AdamWMemory, AdamWStep, Operand};
use crate::Result;

const NAME: &str = "adamw";

/// Nanoseconds for each element, about.
const NS: usize = 2;

pub(super) fn adamw(memory: AdamWMemory<'_>, grad: &Operand, step: &AdamWStep) -> Result<()> {
    run_float(memory.value.dtype(), AdamW(memory, grad, step))
}

struct AdamW<'a>(AdamWMemory<'a>, &'a Operand, &'a AdamWStep);

impl FloatKernel for AdamW<'_> {
    type Output = ();

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<()> {
        let Self(memory, grad, step) = self;
        let grad = to_cow::<T>(grad)?;
        let numel = grad.len();
        // Whatever can fail does so before the first number changes.
        let value = to_write(NAME, memory.value, numel)?;
        let exp_avg = to_write(NAME, memory.exp_avg, numel)?;
        let exp_avg_sq = to_write(NAME, memory.exp_avg_sq, numel)?;
        let numbers = Numbers::of(step);
        match memory.max_exp_avg_sq {
            Some(max) => {
                let max = to_write(NAME, max, numel)?;
                update_in_place([value, exp_avg, exp_avg_sq, max], &grad, NS, numbers)
            }
            None => update_in_place([value, exp_avg, exp_avg_sq], &grad, NS, numbers),
        }
    }
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

    // The steps and their roundings are those of PyTorch's.

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn first_moment(self, m: T, grad: T) -> T {
        let base = if self.near_grad { grad } else { m };
        base + self.part1 * (grad - m)
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn second_moment(self, v: T, grad: T) -> T {
        v * self.beta2 + self.rest2 * grad * grad
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn moved(self, value: T, m: T, second: T) -> T {
        let root = second.sqrt() / self.root_correction + self.eps;
        value * self.decay - self.step_size * m / root
    }
}

impl<T: Float> Update<T, 3> for Numbers<T> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn update(self, [value, m, v]: &mut [[T; LANES]; 3], grad: &[T; LANES]) {
        for i in 0..LANES {
            let grad = self.sign * grad[i];
            m[i] = self.first_moment(m[i], grad);
            v[i] = self.second_moment(v[i], grad);
            value[i] = self.moved(value[i], m[i], v[i]);
        }
    }
}

/// AMSGrad.
impl<T: Float> Update<T, 4> for Numbers<T> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn update(self, [value, m, v, max]: &mut [[T; LANES]; 4], grad: &[T; LANES]) {
        for i in 0..LANES {
            let grad = self.sign * grad[i];
            m[i] = self.first_moment(m[i], grad);
            v[i] = self.second_moment(v[i], grad);
            max[i] = if v[i].is_nan() {
                v[i]
            } else {
                max[i].greater(v[i])
            };
            value[i] = self.moved(value[i], m[i], max[i]);
        }
    }
}
