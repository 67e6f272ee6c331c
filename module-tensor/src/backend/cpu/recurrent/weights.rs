//! The gradients of a recurrent layer's parameters from those along its steps.

use super::super::elementwise::binary;
use super::super::half_product;
use super::super::index::{cat, index_select};
use super::super::reduce::reduce;
use super::super::unary::unary;
use super::super::{BinaryOp, CpuStorage, Operand, ReduceOp, Storage, UnaryOp};
use super::states::{States, StepGrads};
use super::{RecurrentGeometry, RecurrentInputs};
use crate::Result;
use crate::layout::Layout;

pub(super) struct WeightGradients<'a> {
    pub(super) slopes: &'a StepGrads,
    pub(super) states: States<'a>,
    pub(super) inputs: &'a RecurrentInputs,
    pub(super) geometry: &'a RecurrentGeometry,
}

/// All of a storage as a matrix.
fn matrix(storage: &Storage, rows: usize, columns: usize) -> Operand {
    Operand {
        storage: storage.clone(),
        layout: Layout::contiguous([rows, columns].into()),
    }
}

/// `aᵀ · b`
fn product(a: Operand, b: Operand) -> Result<Storage> {
    let layout = a.layout.permute(&[1, 0]);
    half_product::product(None, Operand { layout, ..a }, b)
}

impl WeightGradients<'_> {
    /// The gradients of the sums of weighted states.
    fn sums(&self) -> Operand {
        let geometry = self.geometry;
        let sums = self.slopes.sums.as_ref().unwrap_or(&self.slopes.gates);
        matrix(sums, geometry.rows(), geometry.op.gates() * geometry.hidden)
    }

    /// From the state `h` before each step.
    pub(super) fn weight(&self) -> Result<Storage> {
        let &RecurrentGeometry { width, .. } = self.geometry;
        let (rows, batch) = (self.geometry.rows(), self.geometry.batch());
        let states = matrix(self.states.hidden, rows, width);
        let all = cat(vec![states, self.inputs.hidden.clone()], 0)?;
        // Memory has fewer rows than an `i64` can count.
        let indices: Vec<i64> = (self.geometry.previous().iter())
            .map(|&row| row as i64)
            .collect();
        let indices = Operand {
            storage: CpuStorage::wrap(indices),
            layout: Layout::contiguous(rows.into()),
        };
        let before = index_select(matrix(&all, rows + batch, width), 0, &indices)?;
        product(self.sums(), matrix(&before, rows, width))
    }

    pub(super) fn bias(&self) -> Result<Storage> {
        reduce(ReduceOp::Sum, self.sums(), &[0])
    }

    /// From the state before it is projected, which is computed anew; `None` without a projection.
    pub(super) fn projection(&self) -> Result<Option<Storage>> {
        let &RecurrentGeometry { hidden, width, .. } = self.geometry;
        let (Some(slopes), Some(cell)) = (&self.slopes.states, self.states.cell) else {
            return Ok(None);
        };
        let rows = self.geometry.rows();
        let tanh = unary(UnaryOp::Tanh, &mut matrix(cell, rows, hidden))?;
        // The last of the four gates that were kept.
        let kept = matrix(self.states.kept, rows, 4 * hidden);
        let mut gate = Operand {
            layout: kept.layout.slice(1, 3 * hidden, hidden, 1),
            ..kept
        };
        let state = binary(BinaryOp::Mul, &mut gate, &mut matrix(&tanh, rows, hidden))?;
        let slopes = matrix(slopes, rows, width);
        Ok(Some(product(slopes, matrix(&state, rows, hidden))?))
    }
}
