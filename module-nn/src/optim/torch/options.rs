//! The options of a group by name.

use module_core::{Error, Result};
use serde_json::{Map, Value};

use super::layouts::Layout;
use crate::optim::{OptimizerError, UpdateRule};

/// The error for a state that cannot be exchanged.
pub(super) fn torch_error<R: UpdateRule>(op: &'static str, problem: String) -> Error {
    let optimizer = R::NAME;
    OptimizerError::TorchState {
        op,
        optimizer,
        problem,
    }
    .into()
}

/// The options of a group by name.
pub(super) fn options_of<R: UpdateRule>(
    op: &'static str,
    options: &R,
) -> Result<Map<String, Value>> {
    match serde_json::to_value(options) {
        Ok(Value::Object(options)) => Ok(options),
        Ok(other) => Err(torch_error::<R>(op, format!("its options are {other}"))),
        Err(error) => Err(torch_error::<R>(op, format!("its options: {error}"))),
    }
}

/// Refuses a group whose parameters PyTorch would move with another optimizer.
pub(super) fn check_only_if<R: UpdateRule>(
    op: &'static str,
    layout: &Layout,
    ours: &Map<String, Value>,
) -> Result<()> {
    match layout.only_if {
        Some((name, value)) if ours.get(name) != Some(&Value::Bool(value)) => {
            let problem = format!(
                "PyTorch's has no groups with `{name}` other than {value}; use two optimizers, as there"
            );
            Err(torch_error::<R>(op, problem))
        }
        _ => Ok(()),
    }
}
