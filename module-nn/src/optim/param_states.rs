use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use module_core::{
    Error, Module, ModuleExt, Parameter, Result, Snapshot, StateDict, Stateful, Tensor, no_grad,
};

use super::{OptimizerError, ParamState, Slots};

/// The parameters that an optimizer was built with, by path, and its state of each.
///
/// It checks that a step is made on the model that the optimizer was built with, drops the states of
/// parameters that were [frozen](Parameter::freeze), and saves and loads the states by path.
///
/// An optimizer that moves each parameter by itself is shorter as an [`UpdateRule`](super::UpdateRule).
///
/// # Example
///
/// ```
/// use module_nn::optim::ParamStates;
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut states: ParamStates<Tensor> = ParamStates::new(&model);
/// model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
/// states.step(&model, |parameter, value, grad, state| {
///     let lr = if parameter.path == "bias" { 0.2 } else { 0.1 };
///     *state = Some(grad.clone());
///     value.add_scaled(grad, -lr)
/// })?;
/// assert_eq!(states.get("bias").unwrap().to_vec::<f32>()?, [1.0]);
/// let saved = states.state()?;
/// assert_eq!(saved.tensors().keys().next(), Some("weight.momentum_buffer"));
/// # Ok::<(), Error>(())
/// ```
pub struct ParamStates<S> {
    parameters: IndexMap<String, ParamEntry<S>>,
}

/// Which parameter a step is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamInfo<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its place among the parameters that the optimizer was built with.
    pub index: usize,
}

/// It holds a handle to the parameter, because an identity is an address, and a parameter made after
/// another has gone may get its address.
struct ParamEntry<S> {
    parameter: Parameter,
    state: Option<S>,
    /// How often the parameter had been frozen when the state was made.
    freezes: u64,
}

impl<S> ParamEntry<S> {
    fn new(parameter: &Parameter) -> Self {
        Self {
            parameter: parameter.share(),
            state: None,
            freezes: parameter.freezes(),
        }
    }

    /// The state, unless the parameter was frozen after it was made.
    fn state(&self) -> Option<&S> {
        self.state.as_ref().filter(|_| !self.was_frozen())
    }

    fn was_frozen(&self) -> bool {
        self.parameter.freezes() != self.freezes || self.parameter.is_frozen()
    }

    /// Drops the state of a parameter that was frozen after it was made.
    fn drop_state_if_frozen(&mut self) {
        if self.was_frozen() {
            self.set_state(None);
        }
    }

    fn set_state(&mut self, state: Option<S>) {
        self.state = state;
        self.freezes = self.parameter.freezes();
    }
}

impl<S> ParamStates<S> {
    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.parameters.len()
    }

    /// Whether the model has no parameters.
    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty()
    }

    /// The paths of the parameters, in the model's order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.parameters.keys().map(String::as_str)
    }

    /// The state of the parameter at a path, if it has one.
    pub fn get(&self, path: &str) -> Option<&S> {
        self.parameters.get(path).and_then(ParamEntry::state)
    }
}

impl<S: ParamState> ParamStates<S> {
    /// All parameters of a model, without states.
    pub fn new(model: &dyn Module) -> Self {
        let parameters = model.named_parameters();
        Self {
            parameters: parameters
                .map(|(path, p)| (path, ParamEntry::new(p)))
                .collect(),
        }
    }

