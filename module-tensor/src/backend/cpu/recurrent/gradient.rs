//! The gradients of recurrent layers along their steps.

use super::super::compute::saved_elements;
use super::super::float::Float;
use super::super::map::{FloatKernel, run_float};
use super::super::memory::{filled, scratch};
use super::super::panels::Panels;
use super::super::simd::{Loop, run_at_best_level};
use super::super::threads::{Items, parallel_for};
use super::super::view::to_row_major;
use super::super::{CpuStorage, Operand, RecurrentGradients, RecurrentNeeds, Saved};
use super::states::{States, StepGrads};
use super::weights::WeightGradients;
use super::{NAME, RecurrentGeometry, RecurrentInputs, RecurrentOp, RowSizes, cell, row, row_mut};
use crate::Result;
use crate::zip::zip_mut;

pub(in super::super) fn recurrent_backward(
    grads: &[Option<Operand>; 2],
    inputs: &RecurrentInputs,
    saved: &Saved,
    needed: RecurrentNeeds,
    geometry: &RecurrentGeometry,
) -> Result<RecurrentGradients> {
    let states = States::of(saved, inputs)?;
    let kernel = Gradient {
        grads,
        states,
        inputs,
        geometry,
    };
    let slopes = run_float(inputs.gates.storage.dtype(), kernel)?;
    let gradients = WeightGradients {
        slopes: &slopes,
        states,
        inputs,
        geometry,
    };
    Ok(RecurrentGradients {
        weight: needed.weight.then(|| gradients.weight()).transpose()?,
        bias: needed.bias.then(|| gradients.bias()).transpose()?,
        projection: match needed.projection {
            true => gradients.projection()?,
            false => None,
        },
        gates: slopes.gates,
        hidden: slopes.hidden,
        cell: slopes.cell,
    })
}

struct Gradient<'a> {
    grads: &'a [Option<Operand>; 2],
    states: States<'a>,
    inputs: &'a RecurrentInputs,
    geometry: &'a RecurrentGeometry,
}

impl FloatKernel for Gradient<'_> {
    type Output = StepGrads;

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<StepGrads> {
        let Self {
            inputs, geometry, ..
        } = self;
        let sizes = RowSizes::of(inputs, geometry);
        let (rows, batch) = (geometry.rows(), geometry.batch());
        let h = saved_elements::<T>(self.states.hidden, rows * sizes.width, NAME)?;
        let gates = saved_elements::<T>(self.states.kept, rows * sizes.kept, NAME)?;
        let c = match self.states.cell {
            Some(c) => saved_elements::<T>(c, rows * sizes.cell, NAME)?,
            None => &[],
        };
        let [grad_h, grad_c] = self.grads;
        let grad_h = grad_h.as_ref().map(to_row_major::<T>).transpose()?;
        let grad_c = grad_c.as_ref().map(to_row_major::<T>).transpose()?;
        let hidden = to_row_major::<T>(&inputs.hidden)?;
        let cell = inputs.cell.as_ref().map(to_row_major::<T>).transpose()?;
        let weight = Panels::new(
            &to_row_major::<T>(&inputs.weight)?,
            sizes.gates,
            sizes.width,
        )?;
        let projection = match &inputs.projection {
            Some(matrix) => Some(Panels::new(
                &to_row_major::<T>(matrix)?,
                sizes.width,
                sizes.hidden,
            )?),
            None => None,
        };
        let apart = |used: bool, width: usize| if used { width } else { 0 };
        let sums_width = apart(sizes.op == RecurrentOp::Gru, sizes.gates);
        let states_width = apart(projection.is_some(), sizes.width);
        let mut dh = filled(batch * sizes.width, T::zero())?;
        let mut dc = filled(batch * sizes.cell, T::zero())?;
        let mut inner = scratch(batch * sizes.inner)?;
        let mut slopes = scratch(rows * sizes.gates)?;
        let mut sums = scratch(rows * sums_width)?;
        let mut states = scratch(rows * states_width)?;
        let before = Before {
            rows: geometry.previous(),
            h: [h, &hidden],
            c: [c, cell.as_deref().unwrap_or_default()],
        };
        let steps = weight.steps() + projection.as_ref().map_or(0, Panels::steps);
        for step in geometry.steps().into_iter().rev() {
            let part = |width: usize| step.start * width..step.end * width;
            let first = |width: usize| ..step.len() * width;
            let items = (
                (
                    Items(&mut dh[first(sizes.width)], sizes.width),
                    (
                        Items(&mut dc[first(sizes.cell)], sizes.cell),
                        Items(&mut inner[first(sizes.inner)], sizes.inner),
                    ),
                ),
                (
                    Items(&mut slopes[part(sizes.gates)], sizes.gates),
                    (
                        Items(&mut sums[part(sums_width)], sums_width),
                        Items(&mut states[part(states_width)], states_width),
                    ),
                ),
            );
            parallel_for(step.len(), steps, items, &|range, items| {
                let ((dh, (dc, inner)), (slopes, (sums, states))) = items;
                let step = Step {
                    sizes,
                    start: step.start + range.start,
                    grad_h: grad_h.as_deref(),
                    grad_c: grad_c.as_deref(),
                    kept: gates,
                    before: &before,
                    weight: &weight,
                    projection: projection.as_ref(),
                    dh: dh.0,
                    dc: dc.0,
                    inner: inner.0,
                    slopes: slopes.0,
                    sums: sums.0,
                    states: states.0,
                };
                step.run();
                Ok(())
            })?;
        }
        Ok(StepGrads {
            gates: CpuStorage::wrap(slopes),
            sums: (sums_width > 0).then(|| CpuStorage::wrap(sums)),
            states: projection.is_some().then(|| CpuStorage::wrap(states)),
            hidden: CpuStorage::wrap(dh),
            cell: cell.is_some().then(|| CpuStorage::wrap(dc)),
        })
    }
}

