//! A step of SGD.

use super::float::Float;
use super::lanes::number;
use super::map::{FloatKernel, run_float};
use super::update_in_place::{LANES, Update, to_write, update_in_place};
use super::view::to_cow;
use super::{Operand, SGDMemory, SGDStep};
use crate::Result;

const NAME: &str = "sgd";

pub(super) fn sgd(memory: SGDMemory<'_>, grad: &Operand, step: &SGDStep) -> Result<()> {
    run_float(memory.value.dtype(), Sgd(memory, grad, step))
}

struct Sgd<'a>(SGDMemory<'a>, &'a Operand, &'a SGDStep);

impl FloatKernel for Sgd<'_> {
    type Output = ();

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<()> {
        let Self(memory, grad, step) = self;
        let grad = to_cow::<T>(grad)?;
        let numel = grad.len();
        let numbers = Numbers::of(step, memory.is_first);
        // Whatever can fail does so before the first number changes.
        let value = to_write(NAME, memory.value, numel)?;
        match memory.momentum_buffer {
            Some(buffer) => {
                let buffer = to_write(NAME, buffer, numel)?;
                update_in_place([value, buffer], &grad, 1, numbers)
            }
            None => update_in_place([value], &grad, 1, numbers),
        }
    }
}

/// The numbers of a step in the type of the elements.
#[derive(Clone, Copy)]
struct Numbers<T> {
    sign: T,
    decays: bool,
    weight_decay: T,
    is_first: bool,
    momentum: T,
    /// The part of a gradient that enters the momentum.
    part: T,
    nesterov: bool,
    /// The factor of what is added to the parameter.
    rate: T,
}

impl<T: Float> Numbers<T> {
    fn of(step: &SGDStep, is_first: bool) -> Self {
        Self {
            sign: number(if step.maximize { -1.0 } else { 1.0 }),
            decays: step.weight_decay != 0.0,
            weight_decay: number(step.weight_decay),
            is_first,
            momentum: number(step.momentum),
            part: number(1.0 - step.dampening),
            nesterov: step.nesterov,
            rate: number(-step.lr),
        }
    }

    /// The gradient, with the decay of the parameter in it.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn descent(self, grad: T, value: T) -> T {
        let grad = self.sign * grad;
        let decayed = grad + self.weight_decay * value;
        if self.decays { decayed } else { grad }
    }
}

// The steps and their roundings are those of PyTorch's. What an option leaves out is computed and not
// taken: the loop waits for memory, and stays one.

impl<T: Float> Update<T, 1> for Numbers<T> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn update(self, [value]: &mut [[T; LANES]; 1], grad: &[T; LANES]) {
        for i in 0..LANES {
            value[i] = value[i] + self.rate * self.descent(grad[i], value[i]);
        }
    }
}

impl<T: Float> Update<T, 2> for Numbers<T> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn update(self, [value, buffer]: &mut [[T; LANES]; 2], grad: &[T; LANES]) {
        for i in 0..LANES {
            let grad = self.descent(grad[i], value[i]);
            let kept = buffer[i] * self.momentum + self.part * grad;
            buffer[i] = if self.is_first { grad } else { kept };
            let ahead = grad + self.momentum * buffer[i];
            let step = if self.nesterov { ahead } else { buffer[i] };
            value[i] = value[i] + self.rate * step;
        }
    }
}
