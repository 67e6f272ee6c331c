//! The states that the gradient of a recurrent layer reads, and the results of its steps.

use super::super::{Saved, Storage};
use super::{NAME, RecurrentInputs};
use crate::Result;

/// The saved memory: all states, and the other values that the gradient needs.
#[derive(Clone, Copy)]
pub(super) struct States<'a> {
    pub(super) hidden: &'a Storage,
    pub(super) cell: Option<&'a Storage>,
    pub(super) kept: &'a Storage,
}

impl<'a> States<'a> {
    pub(super) fn of(saved: &'a Saved, inputs: &RecurrentInputs) -> Result<Self> {
        let (hidden, kept, cell);
        match inputs.cell {
            Some(_) => {
                let [h, k, c] = saved.storages(NAME)?;
                (hidden, kept, cell) = (h, k, Some(c));
            }
            None => {
                let [h, k] = saved.storages(NAME)?;
                (hidden, kept, cell) = (h, k, None);
            }
        }
        Ok(Self { hidden, cell, kept })
    }
}

/// The gradients of the gates and the states of all steps.
pub(super) struct StepGrads {
    /// The gradient of the contribution of the input, `[rows, gates · hidden]`.
    pub(super) gates: Storage,
    /// The gradient of the contribution of the state, `[rows, gates · hidden]`, if it differs.
    pub(super) sums: Option<Storage>,
    /// The gradient of the states `h′` with all that follows from them, `[rows, width]`, if there is a projection.
    pub(super) states: Option<Storage>,
    /// Of the first states.
    pub(super) hidden: Storage,
    pub(super) cell: Option<Storage>,
}
