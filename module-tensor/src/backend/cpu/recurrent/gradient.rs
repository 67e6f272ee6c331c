//! The gradients of recurrent layers along their steps.

use std::sync::Mutex;

use super::super::compute::saved_elements;
use super::super::float::Float;
use super::super::lock::lock;
use super::super::map::{FloatKernel, run_float};
use super::super::memory::scratch;
use super::super::panels::Panels;
use super::super::view::to_row_major;
use super::super::{RecurrentGradients, RecurrentNeeds};
use super::gradient_part::{Before, Part, Pass};
use super::parts::{Shares, Written, laid_out, put};
use super::states::{States, StepGrads};
use super::weights::WeightGradients;
use super::{
    CpuStorage, NAME, Operand, RecurrentGeometry, RecurrentInputs, RecurrentOp, RowSizes, Saved,
    optional,
};
use crate::Result;

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
        let kept = saved_elements::<T>(self.states.kept, rows * sizes.kept, NAME)?;
        let c = match self.states.cell {
            Some(c) => saved_elements::<T>(c, rows * sizes.cell, NAME)?,
            None => &[],
        };
        let [grad_h, grad_c] = self.grads;
        let (grad_h, grad_c) = (optional::<T>(grad_h)?, optional::<T>(grad_c)?);
        let hidden = to_row_major::<T>(&inputs.hidden)?;
        let cell = optional::<T>(&inputs.cell)?;
        let weight = to_row_major::<T>(&inputs.weight)?;
        let projection = optional::<T>(&inputs.projection)?;
        let if_any = |is_there: bool, count: usize| if is_there { count } else { 0 };
        let (is_gru, is_projected) = (sizes.op == RecurrentOp::Gru, projection.is_some());
        let mut dh = scratch(batch * sizes.width)?;
        let mut dc = scratch(batch * sizes.cell)?;
        let mut slopes = scratch(rows * sizes.gates)?;
        let mut sums = scratch(if_any(is_gru, rows * sizes.gates))?;
        let mut states = scratch(if_any(is_projected, rows * sizes.width))?;

        let shares = Shares::of(geometry, weight.len());
        let weights = laid_out(&shares.outputs, weight.len(), &|outputs| {
            Panels::of_columns(&weight, [sizes.gates, sizes.width], outputs.clone())
        })?;
        let projections = match &projection {
            Some(projection) => laid_out(&shares.units, projection.len(), &|units| {
                Panels::of_columns(projection, [sizes.width, sizes.hidden], units.clone())
            })?,
            None => Vec::new(),
        };
        let previous = geometry.previous();
        let before = Before {
            rows: &previous,
            h: [h, &hidden],
            c: [c, cell.as_deref().unwrap_or_default()],
        };
        let passes: Vec<_> = (0..shares.sequences.len())
            .map(|group| {
                let [mut steps, mut own] = shares.steps(group, geometry);
                steps.reverse();
                own.reverse();
                let count = steps.len();
                Pass {
                    sizes,
                    steps,
                    own,
                    grad_h: grad_h.as_deref(),
                    grad_c: grad_c.as_deref(),
                    kept,
                    before,
                    slopes: Written::new(&shares.units, count),
                    states: Written::new(&shares.outputs, count),
                }
            })
            .collect();
        let gates = sizes.op.gates();
        let mut slopes_of = shares
            .split(&mut slopes, gates, &shares.units, geometry)
            .into_iter();
        let mut sums_of = shares
            .split(&mut sums, if_any(is_gru, gates), &shares.units, geometry)
            .into_iter();
        let mut states_of = shares
            .split(
                &mut states,
                if_any(is_projected, 1),
                &shares.outputs,
                geometry,
            )
            .into_iter();
        let parts: Vec<_> = (0..shares.len())
            .map(|part| {
                let [group, range] = shares.position(part);
                let mut own = Part::new(
                    &passes[group],
                    [&shares.units[range], &shares.outputs[range]],
                    &weights[range],
                    projections.get(range),
                );
                own.slopes = slopes_of.next().unwrap_or_default();
                own.sums = sums_of.next().unwrap_or_default();
                own.states = states_of.next().unwrap_or_default();
                Mutex::new(own)
            })
            .collect();
        let (stages, last) = (1 + usize::from(is_projected), geometry.batch_sizes.len());
        shares.run(stages * last + 1, &|stage, part| {
            let [group, range] = shares.position(part);
            let (pass, mut own) = (&passes[group], lock(&parts[part]));
            let step = stage / stages;
            if stage % stages == 0 {
                own.multiply(pass, step);
                if step == last {
                    return;
                }
                own.add_grads(pass, step);
                if is_projected {
                    return own.show_states(pass, step, range);
                }
            } else {
                own.project(pass, step);
            }
            own.compute_cells(pass, step, range);
        });
        for (part, own) in parts.iter().map(lock).enumerate() {
            let [group, _] = shares.position(part);
            let first = shares.sequences[group].start;
            put(
                &own.dh,
                &own.outputs,
                &mut dh[first * sizes.width..],
                sizes.width,
            );
            put(
                &own.dc,
                &own.units,
                &mut dc[first * sizes.cell..],
                sizes.cell,
            );
        }
        drop((parts, passes));
        Ok(StepGrads {
            gates: CpuStorage::wrap(slopes),
            sums: is_gru.then(|| CpuStorage::wrap(sums)),
            states: is_projected.then(|| CpuStorage::wrap(states)),
            hidden: CpuStorage::wrap(dh),
            cell: cell.is_some().then(|| CpuStorage::wrap(dc)),
        })
    }
}
