//! The states between the steps of a recurrent layer or cell.

use module_core::fused::RecurrentOp;
use module_core::{Result, Tensor};

/// The initial or final states of all layers and directions.
pub(in crate::layers) struct States {
    /// `[layers · directions, batch, width]`
    pub(in crate::layers) hidden: Tensor,
    /// `[layers · directions, batch, hidden_size]` of an LSTM.
    pub(in crate::layers) cell: Option<Tensor>,
}

/// Those of an RNN or a GRU.
impl From<Tensor> for States {
    fn from(hidden: Tensor) -> Self {
        Self { hidden, cell: None }
    }
}

/// Those of an LSTM.
impl From<(Tensor, Tensor)> for States {
    fn from((hidden, cell): (Tensor, Tensor)) -> Self {
        let cell = Some(cell);
        Self { hidden, cell }
    }
}

impl From<States> for Tensor {
    fn from(states: States) -> Self {
        states.hidden
    }
}

impl From<States> for (Tensor, Tensor) {
    fn from(States { hidden, cell }: States) -> Self {
        // An LSTM has both.
        let cell = cell.unwrap_or_else(|| hidden.clone());
        (hidden, cell)
    }
}

impl States {
    pub(in crate::layers) fn map(&self, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Self> {
        Ok(Self {
            hidden: f(&self.hidden)?,
            cell: self.cell.as_ref().map(f).transpose()?,
        })
    }

    /// Zeros of these shapes, with the dtype and the device of `input`; only an LSTM has a cell.
    pub(in crate::layers) fn zeros<const N: usize>(
        op: RecurrentOp,
        [hidden, cell]: [[usize; N]; 2],
        input: &Tensor,
    ) -> Result<Self> {
        let zeros = |shape: [usize; N]| Tensor::zeros(shape, (input.dtype(), &input.device()));
        let has_cell = op == RecurrentOp::Lstm;
        Ok(Self {
            hidden: zeros(hidden)?,
            cell: has_cell.then(|| zeros(cell)).transpose()?,
        })
    }
}
