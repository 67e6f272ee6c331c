use std::collections::HashMap;

use module_core::module::TensorId;
use module_core::{Error, Module, ModuleError, ModuleExt, Parameter, Result, Select, Walk};

use super::OptimizerError;

/// Options of an optimizer, with different ones for groups of parameters: PyTorch's `param_groups`.
///
/// A parameter that no group selects is in the first group, number 0, which has the default options.
///
/// # Example
///
/// ```
/// use module_nn::optim::{ParamGroup, ParamGroups};
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let config = AdamWConfig::new(1e-3).group("**.bias", |options| options.weight_decay(0.0));
/// let optimizer = config.build(&model)?;
/// assert_eq!(optimizer.groups()[0].parameters, ["weight"]);
/// assert_eq!(optimizer.groups()[1].parameters, ["bias"]);
/// assert_eq!(optimizer.groups()[1].options.weight_decay, 0.0);
///
/// // Groups before there is an optimizer.
/// let groups: ParamGroups<AdamWConfig> = config;
/// let resolved: Vec<ParamGroup<AdamWConfig>> = groups.resolve(&model)?;
/// assert_eq!((groups.options().count(), resolved[1].parameters.len()), (2, 1));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ParamGroups<O> {
    /// The options of each group, the default ones first.
    options: Vec<O>,
    /// The parameters of each group except the first.
    selections: Vec<Select>,
}

/// A group of parameters, and its optimizer options.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamGroup<O> {
    /// The options.
    pub options: O,
    /// The paths of the parameters, in the model's order.
    pub parameters: Vec<String>,
}

impl<O> ParamGroups<O> {
    /// The same options for all parameters.
    pub fn new(default: O) -> Self {
        Self {
            options: vec![default],
            selections: Vec::new(),
        }
    }

    /// The options of each group, the default ones first.
    pub fn options(&self) -> impl Iterator<Item = &O> {
        self.options.iter()
    }
}

impl<O: Clone> ParamGroups<O> {
    /// Adds a group: the parameters that `select` covers, with the default options modified by `change`.
    #[must_use]
    pub fn group(mut self, select: impl Into<Select>, change: impl FnOnce(O) -> O) -> Self {
        self.options.push(change(self.options[0].clone()));
        self.selections.push(select.into());
        self
    }

    /// The groups of a model's parameters, each parameter in exactly one. A tied parameter is selected under any of its
    /// names.
    ///
    /// # Errors
    ///
    /// A malformed pattern; [`OptimizerError`]: a selection that selects nothing, a parameter selected by two groups.
    pub fn resolve(&self, model: &dyn Module) -> Result<Vec<ParamGroup<O>>> {
        Ok(self.resolve_numbered(model)?.0)
    }

    /// The same, and the number of the group of each parameter, in the model's order.
    pub(super) fn resolve_numbered(
        &self,
        model: &dyn Module,
    ) -> Result<(Vec<ParamGroup<O>>, Vec<usize>)> {
        let (mut paths, numbers) = group_paths(&self.selections, model)?;
        let mut groups = Vec::with_capacity(self.options.len());
        for (options, parameters) in self.options.iter().zip(&mut paths) {
            groups.push(ParamGroup {
                options: options.clone(),
                parameters: std::mem::take(parameters),
            });
        }
        Ok((groups, numbers))
    }
}

/// The paths of each group, the default one first, and the number of the group of each parameter, in the model's order.
fn group_paths(
    selections: &[Select],
    model: &dyn Module,
) -> Result<(Vec<Vec<String>>, Vec<usize>)> {
    let numbers = group_numbers(selections, model)?;
    let mut paths = vec![Vec::new(); selections.len() + 1];
    for ((path, _), &number) in model.named_parameters().zip(&numbers) {
        paths[number].push(path);
    }
    Ok((paths, numbers))
}

/// The number of the group of each parameter, in the model's order.
fn group_numbers(selections: &[Select], model: &dyn Module) -> Result<Vec<usize>> {
    let every_name = Walk::new().remove_duplicate(false);
    let named: Vec<(String, TensorId)> = model
        .named_parameters_with(every_name)
        .map(|(path, parameter)| (path, parameter.id()))
        .collect();
    // The number of the selection that covers a parameter, counted from 0.
    let mut taken: HashMap<TensorId, usize> = HashMap::new();
    for (number, select) in selections.iter().enumerate() {
        let selected = select.resolve(named.iter().map(|(path, _)| path.as_str()));
        selected.map_err(empty_group_error)?;
        let mut twice: Vec<(usize, &String)> = Vec::new();
        for (path, id) in named.iter().filter(|(path, _)| select.covers(path)) {
            let before = *taken.entry(*id).or_insert(number);
            if before != number {
                twice.push((before, path));
            }
        }
        if let Some((before, _)) = twice.first().copied() {
            twice.retain(|(other, _)| *other == before);
            let first = selections.get(before).map(ToString::to_string);
            return Err(OptimizerError::TwoGroups {
                paths: twice.into_iter().map(|(_, path)| path.clone()).collect(),
                selections: [first.unwrap_or_default(), select.to_string()],
            }
            .into());
        }
    }
    let number_of = |(_, parameter): (String, &Parameter)| {
        let number = taken.get(&parameter.id());
        number.map_or(0, |number| number + 1)
    };
    Ok(model.named_parameters().map(number_of).collect())
}

/// Each rate as a multiple of the first: that of one group, or those of all groups if the first changed.
pub(super) fn find_scales(lrs: &[f64], scales: &mut [f64], changed: usize) {
    let Some((&first, others)) = lrs.split_first() else {
        return;
    };
    for (number, (lr, scale)) in (1..).zip(others.iter().zip(scales.iter_mut().skip(1))) {
        if first != 0.0 && (changed == 0 || changed == number) {
            *scale = lr / first;
        }
    }
}

/// The error for a group that selects nothing.
fn empty_group_error(error: Error) -> Error {
    match error.downcast_ref() {
        Some(ModuleError::NothingSelected {
            selection,
            suggestion,
            ..
        }) => OptimizerError::EmptyGroup {
            selection: selection.clone(),
            suggestion: suggestion.clone(),
        }
        .into(),
        _ => error,
    }
}
