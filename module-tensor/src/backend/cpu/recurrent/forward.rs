//! The states of a recurrent layer.

use std::sync::Mutex;

use super::super::float::Float;
use super::super::lock::lock;
use super::super::map::{FloatKernel, run_float};
use super::super::memory::scratch;
use super::super::panels::Panels;
use super::super::view::to_row_major;
use super::part::{Part, Pass};
use super::parts::{Shares, Written, laid_out};
use super::{
    CpuStorage, NAME, RecurrentGeometry, RecurrentInputs, RecurrentStates, RowSizes, Saved,
    optional, row, saved_width,
};
use crate::Result;

pub(in super::super) fn recurrent(
    inputs: &RecurrentInputs,
    geometry: &RecurrentGeometry,
) -> Result<RecurrentStates> {
    run_float(inputs.gates.storage.dtype(), Recurrent { inputs, geometry })
}

struct Recurrent<'a> {
    inputs: &'a RecurrentInputs,
    geometry: &'a RecurrentGeometry,
}

impl FloatKernel for Recurrent<'_> {
    type Output = RecurrentStates;

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<RecurrentStates> {
        let Self { inputs, geometry } = self;
        let sizes = RowSizes::of(inputs, geometry);
        let rows = geometry.rows();
        let input = to_row_major::<T>(&inputs.gates)?;
        let weight = to_row_major::<T>(&inputs.weight)?;
        let bias = optional::<T>(&inputs.bias)?;
        let projection = optional::<T>(&inputs.projection)?;
        let hidden = to_row_major::<T>(&inputs.hidden)?;
        let cell = optional::<T>(&inputs.cell)?;
        let mut states = scratch(rows * sizes.width)?;
        let mut cells = scratch(rows * sizes.cell)?;
        let mut kept = scratch(rows * sizes.kept)?;
        let mut inner = scratch(rows * sizes.inner)?;

        let shares = Shares::of(geometry, weight.len());
        let gates = sizes.op.gates();
        let weights = laid_out(&shares.units, weight.len(), &|units| {
            let len = units.len();
            Panels::from_lines(sizes.width, gates * len, |column| {
                let unit = column / len * sizes.hidden + units.start + column % len;
                row(&weight, unit, sizes.width)
            })
        })?;
        let projections = match &projection {
            Some(projection) => laid_out(&shares.outputs, projection.len(), &|outputs| {
                let line = |column| row(projection, outputs.start + column, sizes.hidden);
                Panels::from_lines(sizes.hidden, outputs.len(), line)
            })?,
            None => Vec::new(),
        };
        let passes: Vec<_> = (shares.sequences.iter().enumerate())
            .map(|(group, sequences)| {
                let [steps, own] = shares.steps(group, geometry);
                let count = steps.len();
                Pass {
                    sizes,
                    steps,
                    own,
                    input: &input,
                    bias: bias.as_deref(),
                    hidden: &hidden[sequences.start * sizes.width..sequences.end * sizes.width],
                    cell: cell.as_deref().map_or(&[][..], |cell| {
                        &cell[sequences.start * sizes.cell..sequences.end * sizes.cell]
                    }),
                    states: Written::new(&shares.outputs, count),
                    inner: Written::new(&shares.units, count),
                }
            })
            .collect();
        let (has_cell, is_projected) = (inputs.cell.is_some(), projection.is_some());
        let mut states_of = shares
            .split(&mut states, 1, &shares.outputs, geometry)
            .into_iter();
        let mut cells_of = shares
            .split(&mut cells, usize::from(has_cell), &shares.units, geometry)
            .into_iter();
        let mut kept_of = shares
            .split(&mut kept, saved_width(sizes.op), &shares.units, geometry)
            .into_iter();
        let mut inner_of = shares
            .split(
                &mut inner,
                usize::from(is_projected),
                &shares.units,
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
                own.states = states_of.next().unwrap_or_default();
                own.cells = cells_of.next().unwrap_or_default();
                own.kept = kept_of.next().unwrap_or_default();
                own.inner = inner_of.next().unwrap_or_default();
                Mutex::new(own)
            })
            .collect();
        let stages = 1 + usize::from(is_projected);
        shares.run(stages * geometry.batch_sizes.len(), &|stage, part| {
            let [group, range] = shares.position(part);
            let (mut own, step) = (lock(&parts[part]), stage / stages);
            match stage % stages {
                0 => own.compute_cells(&passes[group], step, range),
                _ => own.project(&passes[group], step, range),
            }
        });
        drop((parts, passes));

        let hidden = CpuStorage::wrap(states);
        let cell = inputs.cell.is_some().then(|| CpuStorage::wrap(cells));
        let kept = CpuStorage::wrap(kept);
        // The states as they were computed, and without a state `c` only two storages.
        let saved = [Some(hidden.clone()), Some(kept), cell.clone()];
        Ok(RecurrentStates {
            hidden,
            cell,
            saved: Saved::new(saved.into_iter().flatten()),
        })
    }
}