/// The states of all rows and the first states, and which of them each row started from.
struct Before<'a, T> {
    rows: Vec<usize>,
    h: [&'a [T]; 2],
    c: [&'a [T]; 2],
}

impl<T> Before<'_, T> {
    #[inline(always)]
    fn of<'a>(&self, states: [&'a [T]; 2], at: usize, width: usize) -> &'a [T] {
        let (row_before, rows) = (self.rows[at], self.rows.len());
        match row_before.checked_sub(rows) {
            Some(sequence) => row(states[1], sequence, width),
            None => row(states[0], row_before, width),
        }
    }
}

/// One step of some sequences.
struct Step<'a, T: Float> {
    sizes: RowSizes,
    /// The first of the rows.
    start: usize,
    /// The gradients of all states `h`, if there are any.
    grad_h: Option<&'a [T]>,
    /// The gradients of all states `c`, if there are any.
    grad_c: Option<&'a [T]>,
    kept: &'a [T],
    before: &'a Before<'a, T>,
    weight: &'a Panels<T>,
    projection: Option<&'a Panels<T>>,
    dh: &'a mut [T],
    dc: &'a mut [T],
    inner: &'a mut [T],
    slopes: &'a mut [T],
    sums: &'a mut [T],
    states: &'a mut [T],
}

fn add<T: Float>(sums: &mut [T], terms: &[T]) {
    for (sum, &term) in zip_mut(sums, terms) {
        *sum = sum.plus(term);
    }
}

impl<T: Float> Step<'_, T> {
    fn run(mut self) {
        let Self { sizes, start, .. } = self;
        if let Some(grad) = self.grad_h {
            add(self.dh, &grad[start * sizes.width..]);
        }
        if let Some(grad) = self.grad_c {
            add(self.dc, &grad[start * sizes.cell..]);
        }
        if let Some(projection) = self.projection {
            self.states.copy_from_slice(self.dh);
            self.inner.fill(T::zero());
            projection.add(self.dh, self.inner);
        }
        run_at_best_level(Cells(&mut self));
        let sums = match sizes.op {
            RecurrentOp::Gru => &*self.sums,
            _ => {
                self.dh.fill(T::zero());
                &*self.slopes
            }
        };
        self.weight.add(sums, self.dh);
    }
}

/// The gradients of a step's cells back to their sums.
struct Cells<'s, 'a, T: Float>(&'s mut Step<'a, T>);

impl<T: Float> Loop for Cells<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let step = self.0;
        let (sizes, before) = (step.sizes, step.before);
        let count = step.slopes.len() / sizes.gates.max(1);
        for i in 0..count {
            let at = step.start + i;
            let slopes = row_mut(step.slopes, i, sizes.gates);
            let kept = row(step.kept, at, sizes.kept);
            let h = row(before.h[0], at, sizes.width);
            let dh = match step.projection {
                Some(_) => row_mut(step.inner, i, sizes.inner),
                None => row_mut(step.dh, i, sizes.width),
            };
            match sizes.op {
                RecurrentOp::Tanh => cell::tanh_slopes(h, dh, slopes),
                RecurrentOp::Relu => cell::relu_slopes(h, dh, slopes),
                RecurrentOp::Lstm => {
                    let c = row(before.c[0], at, sizes.cell);
                    let c = [before.of(before.c, at, sizes.cell), c];
                    let dc = row_mut(step.dc, i, sizes.cell);
                    cell::lstm_slopes(kept, c, dh, dc, slopes);
                }
                RecurrentOp::Gru => {
                    let h = before.of(before.h, at, sizes.width);
                    let sums = row_mut(step.sums, i, sizes.gates);
                    cell::gru_slopes(kept, h, dh, slopes, sums);
                }
            }
        }
    }
}
