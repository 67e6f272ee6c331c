use std::collections::HashMap;

use module_core::module::TensorId;
use module_core::{Error, Module, ModuleError, ModuleExt, Result, Select, Walk};

use super::OptimizerError;

/// Options of an optimizer, with others for groups of parameters: PyTorch's `param_groups`.
///
/// A parameter that no group selects is in the first group, number 0, which has the default options.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let config = AdamWConfig::new(1e-3).group("**.bias", |options| options.weight_decay(0.0));
/// let optimizer = config.build(&model)?;
/// assert_eq!(optimizer.groups()[0].parameters, ["weight"]);
/// assert_eq!(optimizer.groups()[1].parameters, ["bias"]);
/// assert_eq!(optimizer.groups()[1].options.weight_decay, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ParamGroups<O> {
    default: O,
    groups: Vec<(Select, O)>,
}

/// A group of parameters, and the options of an optimizer that hold for them.
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
        let groups = Vec::new();
        Self { default, groups }
    }

    /// The options of each group, the default ones first.
    pub fn options(&self) -> impl Iterator<Item = &O> {
        let groups = self.groups.iter().map(|(_, options)| options);
        std::iter::once(&self.default).chain(groups)
    }
}

impl<O: Clone> ParamGroups<O> {
    /// One more group: the parameters that `select` covers, with the options that `change` makes of the
    /// default ones.
    #[must_use]
    pub fn group(mut self, select: impl Into<Select>, change: impl FnOnce(O) -> O) -> Self {
        let options = change(self.default.clone());
        self.groups.push((select.into(), options));
        self
    }

    /// The groups of a model's parameters, each parameter in exactly one. A tied parameter is selected under any of its
    /// names.
    ///
    /// # Errors
    ///
    /// A malformed pattern; [`OptimizerError`]: a selection that selects nothing, a parameter that two groups
    /// select.
    pub fn resolve(&self, model: &dyn Module) -> Result<Vec<ParamGroup<O>>> {
        let every_name = Walk::new().remove_duplicate(false);
        let named: Vec<(String, TensorId)> = model
            .named_parameters_with(every_name)
            .map(|(path, parameter)| (path, parameter.id()))
            .collect();
        // The number of the group that selects a parameter, counted from 0.
        let mut taken: HashMap<TensorId, usize> = HashMap::new();
        for (number, (select, _)) in self.groups.iter().enumerate() {
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
                let first = self.groups.get(before).map(|(first, _)| first.to_string());
                return Err(OptimizerError::TwoGroups {
                    paths: twice.into_iter().map(|(_, path)| path.clone()).collect(),
                    selections: [first.unwrap_or_default(), select.to_string()],
                }
                .into());
            }
        }
        let of = |options: &O| ParamGroup {
            options: options.clone(),
            parameters: Vec::new(),
        };
        let mut groups: Vec<ParamGroup<O>> = self.options().map(of).collect();
        for (path, parameter) in model.named_parameters() {
            let group = taken.get(&parameter.id()).map_or(0, |number| number + 1);
            if let Some(group) = groups.get_mut(group) {
                group.parameters.push(path);
            }
        }
        Ok(groups)
    }
}

/// The error of a group that selects nothing.
fn empty_group_error(error: Error) -> Error {
    match error.downcast_ref() {
        Some(ModuleError::NothingSelected {
            selection,
            suggestion,
        }) => OptimizerError::EmptyGroup {
            selection: selection.clone(),
            suggestion: suggestion.clone(),
        }
        .into(),
        _ => error,
    }
}
