//! The steps of some units of a layer.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::super::float::Float;
use super::super::panels::{Order, Panels};
use super::super::simd::{Loop, run_at_best_level};
use super::parts::{Written, take};
use super::{RecurrentOp, RowSizes, cell, gates_of, row, row_mut, saved_width};

/// The operands that all parts of a group of sequences read.
pub(super) struct Pass<'a, T> {
    pub(super) sizes: RowSizes,
    /// The rows of each step, among all rows and among those of the group.
    pub(super) steps: Vec<Range<usize>>,
    pub(super) own: Vec<Range<usize>>,
    /// The contribution of the input to the gates.
    pub(super) input: &'a [T],
    pub(super) bias: Option<&'a [T]>,
    /// The first states.
    pub(super) hidden: &'a [T],
    pub(super) cell: &'a [T],
    /// The states `h` after each step.
    pub(super) states: Written<'a, T>,
    /// The states before they are projected.
    pub(super) inner: Written<'a, T>,
}

/// Some units of the layer and some elements of its state, which are the same without a projection.
pub(super) struct Part<'a, T: Float> {
    units: Range<usize>,
    outputs: Range<usize>,
    weight: &'a Panels<T>,
    projection: Option<&'a Panels<T>>,
    /// The state `c` of each sequence.
    c: Vec<T>,
    /// The sums of the gates of a step.
    sums: Vec<T>,
    /// The rows of a step of all parts.
    read: Vec<T>,
    /// The rows of the results, in the columns of this part.
    pub(super) states: Vec<&'a mut [T]>,
    pub(super) cells: Vec<&'a mut [T]>,
    pub(super) kept: Vec<&'a mut [T]>,
    pub(super) inner: Vec<&'a mut [T]>,
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
        let cells = pass.cell.chunks_exact(sizes.cell.max(1));
        let widest = (sizes.op.gates() * units.len()).max(outputs.len());
        Self {
            units: units.clone(),
            outputs: outputs.clone(),
            weight,
            projection,
            c: (cells.flat_map(|row| &row[units.clone()]).copied()).collect(),
            sums: vec![T::zero(); rows * widest],
            read: vec![T::zero(); rows * sizes.width.max(sizes.inner)],
            states: Vec::new(),
            cells: Vec::new(),
            kept: Vec::new(),
            inner: Vec::new(),
        }
    }

    /// The cells of a step, from the states before.
    pub(super) fn compute_cells(&mut self, pass: &Pass<'a, T>, step: usize, part: usize) {
        let (sizes, rows) = (pass.sizes, pass.steps[step].clone());
        let before = &mut self.read[..rows.len() * sizes.width];
        match step.checked_sub(1) {
            Some(step_before) => {
                // Sequences that begin later start from their first states.
                let known = pass.steps[step_before].len().min(rows.len()) * sizes.width;
                before[known..].copy_from_slice(&pass.hidden[known..rows.len() * sizes.width]);
                pass.states.read(step_before, before);
            }
            None => before.copy_from_slice(&pass.hidden[..rows.len() * sizes.width]),
        }
        let gates = sizes.op.gates() * self.units.len();
        let sums = &mut self.sums[..rows.len() * gates];
        run_at_best_level(Inputs {
            pass,
            rows: rows.clone(),
            units: &self.units,
            sums,
        });
        self.weight.add(before, sums, Order::of_step(step));
        let is_projected = self.projection.is_some();
        let out = match is_projected {
            true => &mut self.inner,
            false => &mut self.states,
        };
        let own = pass.own[step].clone();
        let mut h: Vec<_> = take(out, own.clone()).collect();
        run_at_best_level(Cells {
            pass,
            rows: rows.clone(),
            units: &self.units,
            sums,
            before,
            c: &mut self.c,
            h: &mut h,
            cells: self.cells.get_mut(own.clone()).unwrap_or_default(),
            kept: {
                let gates = saved_width(sizes.op);
                &mut self.kept[own.start * gates..own.end * gates]
            },
        });
        let written = match is_projected {
            true => &pass.inner,
            false => &pass.states,
        };
        let shared = |row: &'a mut [T]| -> &'a [T] { row };
        written.set(step, part, h.into_iter().map(shared).collect());
    }

    /// The states of a step, from those of its cells.
    pub(super) fn project(&mut self, pass: &Pass<'a, T>, step: usize, part: usize) {
        let (sizes, rows) = (pass.sizes, pass.steps[step].clone());
        let inner = &mut self.read[..rows.len() * sizes.inner];
        pass.inner.read(step, inner);
        let width = self.outputs.len();
        let sums = &mut self.sums[..rows.len() * width];
        sums.fill(T::zero());
        if let Some(projection) = self.projection {
            projection.add(inner, sums, Order::of_step(step));
        }
        let mut h: Vec<&'a [T]> = Vec::with_capacity(rows.len());
        for (i, out) in take(&mut self.states, pass.own[step].clone()).enumerate() {
            out.copy_from_slice(row(sums, i, width));
            h.push(out);
        }
        pass.states.set(step, part, h);
    }
}

