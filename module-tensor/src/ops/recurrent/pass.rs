//! The inputs and outputs of a pass of a recurrent layer.

use crate::Result;
use crate::backend::{RecurrentGeometry, RecurrentInputs};
use crate::tensor::Tensor;

pub(super) const NAME: &str = "recurrent";

/// The inputs of a pass and its geometry.
#[derive(Clone)]
pub(in super::super) struct Recurrent {
    pub(super) gates: Tensor,
    pub(super) hidden: Tensor,
    pub(super) cell: Option<Tensor>,
    pub(super) weight: Tensor,
    pub(super) bias: Option<Tensor>,
    pub(super) projection: Option<Tensor>,
    pub(super) geometry: RecurrentGeometry,
}

/// The states `h` of all rows, and the `c` of an LSTM.
pub(in super::super) struct States {
    pub(super) hidden: Tensor,
    pub(super) cell: Option<Tensor>,
}

impl Recurrent {
    /// The same in the dtype of the computation.
    pub(super) fn widened(&self) -> Result<Self> {
        let wide = |x: &Option<Tensor>| x.as_ref().map(Tensor::widened).transpose();
        Ok(Self {
            gates: self.gates.widened()?,
            hidden: self.hidden.widened()?,
            cell: wide(&self.cell)?,
            weight: self.weight.widened()?,
            bias: wide(&self.bias)?,
            projection: wide(&self.projection)?,
            geometry: self.geometry.clone(),
        })
    }

    pub(super) fn inputs(&self) -> RecurrentInputs {
        let operand = |x: &Option<Tensor>| x.as_ref().map(Tensor::operand);
        RecurrentInputs {
            gates: self.gates.operand(),
            hidden: self.hidden.operand(),
            cell: operand(&self.cell),
            weight: self.weight.operand(),
            bias: operand(&self.bias),
            projection: operand(&self.projection),
        }
    }

    /// For each row, the row whose state its step started from.
    pub(super) fn before(&self, states: &Tensor, first: &Tensor) -> Result<Tensor> {
        let all = Tensor::cat(&[states, first], 0)?;
        all.index_select(0, &row_indices(&self.geometry.previous(), &all)?)
    }
}

/// A list of rows, on the device of `like`.
pub(super) fn row_indices(rows: &[usize], like: &Tensor) -> Result<Tensor> {
    // The number of rows in memory fits `i64`.
    let row_indices: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    Tensor::from_vec(row_indices, rows.len())?.to_device(&like.device())
}
