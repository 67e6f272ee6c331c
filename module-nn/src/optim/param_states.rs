use module_core::{Module, Parameter, Result, Snapshot, StateDict, Stateful, Tensor};

use super::ParamState;
use super::step_parameters::{ParamInfo, StepParameters};

/// The parameters that an optimizer was built with, by path, and its state for each.
///
/// It checks that a step uses the model that the optimizer was built with, drops the states of [frozen](Parameter::freeze)
/// parameters, and saves and loads the states by path.
///
/// For an optimizer that moves each parameter separately, an [`UpdateRule`](super::UpdateRule) is shorter.
///
/// # Example
///
/// ```
/// use module_nn::optim::ParamStates;
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut states: ParamStates<Tensor> = ParamStates::new(&model);
/// assert!(!states.is_empty());
/// assert_eq!((states.len(), states.paths().last()), (2, Some("bias")));
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
    parameters: StepParameters,
    /// The state of each parameter, in the model's order.
    states: Vec<Option<S>>,
}

impl<S> ParamStates<S> {
    /// The number of parameters.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether the model has no parameters.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// The paths of the parameters, in the model's order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.parameters.paths()
    }

    /// The state of the parameter at a path, if it has one.
    pub fn get(&self, path: &str) -> Option<&S> {
        self.state_of(self.parameters.index_of(path)?)
    }

    /// The state of a parameter, unless the parameter has been frozen since.
    fn state_of(&self, index: usize) -> Option<&S> {
        let state = self.states.get(index)?.as_ref()?;
        (!self.parameters.was_frozen(index)).then_some(state)
    }

    /// The states of all parameters, in the model's order.
    pub(super) fn all(&self) -> impl Iterator<Item = Option<&S>> {
        (0..self.len()).map(|index| self.state_of(index))
    }

    /// Checks that a step uses the model that the states belong to.
    pub(super) fn check_step(&self, model: &dyn Module) -> Result<()> {
        self.parameters.check_model(model)
    }

    /// Checks that a snapshot was made of the same parameters.
    pub(super) fn check_paths(&self, snapshot: &Snapshot) -> Result<()> {
        self.parameters.check_paths(snapshot)
    }

    /// The paths and the values of the parameters, in the model's order.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, Tensor)> {
        self.parameters.values()
    }

    /// The paths of the parameters that are trained now.
    #[cfg(feature = "torch-files")]
    pub(super) fn trained(&self) -> impl Iterator<Item = &str> {
        self.parameters.trained()
    }
}

impl<S: ParamState> ParamStates<S> {
    /// Lists all parameters of a model, without states.
    pub fn new(model: &dyn Module) -> Self {
        let parameters = StepParameters::new(model);
        let mut states = Vec::new();
        states.resize_with(parameters.len(), || None);
        Self { parameters, states }
    }

    /// Checks the model, then sets every parameter that is trained and has a gradient to the value that `update` computes
    /// from its value, its gradient and its state, which `update` may change. Nothing in `update` is tracked.
    ///
    /// # Errors
    ///
    /// Parameters that differ from those of the states, no gradients, a gradient or a state that does not match after a
    /// cast or a move: then nothing is moved. Errors of `update`: then the parameters before that one have been moved.
    pub fn step(
        &mut self,
        model: &dyn Module,
        mut update: impl FnMut(ParamInfo<'_>, &Tensor, &Tensor, &mut Option<S>) -> Result<Tensor>,
    ) -> Result<()> {
        self.step_each(model, |info, parameter, grad, state| {
            parameter.set(update(info, &parameter.detach(), grad, state)?)
        })
    }

    /// [`step`](Self::step) in which `update` moves the parameter itself.
    pub(super) fn step_each(
        &mut self,
        model: &dyn Module,
        mut update: impl FnMut(ParamInfo<'_>, &Parameter, &Tensor, &mut Option<S>) -> Result<()>,
    ) -> Result<()> {
        self.parameters.check_model(model)?;
        for (index, state) in self.states.iter_mut().enumerate() {
            if self.parameters.forget_frozen(index) {
                *state = None;
            }
        }
        let states = &mut self.states;
        let gradients = self
            .parameters
            .check_gradients(&|index| states.get(index)?.as_ref()?.tensor())?;
        self.parameters
            .step_each(&gradients, &mut |info, parameter, grad| {
                let state = states.get_mut(info.index);
                state.map_or(Ok(()), |state| update(info, parameter, grad, state))
            })
    }

    /// The states in a snapshot of the same parameters, in this model's order.
    pub(super) fn read(&self, snapshot: &Snapshot) -> Result<LoadedStates<S>> {
        let slots = self.parameters.read_slots(snapshot, S::UNLIKE_PARAMETER)?;
        let mut states = Vec::with_capacity(slots.len());
        for (index, slots) in slots.into_iter().enumerate() {
            let Some(mut slots) = slots else {
                states.push(None);
                continue;
            };
            let state = S::from_slots(&mut slots);
            states.push(Some(state.map_err(|e| self.parameters.refuse(index, e))?));
            if let Some((name, _)) = slots.0.first() {
                let problem = format!("`{name}` is not part of this optimizer's state");
                return Err(self.parameters.refuse(index, problem));
            }
        }
        Ok(LoadedStates(states))
    }

    /// Restores the states that [`read`](Self::read) returned.
    pub(super) fn set(&mut self, states: LoadedStates<S>) {
        self.states = states.0;
        for index in 0..self.states.len() {
            self.parameters.forget_frozen(index);
        }
    }
}

/// The states of all parameters, in the model's order, before they are restored.
pub(super) struct LoadedStates<S>(Vec<Option<S>>);

impl<S> LoadedStates<S> {
    pub(super) fn all(&self) -> impl Iterator<Item = Option<&S>> {
        self.0.iter().map(Option::as_ref)
    }
}

/// The paths of the parameters, and each tensor of a state under the path of its parameter and its own name. Loading
/// restores the states of the same parameters, in any order.
impl<S: ParamState> Stateful for ParamStates<S> {
    fn state(&self) -> Result<Snapshot> {
        let mut tensors = StateDict::new();
        for (path, state) in self.paths().zip(self.all()) {
            let Some(state) = state else { continue };
            for (slot, tensor) in state.slots()? {
                tensors.insert(format!("{path}.{slot}"), tensor);
            }
        }
        let paths: Vec<&str> = self.paths().collect();
        Snapshot::new(tensors).with("parameters", &paths)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let states = self.read(state)?;
        self.set(states);
        Ok(())
    }
}