    /// Checks the model, then gives every parameter that is trained and has a gradient the value that
    /// `update` makes of its value, its gradient and its state, which it may change. Nothing that `update`
    /// does is tracked.
    ///
    /// # Errors
    ///
    /// Other parameters than the states were made for, no gradient at all, a gradient or a state that a cast
    /// or a move has left behind: then nothing is moved. What `update` raises: then the parameters before
    /// that one are moved.
    pub fn step(
        &mut self,
        model: &dyn Module,
        mut update: impl FnMut(ParamInfo<'_>, &Tensor, &Tensor, &mut Option<S>) -> Result<Tensor>,
    ) -> Result<()> {
        self.step_each(model, |info, parameter, grad, state| {
            parameter.set(update(info, &parameter.detach(), grad, state)?)
        })
    }

    /// [`step`](Self::step) where `update` moves the parameter itself.
    pub(super) fn step_each(
        &mut self,
        model: &dyn Module,
        mut update: impl FnMut(ParamInfo<'_>, &Parameter, &Tensor, &mut Option<S>) -> Result<()>,
    ) -> Result<()> {
        let parameters: Vec<(String, &Parameter)> = model.named_parameters().collect();
        self.check_model(&parameters)?;
        let entries = self.parameters.values_mut();
        entries.for_each(ParamEntry::drop_state_if_frozen);
        self.check_gradients(&parameters)?;
        for (path, parameter) in parameters {
            let Some((index, path, entry)) = self.parameters.get_full_mut(&path) else {
                continue;
            };
            if let Some(grad) = gradient(parameter) {
                let (info, grad) = (ParamInfo { path, index }, grad.detach());
                no_grad(|| update(info, parameter, &grad, &mut entry.state))?;
            }
        }
        Ok(())
    }

    /// The model's parameters must be those that the states are of, each under its path.
    fn check_model(&self, parameters: &[(String, &Parameter)]) -> Result<()> {
        let is_known = |(i, (path, p)): (usize, &(String, &Parameter))| {
            let same = |(known, entry): (&String, &ParamEntry<S>)| {
                known == path && entry.parameter.id() == p.id()
            };
            // They come in the order in which they came first, unless the model has changed.
            self.parameters.get_index(i).is_some_and(same)
                || self.parameters.get_key_value(path).is_some_and(same)
        };
        let unknown = parameters.iter().enumerate().filter(|p| !is_known(*p));
        let mut paths: Vec<String> = unknown.map(|(_, (path, _))| path.clone()).collect();
        if paths.is_empty() && parameters.len() == self.parameters.len() {
            return Ok(());
        }
        let present: HashSet<&str> = parameters.iter().map(|(path, _)| path.as_str()).collect();
        let gone = self
            .parameters
            .keys()
            .filter(|path| !present.contains(path.as_str()));
        paths.extend(gone.cloned());
        if paths.is_empty() {
            Ok(())
        } else {
            Err(OptimizerError::Parameters { paths }.into())
        }
    }

    /// Finds what could keep an update from being computed, before the first one is.
    fn check_gradients(&self, parameters: &[(String, &Parameter)]) -> Result<()> {
        let mut any = false;
        for (path, parameter) in parameters {
            let Some(grad) = gradient(parameter) else {
                continue;
            };
            let value = parameter.detach();
            check_like("step", path, "gradient", &grad, &value)?;
            let state = self.parameters.get(path).and_then(|e| e.state.as_ref());
            if let Some(tensor) = state.and_then(S::tensor) {
                check_like("step", path, "state", tensor, &value)?;
            }
            any = true;
        }
        match any {
            true => Ok(()),
            false => Err(OptimizerError::NoGradients { op: "step" }.into()),
        }
    }

    /// Checks that a snapshot was made of the same parameters.
    pub(super) fn check_paths(&self, snapshot: &Snapshot) -> Result<()> {
        let fail = |path: &str, problem: &str| {
            let problem = problem.to_owned();
            Err(Error::argument("load_state", "parameter", path, problem))
        };
        let paths: Vec<String> = snapshot.get("parameters")?;
        let unknown = |path: &&String| !self.parameters.contains_key(*path);
        if let Some(path) = paths.iter().find(unknown) {
            return fail(
                path,
                "the saved model has this parameter and this model does not",
            );
        }
        let paths: HashSet<&String> = paths.iter().collect();
        if let Some(path) = self.parameters.keys().find(|path| !paths.contains(path)) {
            return fail(
                path,
                "this model has this parameter and the saved model does not",
            );
        }
        Ok(())
    }

    /// Checks that a step is made on the model that the states are of.
    pub(super) fn check_step(&self, model: &dyn Module) -> Result<()> {
        let parameters: Vec<(String, &Parameter)> = model.named_parameters().collect();
        self.check_model(&parameters)
    }

    /// The paths and the values of the parameters, in the model's order.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, Tensor)> {
        let entries = self.parameters.iter();
        entries.map(|(path, entry)| (path.as_str(), entry.parameter.detach()))
    }

    /// The paths of the parameters that are trained now.
    #[cfg(feature = "torch-files")]
    pub(super) fn trained(&self) -> impl Iterator<Item = &str> {
        let entries = self.parameters.iter();
        let trained = entries.filter(|(_, entry)| entry.parameter.requires_grad());
        trained.map(|(path, _)| path.as_str())
    }

    /// The states of a snapshot that was made of the same parameters, in this model's order.
    pub(super) fn read(&self, snapshot: &Snapshot) -> Result<LoadedStates<S>> {
        let fail = |path: &str, problem: String| {
            Err(Error::argument("load_state", "parameter", path, problem))
        };
        self.check_paths(snapshot)?;
        let mut slots: HashMap<&str, Slots<'_>> = HashMap::new();
        for (key, tensor) in snapshot.tensors().iter() {
            let (path, slot) = key.rsplit_once('.').unwrap_or((key, ""));
            if !self.parameters.contains_key(path) {
                return fail(path, format!("`{key}` is the state of no parameter"));
            }
            slots
                .entry(path)
                .or_default()
                .0
                .insert(slot, tensor.clone());
        }
        let mut states = Vec::new();
        for (path, ParamEntry { parameter, .. }) in &self.parameters {
            let Some(mut slots) = slots.remove(path.as_str()) else {
                states.push(None);
                continue;
            };
            let value = parameter.detach();
            for (name, tensor) in &mut slots.0 {
                *tensor = tensor.to_device(&value.device())?;
                if !S::UNLIKE_PARAMETER.contains(name) {
                    check_like("load_state", path, "state", tensor, &value)?;
                }
            }
            match S::from_slots(&mut slots) {
                Ok(state) => states.push(Some(state)),
                Err(problem) => return fail(path, problem),
            }
            if let Some((name, _)) = slots.0.first() {
                return fail(
                    path,
                    format!("`{name}` is not part of this optimizer's state"),
                );
            }
        }
        Ok(LoadedStates(states))
    }

    /// Takes up the states that [`read`](Self::read) gave.
    pub(super) fn set(&mut self, states: LoadedStates<S>) {
        for (entry, state) in self.parameters.values_mut().zip(states.0) {
            entry.set_state(state);
        }
    }

    /// The states of all parameters, in the model's order.
    pub(super) fn all(&self) -> impl Iterator<Item = Option<&S>> {
        self.parameters.values().map(ParamEntry::state)
    }
}

/// The states of all parameters, in the model's order, before they are taken up.
pub(super) struct LoadedStates<S>(Vec<Option<S>>);

impl<S> LoadedStates<S> {
    pub(super) fn all(&self) -> impl Iterator<Item = Option<&S>> {
        self.0.iter().map(Option::as_ref)
    }
}

/// The paths of the parameters, and each tensor of a state under the path of its parameter and its own name.
/// Loading takes up the states of the same parameters, in any order.
impl<S: ParamState> Stateful for ParamStates<S> {
    fn state(&self) -> Result<Snapshot> {
        let mut tensors = StateDict::new();
        for (path, entry) in &self.parameters {
            let slots = entry.state().map(S::slots).transpose()?;
            for (slot, tensor) in slots.unwrap_or_default() {
                tensors.insert(format!("{path}.{slot}"), tensor);
            }
        }
        let paths: Vec<&String> = self.parameters.keys().collect();
        Snapshot::new(tensors).with("parameters", &paths)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let states = self.read(state)?;
        self.set(states);
        Ok(())
    }
}

/// The gradient by which a step moves a parameter; none if it is paused or frozen.
fn gradient(parameter: &Parameter) -> Option<Tensor> {
    parameter.grad().filter(|_| parameter.requires_grad())
}

/// Refuses a gradient or a state that a cast or a move of the parameter has left behind.
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
