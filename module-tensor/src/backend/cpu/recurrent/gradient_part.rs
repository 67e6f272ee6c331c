//! The gradients of some units of a layer along its steps.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::super::float::Float;
use super::super::panels::{Order, Panels};
use super::super::simd::{Loop, run_at_best_level};
use super::parts::{Written, take};
use super::{RecurrentOp, RowSizes, cell, gates_of, row, row_mut};

/// The operands that all parts of a group of sequences read.
pub(super) struct Pass<'a, T> {
    pub(super) sizes: RowSizes,
    /// The rows of each step, among all rows and among those of the group, in the order of the gradients.
    pub(super) steps: Vec<Range<usize>>,
    pub(super) own: Vec<Range<usize>>,
    /// The gradients of all states `h`, if there are any.
    pub(super) grad_h: Option<&'a [T]>,
    /// The gradients of all states `c`, if there are any.
    pub(super) grad_c: Option<&'a [T]>,
    pub(super) kept: &'a [T],
    pub(super) before: Before<'a, T>,
    /// The slopes of the sums that the state contributes to.
    pub(super) slopes: Written<'a, T>,
    /// The gradients of the states `h` with all that follows from them, if there is a projection.
    pub(super) states: Written<'a, T>,
}

/// The states of all rows and the first states, and which of them each row started from.
#[derive(Clone, Copy)]
pub(super) struct Before<'a, T> {
    pub(super) rows: &'a [usize],
    pub(super) h: [&'a [T]; 2],
    pub(super) c: [&'a [T]; 2],
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

/// Some units of the layer and some elements of its state, which are the same without a projection.
pub(super) struct Part<'a, T: Float> {
    pub(super) units: Range<usize>,
    pub(super) outputs: Range<usize>,
    weight: &'a Panels<T>,
    projection: Option<&'a Panels<T>>,
    /// The gradients of the states of each sequence.
    pub(super) dh: Vec<T>,
    pub(super) dc: Vec<T>,
    /// The gradients of the states before the projection.
    inner: Vec<T>,
    /// The rows of a step of all parts.
    read: Vec<T>,
    /// The rows of the results, in the columns of this part.
    pub(super) slopes: Vec<&'a mut [T]>,
    pub(super) sums: Vec<&'a mut [T]>,
    pub(super) states: Vec<&'a mut [T]>,
}

/// Adds rows of a matrix, some columns of it, to rows of the state.
struct AddRows<'p, T> {
    sums: &'p mut [T],
    matrix: &'p [T],
    width: usize,
    rows: Range<usize>,
    columns: &'p Range<usize>,
}

impl<T: Float> Loop for AddRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (i, at) in self.rows.enumerate() {
            let terms = &row(self.matrix, at, self.width)[self.columns.clone()];
            let sums = row_mut(self.sums, i, self.columns.len());
            cell::update1(sums, terms, |sum, term| sum.plus(term));
        }
    }
}

impl<'a, T: Float> Part<'a, T> {
    pub(super) fn new(
        pass: &Pass<'_, T>,
        [units, outputs]: [&Range<usize>; 2],
        weight: &'a Panels<T>,
        projection: Option<&'a Panels<T>>,
    ) -> Self {
        let sizes = pass.sizes;
        let rows = pass.steps.iter().map(Range::len).max().unwrap_or(0);
        let zeros = |is_there: bool, width: usize| match is_there {
            true => vec![T::zero(); rows * width],
            false => Vec::new(),
        };
        Self {
            units: units.clone(),
            outputs: outputs.clone(),
            weight,
            projection,
            dh: zeros(true, outputs.len()),
            dc: zeros(sizes.cell > 0, units.len()),
            inner: zeros(projection.is_some(), units.len()),
            read: zeros(true, sizes.gates.max(sizes.width)),
            slopes: Vec::new(),
            sums: Vec::new(),
            states: Vec::new(),
        }
    }

    /// Adds the gradients of the states that the next step, which is `step - 1` here, started from.
    pub(super) fn multiply(&mut self, pass: &Pass<'a, T>, step: usize) {
        let Some(step) = step.checked_sub(1) else {
            return;
        };
        let (sizes, count) = (pass.sizes, pass.steps[step].len());
        let slopes = &mut self.read[..count * sizes.gates];
        pass.slopes.read(step, slopes);
        let dh = &mut self.dh[..count * self.outputs.len()];
        if sizes.op != RecurrentOp::Gru {
            dh.fill(T::zero());
        }
        self.weight.add(slopes, dh, Order::of_step(step));
    }

