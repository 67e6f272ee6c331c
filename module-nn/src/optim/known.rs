use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use module_core::{
    Error, Module, ModuleExt, Parameter, Result, Snapshot, StateDict, Tensor, no_grad,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::OptimizerError;

/// The parameters that an optimiser was built with, by path, and what it remembers of each.
///
/// It holds a handle to each, because an identity is an address, and a parameter made after another
/// has gone may get its address.
pub(super) struct Known<S> {
    parameters: IndexMap<String, Entry<S>>,
}

struct Entry<S> {
    parameter: Parameter,
    state: Option<S>,
    /// How often the parameter had been frozen when the state was made.
    freezes: u64,
}

impl<S> Entry<S> {
    fn new(parameter: &Parameter) -> Self {
        Self {
            parameter: parameter.share(),
            state: None,
            freezes: parameter.freezes(),
        }
    }

    /// Whether the parameter was frozen after the state was made.
    fn was_frozen(&self) -> bool {
        self.parameter.freezes() != self.freezes || self.parameter.is_frozen()
    }

    /// Drops the state of a parameter that was frozen after it was made.
    fn forget_frozen(&mut self) {
        if self.was_frozen() {
            self.state = None;
            self.freezes = self.parameter.freezes();
        }
    }
}

/// What an optimiser remembers of a parameter.
pub(super) trait State: Sized {
    /// A tensor that is like the parameter in shape, dtype and device.
    fn tensor(&self) -> &Tensor;

    /// The tensors that it consists of, by PyTorch's names.
    fn slots(&self) -> Result<Vec<(&'static str, Tensor)>>;

    /// What consists of these tensors, of which those taken out are used; the error names one that is
    /// missing or does not fit.
    fn from_slots(slots: &mut IndexMap<&str, Tensor>) -> Result<Self, String>;
}

/// Takes a tensor out.
pub(super) fn slot(slots: &mut IndexMap<&str, Tensor>, name: &str) -> Result<Tensor, String> {
    let found = slots.shift_remove(name);
    found.ok_or_else(|| format!("`{name}` is missing"))
}

impl<S: State> Known<S> {
    pub(super) fn new(model: &dyn Module) -> Self {
        let parameters = model.named_parameters();
        Self {
            parameters: parameters.map(|(path, p)| (path, Entry::new(p))).collect(),
        }
    }

    /// Checks the model, then gives every parameter with a gradient the value that `update` makes of
    /// its value, its gradient and its state, which it changes.
    ///
    /// Whatever could keep an update from being computed is found before the first one is.
    pub(super) fn step(
        &mut self,
        model: &dyn Module,
        update: impl Fn(&Tensor, &Tensor, &mut Option<S>) -> Result<Tensor>,
    ) -> Result<()> {
        let parameters: Vec<(String, &Parameter)> = model.named_parameters().collect();
        self.check(&parameters)?;
        self.parameters.values_mut().for_each(Entry::forget_frozen);
        let mut moved = false;
        for (path, parameter) in &parameters {
            let Some(grad) = parameter.grad().filter(|_| parameter.requires_grad()) else {
                continue;
            };
            let value = parameter.detach();
            check_like("step", path, "gradient", &grad, &value)?;
            if let Some(Some(state)) = self.parameters.get(path).map(|entry| &entry.state) {
                check_like("step", path, "state", state.tensor(), &value)?;
            }
            moved = true;
        }
        if !moved {
            return Err(OptimizerError::NoGradients { op: "step" }.into());
        }
        for (path, parameter) in parameters {
            let Some(Entry { state, .. }) = self.parameters.get_mut(&path) else {
                continue;
            };
            if let Some(grad) = parameter.grad().filter(|_| parameter.requires_grad()) {
                let value = parameter.detach();
                parameter.set(no_grad(|| update(&value, &grad.detach(), state))?)?;
            }
        }
        Ok(())
    }

    /// The name and the configuration of the optimiser and the state of each parameter, under its path.
    pub(super) fn state(&self, optimizer: &str, config: &impl Serialize) -> Result<Snapshot> {
        let mut tensors = StateDict::new();
        for (path, entry) in &self.parameters {
            let Some(state) = entry.state.as_ref().filter(|_| !entry.was_frozen()) else {
                continue;
            };
            for (slot, tensor) in state.slots()? {
                tensors.insert(format!("{path}.{slot}"), tensor);
            }
        }
        let paths: Vec<&String> = self.parameters.keys().collect();
        Snapshot::new(tensors)
            .with("optimizer", &optimizer)?
            .with("config", config)?
            .with("parameters", &paths)
    }

    /// Takes up the states of a snapshot that [`state`](Self::state) made of the same parameters, in any
    /// order, once `accept` has taken its configuration.
    pub(super) fn load_state<C: DeserializeOwned>(
        &mut self,
        optimizer: &'static str,
        snapshot: &Snapshot,
        accept: impl FnOnce(C) -> Result<()>,
    ) -> Result<()> {
        let config: C = config_of(optimizer, snapshot)?;
        let fail = |path: &str, problem: String| {
            Err(Error::argument("load_state", "parameter", path, problem))
        };
        let paths: Vec<String> = snapshot.get("parameters")?;
        let strange = |path: &&String| !self.parameters.contains_key(*path);
        if let Some(path) = paths.iter().find(strange) {
            return fail(
                path,
                "the state is of a model that has it, this one has not".to_owned(),
            );
        }
        let paths: HashSet<&String> = paths.iter().collect();
        if let Some(path) = self.parameters.keys().find(|path| !paths.contains(path)) {
            return fail(path, "the state is of a model that lacks it".to_owned());
        }
        let mut slots: HashMap<&str, IndexMap<&str, Tensor>> = HashMap::new();
        for (key, tensor) in snapshot.tensors().iter() {
            let (path, slot) = key.rsplit_once('.').unwrap_or((key, ""));
            if !self.parameters.contains_key(path) {
                return fail(path, format!("`{key}` is the state of no parameter"));
            }
            slots.entry(path).or_default().insert(slot, tensor.clone());
        }
        let mut states = Vec::new();
        for (path, Entry { parameter, .. }) in &self.parameters {
            let Some(mut slots) = slots.remove(path.as_str()) else {
                states.push(None);
                continue;
            };
            let value = parameter.detach();
            for (name, tensor) in &mut slots {
                *tensor = tensor.to_device(&value.device())?;
                // What has no dimensions counts steps.
                if tensor.rank() > 0 || *name != "step" {
                    check_like("load_state", path, "state", tensor, &value)?;
                }
            }
            match S::from_slots(&mut slots) {
                Ok(state) => states.push(Some(state)),
                Err(problem) => return fail(path, problem),
            }
            if let Some((name, _)) = slots.first() {
                return fail(
                    path,
                    format!("`{name}` is nothing that this optimiser remembers"),
                );
            }
        }
        accept(config)?;
        for (entry, state) in self.parameters.values_mut().zip(states) {
            entry.state = state;
            entry.freezes = entry.parameter.freezes();
        }
        Ok(())
    }

    /// The model's parameters must be the known ones, each under its path.
    fn check(&self, parameters: &[(String, &Parameter)]) -> Result<()> {
        let is_known = |(i, (path, p)): (usize, &(String, &Parameter))| {
            let same = |(known, entry): (&String, &Entry<S>)| {
                known == path && entry.parameter.id() == p.id()
            };
            // They come in the order in which they came first, unless the model has changed.
            self.parameters.get_index(i).is_some_and(same)
                || self.parameters.get_key_value(path).is_some_and(same)
        };
        let strange = parameters.iter().enumerate().filter(|p| !is_known(*p));
        let mut paths: Vec<String> = strange.map(|(_, (path, _))| path.clone()).collect();
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
}

/// The configuration in a snapshot; an error that says so if it is of another optimiser, or of none.
fn config_of<C: DeserializeOwned>(optimizer: &'static str, snapshot: &Snapshot) -> Result<C> {
    let fail =
        |value: &str, problem: String| Err(Error::argument("load_state", "state", value, problem));
    if snapshot.get::<Vec<String>>("parameters").is_err() {
        let problem = format!("it is the state of no optimizer, and this is {optimizer}");
        return fail("without `parameters`", problem);
    }
    // Checkpoints of before the name was saved have none.
    match snapshot.get::<String>("optimizer") {
        Ok(other) if other != optimizer => {
            let problem = format!(
                "it is the state of {other}, and this is {optimizer}; build the optimizer that was \
                 saved, or start this one without a state"
            );
            return fail(&other, problem);
        }
        _ => {}
    }
    snapshot.get("config").or_else(|error| {
        let problem = format!("its configuration is none of {optimizer}: {error}");
        fail("config", problem)
    })
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
        "the {what} is {}, the value {}; build the optimiser after casts and moves",
        describe(tensor),
        describe(value)
    );
    Err(Error::argument(op, "parameter", path, problem))
}

/// Refuses an argument outside its range, with its name and value.
pub(super) fn check(
    optimizer: &'static str,
    name: &'static str,
    value: f64,
    fits: bool,
    range: &str,
) -> Result<()> {
    if fits {
        Ok(())
    } else {
        Err(Error::argument(
            optimizer,
            name,
            value,
            format!("must be {range}"),
        ))
    }
}
