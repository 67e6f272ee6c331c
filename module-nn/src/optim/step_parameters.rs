use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use module_core::{Error, Module, ModuleExt, Parameter, Result, Snapshot, Tensor, no_grad};

use super::{OptimizerError, Slots};

/// The parameter that a step is processing.
///
/// # Example
///
/// ```
/// use module_nn::optim::{ParamInfo, ParamStates};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut states: ParamStates<()> = ParamStates::new(&model);
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// let mut seen = Vec::new();
/// states.step(&model, |parameter: ParamInfo<'_>, value, _, _| {
///     seen.push((parameter.index, parameter.path.to_owned()));
///     Ok(value.clone())
/// })?;
/// assert_eq!(seen, [(0, "weight".to_owned()), (1, "bias".to_owned())]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamInfo<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its index among the parameters that the optimizer was built with.
    pub index: usize,
}

/// The parameters that an optimizer was built with, by path, without the optimizer's states: code that is compiled once for
/// all state types.
pub(super) struct StepParameters(IndexMap<String, Entry>);

/// It holds a handle to the parameter, because an identity is an address, and a new parameter may get the address of one
/// that was dropped.
struct Entry {
    parameter: Parameter,
    /// How often the parameter had been frozen when the state was made.
    freezes: u64,
}

impl Entry {
    fn is_of(&self, parameter: &Parameter) -> bool {
        self.parameter.id() == parameter.id()
    }

    fn was_frozen(&self) -> bool {
        self.parameter.freezes() != self.freezes || self.parameter.is_frozen()
    }
}

