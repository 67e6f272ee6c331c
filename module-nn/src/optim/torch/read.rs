//! PyTorch's `optimizer.state_dict()` converted to our state.

use std::collections::HashMap;

use module_core::{Result, Shape, Snapshot, StateDict, Tensor, TorchObject};
use serde_json::{Map, Value};

use super::layouts::{Layout, Setting, Slot};
use super::options::{check_only_if, options_of, torch_error};
use super::values::{number, steps, to_json};
use crate::optim::{ParamGroup, RuleOptimizer, UpdateRule};

const OP: &str = "load_torch";

fn fail<R: UpdateRule, T>(problem: String) -> Result<T> {
    Err(torch_error::<R>(OP, problem))
}

/// The content of a PyTorch state dict.
pub(super) struct Read {
    /// The state for [`Stateful::load_state`](module_core::Stateful::load_state).
    pub(super) snapshot: Snapshot,
    /// The learning rates from before the first schedule, for groups that have one.
    pub(super) initial_lrs: HashMap<usize, f64>,
}

/// Reads a state dict for an optimizer, which is unchanged.
pub(super) fn read<R: UpdateRule>(
    optimizer: &RuleOptimizer<R>,
    layout: &Layout,
    object: &TorchObject,
) -> Result<Read> {
    let (Some(TorchObject::Dict(states)), Some(TorchObject::List(saved))) =
        (object.get("state"), object.get("param_groups"))
    else {
        return fail::<R, _>(format!(
            "{object} is not an `optimizer.state_dict()`, which has `state` and `param_groups`; name the entry that \
             is one by `ReadOptions::entry`"
        ));
    };
    let has_parameters = |group: &&TorchObject| !matches!(group.get("params"), Some(TorchObject::List(p)) if p.is_empty());
    let saved: Vec<&TorchObject> = saved.iter().filter(has_parameters).collect();
    let groups: Vec<usize> = (0..optimizer.groups.len())
        .filter(|&number| {
            optimizer
                .groups
                .get(number)
                .is_some_and(|g| !g.parameters.is_empty())
        })
        .collect();
    if saved.len() != groups.len() {
        return fail::<R, _>(format!(
            "the state has {} group(s) of parameters, and this optimizer {}; build it with the groups that were \
             saved, in their order",
            saved.len(),
            groups.len()
        ));
    }
    let mut options: Vec<R> = optimizer.groups.iter().map(|g| g.options.clone()).collect();
    let (mut initial_lrs, mut paths) = (HashMap::new(), HashMap::new());
    for (&number, saved) in groups.iter().zip(saved) {
        let Some(group) = optimizer.groups.get(number) else {
            continue;
        };
        for (position, path) in positions(optimizer, number, group, saved)? {
            if paths.insert(position, path).is_some() {
                return fail::<R, _>(format!("position {position} occurs twice in the groups"));
            }
        }
        if let Some(options) = options.get_mut(number) {
            *options = read_options(number, options, layout, saved)?;
        }
        if let Some(lr) = saved.get("initial_lr") {
            let lr = super::values::number(lr);
            let lr =
                lr.or_else(|p| fail::<R, _>(format!("`initial_lr` of group {number}: {p}")))?;
            initial_lrs.insert(number, lr);
        }
    }
    let values: HashMap<&str, Tensor> = optimizer.states.values().collect();
    let mut tensors = StateDict::new();
    for (position, state) in states {
        let path = match position {
            TorchObject::Int(position) => paths.get(position).copied(),
            _ => None,
        };
        let Some((path, value)) = path.and_then(|path| Some((path, values.get(path)?))) else {
            return fail::<R, _>(format!(
                "there is a state for {position}, which no group has"
            ));
        };
        read_state::<R>(path, value, layout, state, &mut tensors)?;
    }
    Ok(Read {
        snapshot: snapshot(optimizer, &options, tensors)?,
        initial_lrs,
    })
}

/// The positions of the parameters of a group, with their paths.
fn positions<'a, R: UpdateRule>(
    optimizer: &'a RuleOptimizer<R>,
    number: usize,
    group: &'a ParamGroup<R>,
    saved: &TorchObject,
) -> Result<Vec<(i64, &'a str)>> {
    let Some(TorchObject::List(params)) = saved.get("params") else {
        return fail::<R, _>(format!("group {number} has no list `params`"));
    };
    let all = || group.parameters.iter().map(String::as_str);
    let trained: Vec<&str> = optimizer.states.trained().collect();
    let trained = || all().filter(|path| trained.contains(path));
    // A script may have passed PyTorch's optimizer only the trainable parameters.
    let paths: Vec<&str> = match params.len() {
        n if n == group.parameters.len() => all().collect(),
        n if n == trained().count() => trained().collect(),
        n => {
            let shown: Vec<String> = all().take(8).map(|path| format!("`{path}`")).collect();
            let more = if group.parameters.len() > 8 {
                ", …"
            } else {
                ""
            };
            return fail::<R, _>(format!(
                "group {number} of the state has {n} parameter(s), and that of this optimizer {}: {}{more}",
                group.parameters.len(),
                shown.join(", ")
            ));
        }
    };
    let numbered = params.iter().zip(paths);
    numbered
        .map(|(position, path)| match position {
            TorchObject::Int(position) => Ok((*position, path)),
            other => fail::<R, _>(format!("the position of `{path}` is {other}")),
        })
        .collect()
}