/// The sums of the gates without the product: what the input and the bias contribute.
struct Inputs<'p, 'a, T> {
    pass: &'p Pass<'a, T>,
    rows: Range<usize>,
    units: &'p Range<usize>,
    sums: &'p mut [T],
}

impl<T: Float> Loop for Inputs<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (sizes, len) = (self.pass.sizes, self.units.len());
        let mut sums = self.sums.chunks_exact_mut(len.max(1));
        for at in self.rows {
            let input = row(self.pass.input, at, sizes.gates);
            for gate in 0..sizes.op.gates() {
                let Some(sums) = sums.next() else {
                    return;
                };
                let units =
                    gate * sizes.hidden + self.units.start..gate * sizes.hidden + self.units.end;
                let input = &input[units.clone()];
                match (sizes.op, self.pass.bias) {
                    // Only a GRU needs the two sums apart.
                    (RecurrentOp::Gru, None) => sums.fill(T::zero()),
                    (RecurrentOp::Gru, Some(bias)) => {
                        cell::update1(sums, &bias[units], |_, bias| T::zero().plus(bias));
                    }
                    (_, None) => sums.copy_from_slice(input),
                    (_, Some(bias)) => {
                        cell::update2(sums, input, &bias[units], |_, x, bias| x.plus(bias));
                    }
                }
            }
        }
    }
}

/// The cells of a step, from their sums.
struct Cells<'p, 'a, T> {
    pass: &'p Pass<'a, T>,
    rows: Range<usize>,
    units: &'p Range<usize>,
    sums: &'p [T],
    /// The states of all units before the step.
    before: &'p [T],
    c: &'p mut [T],
    /// The states after the step.
    h: &'p mut [&'a mut [T]],
    cells: &'p mut [&'a mut [T]],
    kept: &'p mut [&'a mut [T]],
}

impl<T: Float> Loop for Cells<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let sizes = self.pass.sizes;
        let (len, kept_gates) = (self.units.len(), saved_width(sizes.op));
        for (i, (at, h)) in self.rows.zip(self.h).enumerate() {
            let sums = row(self.sums, i, sizes.op.gates() * len);
            let kept = &mut self.kept[i * kept_gates..][..kept_gates];
            match sizes.op {
                RecurrentOp::Tanh => cell::tanh(sums, h),
                RecurrentOp::Relu => cell::relu(sums, h),
                RecurrentOp::Lstm => {
                    let c = row_mut(self.c, i, len);
                    cell::lstm(sums, c, h, kept);
                    self.cells[i].copy_from_slice(c);
                }
                RecurrentOp::Gru => {
                    let input = row(self.pass.input, at, sizes.gates);
                    let input = gates_of(input, sizes.hidden, self.units);
                    h.copy_from_slice(&row(self.before, i, sizes.width)[self.units.clone()]);
                    cell::gru(input, sums, h, kept);
                }
            }
        }
    }
}
