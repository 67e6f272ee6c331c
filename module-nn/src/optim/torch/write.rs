//! The state of an optimizer as PyTorch's `optimizer.state_dict()`.

use module_core::{DType, Result, Tensor, TorchObject};
use serde_json::Value;

use super::layouts::{Layout, Setting, Slot};
use super::options::{check_only_if, options_of, torch_error};
use super::values::{from_json, steps, steps_tensor};
use crate::optim::{Optimizer, ParamState, RuleOptimizer, UpdateRule};

const OP: &str = "torch_state_dict";

/// The state and the groups of an optimizer.
pub(super) fn state_dict<R: UpdateRule>(
    optimizer: &RuleOptimizer<R>,
    layout: &Layout,
) -> Result<TorchObject> {
    let initial_lrs = optimizer.initial_lrs();
    let (mut state, mut groups, mut position) = (Vec::new(), Vec::new(), 0_i64);
    for (number, group) in optimizer.groups.iter().enumerate() {
        // PyTorch has no group without parameters.
        if group.parameters.is_empty() {
            continue;
        }
        let mut saved = options::<R>(&group.options, layout)?;
        if let Some(lr) = initial_lrs.as_ref().and_then(|lrs| lrs.get(number)) {
            saved.push(("initial_lr", (*lr).into()));
        }
        let first = position;
        for path in &group.parameters {
            if let Some(kept) = optimizer.states.get(path) {
                let kept = slots::<R>(path, kept, layout)?;
                if !kept.is_empty() {
                    state.push((TorchObject::Int(position), kept.into_iter().collect()));
                }
            }
            position += 1;
        }
        let positions = (first..position).map(TorchObject::Int).collect();
        saved.push(("params", TorchObject::List(positions)));
        groups.push(saved.into_iter().collect());
    }
    Ok([
        ("state", TorchObject::Dict(state)),
        ("param_groups", TorchObject::List(groups)),
    ]
    .into_iter()
    .collect())
}

type Named = Vec<(&'static str, TorchObject)>;

/// The options of a group.
fn options<R: UpdateRule>(options: &R, layout: &Layout) -> Result<Named> {
    let ours = options_of(OP, options)?;
    check_only_if::<R>(OP, layout, &ours)?;
    let option = |&(name, setting): &(&'static str, Setting)| {
        let value = match setting {
            Setting::Execution(default) => default.map_or(TorchObject::None, TorchObject::Bool),
            Setting::Fixed(value) => TorchObject::Bool(value),
            Setting::NoneIs(none) if ours.get(name).and_then(Value::as_str) == Some(none) => {
                TorchObject::None
            }
            _ => match ours.get(name) {
                Some(value) => from_json(value),
                None => {
                    let problem = format!("it has no option `{name}`");
                    return Err(torch_error::<R>(OP, problem));
                }
            },
        };
        Ok((name, value))
    };
    layout.options.iter().map(option).collect()
}

/// The tensors of a state.
fn slots<R: UpdateRule>(path: &str, state: &R::State, layout: &Layout) -> Result<Named> {
    let mut ours: Vec<(&str, Tensor)> = state.slots()?;
    let mut named = Vec::new();
    for &(name, slot) in layout.state {
        let Some(place) = ours.iter().position(|(ours, _)| *ours == name) else {
            continue;
        };
        let (_, tensor) = ours.swap_remove(place);
        let tensor = match slot {
            Slot::Step => {
                let steps = steps(&TorchObject::Tensor(tensor));
                let problem = |problem| format!("the state of `{path}`: `{name}`: {problem}");
                steps_tensor(steps.map_err(|text| torch_error::<R>(OP, problem(text)))?)
            }
            Slot::Number => tensor.to_dtype(DType::F32)?,
            Slot::Like | Slot::Reduced(_) => tensor,
        };
        named.push((name, TorchObject::Tensor(tensor)));
    }
    match ours.first() {
        None => Ok(named),
        Some((name, _)) => {
            let problem = format!("the state of `{path}` has `{name}`, which PyTorch's has not");
            Err(torch_error::<R>(OP, problem))
        }
    }
}