impl StepParameters {
    pub(super) fn new(model: &dyn Module) -> Self {
        let entries = model.named_parameters().map(|(path, parameter)| {
            let entry = Entry {
                parameter: parameter.share(),
                freezes: parameter.freezes(),
            };
            (path, entry)
        });
        Self(entries.collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn index_of(&self, path: &str) -> Option<usize> {
        self.0.get_index_of(path)
    }

    /// The paths and the values, in the model's order.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, Tensor)> {
        let entries = self.0.iter();
        entries.map(|(path, entry)| (path.as_str(), entry.parameter.detach()))
    }

    /// The paths of the parameters that are trained now.
    #[cfg(feature = "torch-files")]
    pub(super) fn trained(&self) -> impl Iterator<Item = &str> {
        let entries = self.0.iter();
        let trained = entries.filter(|(_, entry)| entry.parameter.requires_grad());
        trained.map(|(path, _)| path.as_str())
    }

    /// Whether a parameter was frozen after its state was made.
    pub(super) fn was_frozen(&self, index: usize) -> bool {
        self.0[index].was_frozen()
    }

    /// Whether that is settled: the state has been dropped, or another one restored.
    pub(super) fn forget_frozen(&mut self, index: usize) -> bool {
        let entry = &mut self.0[index];
        let was_frozen = entry.was_frozen();
        entry.freezes = entry.parameter.freezes();
        was_frozen
    }

    /// Calls `update` with the parameters of these [gradients](Self::check_gradients); nothing in it is tracked.
    pub(super) fn step_each(
        &self,
        gradients: &[(usize, Tensor)],
        update: &mut dyn FnMut(ParamInfo<'_>, &Parameter, &Tensor) -> Result<()>,
    ) -> Result<()> {
        no_grad(|| {
            for &(index, ref grad) in gradients {
                let Some((path, entry)) = self.0.get_index(index) else {
                    continue;
                };
                update(ParamInfo { path, index }, &entry.parameter, grad)?;
            }
            Ok(())
        })
    }

    /// The model's parameters must be those that the states belong to, each under its path.
    pub(super) fn check_model(&self, model: &dyn Module) -> Result<()> {
        // They come in their original order, unless the model has changed.
        let mut known = self.0.iter();
        let in_order = |(path, parameter): (String, &Parameter)| {
            let next = known.next();
            next.is_some_and(|(known, entry)| *known == path && entry.is_of(parameter))
        };
        if model.named_parameters().all(in_order) && known.next().is_none() {
            return Ok(());
        }
        let parameters: Vec<(String, &Parameter)> = model.named_parameters().collect();
        let is_known = |path: &String, parameter: &Parameter| {
            let entry = self.0.get(path);
            entry.is_some_and(|entry| entry.is_of(parameter))
        };
        let unknown = parameters.iter().filter(|(path, p)| !is_known(path, p));
        let mut paths: Vec<String> = unknown.map(|(path, _)| path.clone()).collect();
        let present: HashSet<&str> = parameters.iter().map(|(path, _)| path.as_str()).collect();
        let gone = self
            .0
            .keys()
            .filter(|path| !present.contains(path.as_str()));
        paths.extend(gone.cloned());
        if paths.is_empty() {
            Ok(())
        } else {
            Err(OptimizerError::Parameters { paths }.into())
        }
    }

    /// The gradients of the parameters that are trained and have one, each with the index of its parameter. Finds
    /// everything that could make an update fail, before the first one. `state_of` returns the tensor of a parameter's
    /// state that must match the parameter.
    pub(super) fn check_gradients<'a>(
        &self,
        state_of: &dyn Fn(usize) -> Option<&'a Tensor>,
    ) -> Result<Vec<(usize, Tensor)>> {
        let mut gradients = Vec::with_capacity(self.0.len());
        for (index, (path, Entry { parameter, .. })) in self.0.iter().enumerate() {
            let Some(grad) = gradient(parameter) else {
                continue;
            };
            parameter.of_value(|value| {
                check_like("step", path, "gradient", &grad, value)?;
                match state_of(index) {
                    Some(tensor) => check_like("step", path, "state", tensor, value),
                    None => Ok(()),
                }
            })?;
            let grad = match grad.requires_grad() {
                true => grad.detach(),
                false => grad,
            };
            gradients.push((index, grad));
        }
        match gradients.is_empty() {
            true => Err(OptimizerError::NoGradients { op: "step" }.into()),
            false => Ok(gradients),
        }
    }

    /// Checks that a snapshot was made of the same parameters.
    pub(super) fn check_paths(&self, snapshot: &Snapshot) -> Result<()> {
        let fail = |path: &str, problem: &str| Err(refused(path, problem.to_owned()));
        let paths: Vec<String> = snapshot.get("parameters")?;
        let unknown = |path: &&String| !self.0.contains_key(*path);
        if let Some(path) = paths.iter().find(unknown) {
            return fail(
                path,
                "the saved model has this parameter and this model does not",
            );
        }
        let paths: HashSet<&String> = paths.iter().collect();
        if let Some(path) = self.0.keys().find(|path| !paths.contains(path)) {
            return fail(
                path,
                "this model has this parameter and the saved model does not",
            );
        }
        Ok(())
    }

    /// The tensors of each parameter's state in a snapshot of the same parameters, in this model's order; all except the
    /// named ones match the parameter.
    pub(super) fn read_slots<'a>(
        &self,
        snapshot: &'a Snapshot,
        unlike_parameter: &[&str],
    ) -> Result<Vec<Option<Slots<'a>>>> {
        self.check_paths(snapshot)?;
        let mut slots: HashMap<&str, Slots<'_>> = HashMap::new();
        for (key, tensor) in snapshot.tensors().iter() {
            let (path, slot) = key.rsplit_once('.').unwrap_or((key, ""));
            if !self.0.contains_key(path) {
                return Err(refused(
                    path,
                    format!("`{key}` is the state of no parameter"),
                ));
            }
            let slots = slots.entry(path).or_default();
            slots.0.insert(slot, tensor.clone());
        }
        let mut all = Vec::with_capacity(self.0.len());
        for (path, Entry { parameter, .. }) in &self.0 {
            let mut slots = slots.remove(path.as_str());
            let value = parameter.detach();
            for (name, tensor) in slots.iter_mut().flat_map(|slots| &mut slots.0) {
                *tensor = tensor.to_device(&value.device())?;
                if !unlike_parameter.contains(name) {
                    check_like("load_state", path, "state", tensor, &value)?;
                }
            }
            all.push(slots);
        }
        Ok(all)
    }

    /// The error for a parameter's saved state.
    pub(super) fn refuse(&self, index: usize, problem: String) -> Error {
        let path = self.0.get_index(index).map(|(path, _)| path.as_str());
        refused(path.unwrap_or_default(), problem)
    }
}

fn refused(path: &str, problem: String) -> Error {
    Error::argument("load_state", "parameter", path, problem)
}

/// The gradient by which a step moves a parameter; none if it is paused or frozen.
fn gradient(parameter: &Parameter) -> Option<Tensor> {
    parameter.grad().filter(|_| parameter.requires_grad())
}

/// Refuses a gradient or a state that does not match after a cast or a move of the parameter.
fn check_like(
    op: &'static str,
    path: &str,
    what: &'static str,
    tensor: &Tensor,
    value: &Tensor,
) -> Result<()> {
    let same = tensor.shape() == value.shape()
        && tensor.dtype() == value.dtype()
        && tensor.device() == value.device();
    if same {
        return Ok(());
    }
    let describe = |x: &Tensor| format!("{} of shape {} on {}", x.dtype(), x.shape(), x.device());
    let problem = format!(
        "the {what} is {}, the value {}; build the optimizer after casts and moves",
        describe(tensor),
        describe(value)
    );
    Err(Error::argument(op, "parameter", path, problem))
}