/// The options of a group, which replace `ours`.
fn read_options<R: UpdateRule>(
    number: usize,
    ours: &R,
    layout: &Layout,
    saved: &TorchObject,
) -> Result<R> {
    let mut options: Map<String, Value> = options_of(OP, ours)?;
    check_only_if::<R>(OP, layout, &options)?;
    for &(name, setting) in layout.options {
        let found = saved.get(name);
        let value = match (setting, found) {
            (Setting::Execution(_), _) | (Setting::Fixed(_), None) => continue,
            (Setting::Fixed(value), Some(TorchObject::Bool(found))) if value == *found => continue,
            (Setting::Fixed(_), Some(found)) => {
                return fail::<R, _>(format!(
                    "`{name}` of group {number} is {found}, with which PyTorch's is another optimizer; load the \
                     state into that one"
                ));
            }
            (Setting::Later, None) => Value::Bool(false),
            (Setting::NoneIs(name), Some(TorchObject::None) | None) => Value::from(name),
            (Setting::Shared, None) => {
                return fail::<R, _>(format!(
                    "group {number} of the state has no `{name}`: it is the state of another optimizer"
                ));
            }
            (_, Some(found)) => to_json(found)
                .or_else(|p| fail::<R, _>(format!("`{name}` of group {number}: {p}")))?,
        };
        options.insert(name.to_owned(), value);
    }
    serde_json::from_value(Value::Object(options))
        .or_else(|error| fail::<R, _>(format!("the options of group {number}: {error}")))
}

/// Stores the tensors of a state under the path of its parameter.
fn read_state<R: UpdateRule>(
    path: &str,
    value: &Tensor,
    layout: &Layout,
    state: &TorchObject,
    tensors: &mut StateDict,
) -> Result<()> {
    let at = |problem: String| format!("the state of `{path}`{problem}");
    let TorchObject::Dict(slots) = state else {
        return fail::<R, _>(at(format!(" is {state}, not a dict")));
    };
    for (key, found) in slots {
        let TorchObject::Text(name) = key else {
            return fail::<R, _>(at(format!(" has the key {key}, not a name")));
        };
        // State that PyTorch has not started to keep.
        if matches!(found, TorchObject::None) {
            continue;
        }
        let slot = layout.state.iter().find(|(known, _)| known == name);
        let Some((_, slot)) = slot else {
            return fail::<R, _>(at(format!(
                " has `{name}`, which {} does not keep",
                R::NAME
            )));
        };
        let tensor = match (slot, found) {
            (Slot::Step, _) => steps(found).map(Tensor::from),
            (Slot::Number, _) => number(found).map(|number| Tensor::from(number as f32)),
            (Slot::Like, TorchObject::Tensor(x)) => like(x, value, value.shape().clone()),
            (Slot::Reduced(from_end), TorchObject::Tensor(x)) => {
                let mut sizes = value.shape().to_vec();
                let place = sizes.len().checked_sub(*from_end);
                if let Some(size) = place.and_then(|place| sizes.get_mut(place)) {
                    *size = 1;
                }
                like(x, value, sizes.into())
            }
            (_, other) => Err(format!("it is {other}, not a tensor")),
        };
        let tensor =
            tensor.or_else(|problem| fail::<R, _>(at(format!(": `{name}`: {problem}"))))?;
        tensors.insert(format!("{path}.{name}"), tensor);
    }
    Ok(())
}

/// A tensor of a state in the dtype of its parameter, to which PyTorch casts it too.
fn like(tensor: &Tensor, value: &Tensor, shape: Shape) -> Result<Tensor, String> {
    if *tensor.shape() != shape {
        let (found, parameter) = (tensor.shape(), value.shape());
        return Err(format!(
            "its shape is {found} instead of {shape}, that of the parameter {parameter}; give PyTorch's \
             optimizer the parameters in the order of `named_parameters()`"
        ));
    }
    let cast = tensor.to_dtype(value.dtype());
    cast.and_then(|x| x.to_device(&value.device()))
        .map_err(|error| error.to_string())
}

/// The state as this optimizer saves it.
fn snapshot<R: UpdateRule>(
    optimizer: &RuleOptimizer<R>,
    options: &[R],
    tensors: StateDict,
) -> Result<Snapshot> {
    let paths: Vec<&str> = optimizer.states.paths().collect();
    let snapshot = Snapshot::new(tensors)
        .with("parameters", &paths)?
        .with("optimizer", &R::NAME)?;
    let numbered = optimizer
        .groups
        .iter()
        .zip(options)
        .map(|(group, options)| ParamGroup {
            options: options.clone(),
            parameters: group.parameters.clone(),
        });
    let groups: Vec<ParamGroup<R>> = numbered.collect();
    let first = options.first().map_or(0.0, R::lr);
    let scale = |(options, before): (&R, &f64)| match first {
        0.0 => *before,
        _ => options.lr() / first,
    };
    let scales: Vec<f64> = options
        .iter()
        .zip(&optimizer.lr_scales)
        .map(scale)
        .collect();
    super::super::group_state::with_groups(snapshot, &groups, &scales)
}
