use std::collections::HashSet;

use indexmap::IndexMap;
use module_core::{
    Error, ErrorKind, Module, ModuleExt, Parameter, Result, Tensor, TensorId, no_grad,
};

/// The parameters that an optimiser was built with, by path, and what it remembers of each.
pub(super) struct Known<S> {
    parameters: IndexMap<String, (TensorId, Option<S>)>,
}

impl<S> Known<S> {
    pub(super) fn new(model: &dyn Module) -> Self {
        let parameters = model.named_parameters();
        Self {
            parameters: parameters.map(|(path, p)| (path, (p.id(), None))).collect(),
        }
    }

    /// Checks the model, then gives every parameter with a gradient the value that `update` makes
    /// of its value, its gradient and its state.
    pub(super) fn step(
        &mut self,
        model: &dyn Module,
        update: impl Fn(Tensor, Tensor, &mut Option<S>) -> Result<Tensor>,
    ) -> Result<()> {
        let parameters: Vec<(String, &Parameter)> = model.named_parameters().collect();
        self.check(&parameters)?;
        if parameters
            .iter()
            .all(|(_, parameter)| parameter.grad().is_none())
        {
            return Err(ErrorKind::NoGradients { op: "step" }.into());
        }
        for (path, parameter) in parameters {
            let Some((_, state)) = self.parameters.get_mut(&path) else {
                continue;
            };
            if !parameter.requires_grad() {
                *state = None;
            } else if let Some(grad) = parameter.grad() {
                parameter.set(no_grad(|| {
                    update(parameter.detach(), grad.detach(), state)
                })?)?;
            }
        }
        Ok(())
    }

    /// The model's parameters must be the known ones, each under its path.
    fn check(&self, parameters: &[(String, &Parameter)]) -> Result<()> {
        let is_known =
            |path: &str, id| matches!(self.parameters.get(path), Some((known, _)) if *known == id);
        let strange = parameters
            .iter()
            .filter(|(path, p)| !is_known(path, p.id()));
        let mut paths: Vec<String> = strange.map(|(path, _)| path.clone()).collect();
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