    /// Adds the gradients of a step's own states `h`.
    pub(super) fn add_grads(&mut self, pass: &Pass<'a, T>, step: usize) {
        if let Some(matrix) = pass.grad_h {
            run_at_best_level(AddRows {
                sums: &mut self.dh,
                matrix,
                width: pass.sizes.width,
                rows: pass.steps[step].clone(),
                columns: &self.outputs,
            });
        }
    }

    /// Shows the gradients of the states `h` to all parts.
    pub(super) fn show_states(&mut self, pass: &Pass<'a, T>, step: usize, part: usize) {
        let mut rows: Vec<&'a [T]> = Vec::new();
        for (i, out) in take(&mut self.states, pass.own[step].clone()).enumerate() {
            out.copy_from_slice(row(&self.dh, i, self.outputs.len()));
            rows.push(out);
        }
        pass.states.set(step, part, rows);
    }

    /// The gradients of the states before the projection.
    pub(super) fn project(&mut self, pass: &Pass<'a, T>, step: usize) {
        let count = pass.steps[step].len();
        let states = &mut self.read[..count * pass.sizes.width];
        pass.states.read(step, states);
        let inner = &mut self.inner[..count * self.units.len()];
        inner.fill(T::zero());
        if let Some(projection) = self.projection {
            projection.add(states, inner, Order::of_step(step));
        }
    }

    /// The gradients of the cells of a step.
    pub(super) fn compute_cells(&mut self, pass: &Pass<'a, T>, step: usize, part: usize) {
        let (sizes, rows) = (pass.sizes, pass.steps[step].clone());
        if let Some(matrix) = pass.grad_c {
            run_at_best_level(AddRows {
                sums: &mut self.dc,
                matrix,
                width: sizes.cell,
                rows: rows.clone(),
                columns: &self.units,
            });
        }
        let gates = sizes.op.gates();
        let lines = pass.own[step].start * gates..pass.own[step].end * gates;
        let mut slopes: Vec<_> = take(&mut self.slopes, lines.clone()).collect();
        let mut sums: Vec<_> = match sizes.op {
            RecurrentOp::Gru => take(&mut self.sums, lines).collect(),
            _ => Vec::new(),
        };
        run_at_best_level(Cells {
            pass,
            rows,
            units: &self.units,
            dh: match self.projection {
                Some(_) => &mut self.inner,
                None => &mut self.dh,
            },
            dc: &mut self.dc,
            slopes: &mut slopes,
            sums: &mut sums,
        });
        let written = match sizes.op {
            RecurrentOp::Gru => sums,
            _ => slopes,
        };
        let shared = |line: &'a mut [T]| -> &'a [T] { line };
        pass.slopes
            .set(step, part, written.into_iter().map(shared).collect());
    }
}

/// The gradients of a step's cells back to their sums.
struct Cells<'p, 'a, T> {
    pass: &'p Pass<'a, T>,
    rows: Range<usize>,
    units: &'p Range<usize>,
    dh: &'p mut [T],
    dc: &'p mut [T],
    slopes: &'p mut [&'a mut [T]],
    sums: &'p mut [&'a mut [T]],
}

impl<T: Float> Loop for Cells<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { pass, units, .. } = self;
        let (sizes, before, len) = (pass.sizes, &pass.before, units.len());
        let gates = sizes.op.gates();
        for (i, at) in self.rows.enumerate() {
            let slopes = &mut self.slopes[i * gates..][..gates];
            let kept = row(pass.kept, at, sizes.kept);
            let dh = row_mut(self.dh, i, len);
            match sizes.op {
                RecurrentOp::Tanh | RecurrentOp::Relu => {
                    let h = &row(before.h[0], at, sizes.width)[units.clone()];
                    for slopes in slopes {
                        match sizes.op {
                            RecurrentOp::Relu => cell::relu_slopes(h, dh, slopes),
                            _ => cell::tanh_slopes(h, dh, slopes),
                        }
                    }
                }
                RecurrentOp::Lstm => {
                    let kept = gates_of(kept, sizes.hidden, units);
                    let c = row(before.c[0], at, sizes.cell);
                    let c = [before.of(before.c, at, sizes.cell), c].map(|c| &c[units.clone()]);
                    cell::lstm_slopes(kept, c, dh, row_mut(self.dc, i, len), slopes);
                }
                RecurrentOp::Gru => {
                    let kept = gates_of(kept, sizes.hidden, units);
                    let h = &before.of(before.h, at, sizes.width)[units.clone()];
                    let sums = &mut self.sums[i * gates..][..gates];
                    cell::gru_slopes(kept, h, dh, slopes, sums);
                }
            }
        }
    }
}
