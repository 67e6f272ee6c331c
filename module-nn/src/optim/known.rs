use std::collections::HashSet;

use indexmap::IndexMap;
use module_core::{Error, ErrorKind, Module, ModuleExt, Parameter, Result, Tensor, no_grad};

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

    /// Drops the state of a parameter that was frozen after it was made.
    fn forget_frozen(&mut self) {
        let freezes = self.parameter.freezes();
        if freezes != self.freezes || !self.parameter.requires_grad() {
            self.state = None;
            self.freezes = freezes;
        }
    }
}

/// What an optimiser remembers of a parameter.
pub(super) trait State {
    /// A tensor that is like the parameter in shape, dtype and device.
    fn tensor(&self) -> &Tensor;
}

impl State for Tensor {
    fn tensor(&self) -> &Tensor {
        self
    }
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
            check_like(path, "gradient", &grad, &value)?;
            if let Some(Some(state)) = self.parameters.get(path).map(|entry| &entry.state) {
                check_like(path, "state", state.tensor(), &value)?;
            }
            moved = true;
        }
        if !moved {
            return Err(ErrorKind::NoGradients { op: "step" }.into());
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
            Err(ErrorKind::OptimizerParameters { paths }.into())
        }
    }
}

/// Refuses a gradient or a state that a cast or a move of the parameter has left behind.
fn check_like(path: &str, what: &'static str, tensor: &Tensor, value: &Tensor) -> Result<()> {
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
    Err(Error::argument("step", "parameter", path, problem))
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
