use std::collections::HashMap;

use module_core::{Module, Result, Snapshot, Stateful};

use super::config_of::config_of;
use super::{
    Optimizer, OptimizerError, ParamGroup, ParamGroups, ParamStates, UpdateRule, group_state,
};

/// The optimizer that moves each parameter by an [`UpdateRule`], with the options of its group.
///
/// [`SGD`](super::SGD) and [`AdamW`](super::AdamW) are such optimizers. [`ParamGroups::build`] makes one.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let config = SGDConfig::new(0.1).group("bias", |options| SGDConfig { lr: 0.2, ..options });
/// let mut optimizer = config.build(&model)?;
/// optimizer.set_lr(0.05);
/// assert_eq!(optimizer.group_lrs(), [0.05, 0.1]);
/// optimizer.set_group_lr(1, 0.3)?;
/// assert_eq!(optimizer.groups()[1].options.lr, 0.3);
/// # Ok::<(), Error>(())
/// ```
pub struct RuleOptimizer<R: UpdateRule> {
    groups: Vec<ParamGroup<R>>,
    /// The learning rate of each group as a multiple of that of the first.
    lr_scales: Vec<f64>,
    /// The number of the group of each parameter, in the model's order.
    group_of: Vec<usize>,
    states: ParamStates<R::State>,
}

impl<R: UpdateRule> ParamGroups<R> {
    /// An optimizer of all parameters of a model.
    ///
    /// # Errors
    ///
    /// Options that the rule refuses, and as [`resolve`](Self::resolve).
    pub fn build(&self, model: &dyn Module) -> Result<RuleOptimizer<R>> {
        self.options().try_for_each(R::check)?;
        let groups = self.resolve(model)?;
        let states = ParamStates::new(model);
        let numbered = groups.iter().enumerate();
        let paths = numbered.flat_map(|(number, group)| {
            let paths = group.parameters.iter();
            paths.map(move |path| (path.as_str(), number))
        });
        let number: HashMap<&str, usize> = paths.collect();
        let group_of = states.paths().map(|path| number.get(path).copied());
        let mut optimizer = RuleOptimizer {
            group_of: group_of.map(Option::unwrap_or_default).collect(),
            lr_scales: vec![1.0; groups.len()],
            groups,
            states,
        };
        optimizer.find_lr_scales(0);
        Ok(optimizer)
    }
}

impl<R: UpdateRule> RuleOptimizer<R> {
    /// The groups of parameters with their options; the first has those that no selection was given for.
    pub fn groups(&self) -> &[ParamGroup<R>] {
        &self.groups
    }

    /// Replaces the options of a group.
    ///
    /// # Errors
    ///
    /// A group that there is not, options that the rule refuses, also because of the states that there are; then
    /// nothing is changed.
    pub fn set_group_options(&mut self, group: usize, options: R) -> Result<()> {
        options.check()?;
        options.check_states(&of_group(&self.group_of, group, self.states.all()))?;
        self.group_mut("set_group_options", group)?.options = options;
        self.find_lr_scales(group);
        Ok(())
    }

    /// The states of the parameters.
    pub fn states(&self) -> &ParamStates<R::State> {
        &self.states
    }

    fn group_mut(&mut self, op: &'static str, group: usize) -> Result<&mut ParamGroup<R>> {
        let groups = self.groups.len();
        let found = self.groups.get_mut(group);
        found.ok_or_else(|| OptimizerError::NoGroup { op, group, groups }.into())
    }

    /// Finds the proportion of a group's learning rate to that of the first group, or those of all groups to
    /// the first. To a rate of 0 there is none, and the proportion stays as it was.
    fn find_lr_scales(&mut self, changed: usize) {
        let first = self.lr();
        let groups = self.groups.iter().zip(&mut self.lr_scales).enumerate();
        for (number, (group, scale)) in groups.skip(1) {
            if first != 0.0 && (changed == 0 || changed == number) {
                *scale = group.options.lr() / first;
            }
        }
    }
}

/// The states of the parameters of one group, of those of all parameters.
fn of_group<'a, S: 'a>(
    group_of: &[usize],
    group: usize,
    states: impl Iterator<Item = Option<&'a S>>,
) -> Vec<&'a S> {
    let states = group_of.iter().zip(states);
    let own = states.filter(|(number, _)| **number == group);
    own.filter_map(|(_, state)| state).collect()
}

impl<R: UpdateRule> Optimizer for RuleOptimizer<R> {
    fn step(&mut self, model: &dyn Module) -> Result<()> {
        let (groups, group_of) = (&self.groups, &self.group_of);
        self.states.step(model, |parameter, value, grad, state| {
            let number = group_of.get(parameter.index);
            match number.and_then(|&number| groups.get(number)) {
                Some(group) => group.options.update(value, grad, state),
                None => {
                    let paths = vec![parameter.path.to_owned()];
                    Err(OptimizerError::Parameters { paths }.into())
                }
            }
        })
    }

    fn lr(&self) -> f64 {
        let first = self.groups.first();
        first.map_or(f64::NAN, |group| group.options.lr())
    }

    fn set_lr(&mut self, lr: f64) {
        for (group, scale) in self.groups.iter_mut().zip(&self.lr_scales) {
            group.options.set_lr(lr * scale);
        }
    }

    fn group_lrs(&self) -> Vec<f64> {
        let groups = self.groups.iter();
        groups.map(|group| group.options.lr()).collect()
    }

    fn set_group_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        let found = self.group_mut("set_group_lr", group)?;
        found.options.set_lr(lr);
        self.find_lr_scales(group);
        Ok(())
    }
}

/// The options of each group, the learning rates of the moment in them, and the state of each parameter under
/// its path. A state is loaded by an optimizer with the same groups; one that was saved without groups by one
/// that has none.
impl<R: UpdateRule> Stateful for RuleOptimizer<R> {
    fn state(&self) -> Result<Snapshot> {
        let snapshot = self.states.state()?.with("optimizer", &R::NAME)?;
        group_state::with_groups(snapshot, &self.groups, &self.lr_scales)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        group_state::with_options(Snapshot::default(), &self.groups)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let config = config_of(R::NAME, state)?;
        let states = self.states.read(state)?;
        let saved = group_state::read(state, config, &self.groups)?;
        for (number, group) in saved.iter().enumerate() {
            let Some(group) = group else { continue };
            group.options.check()?;
            let states = of_group(&self.group_of, number, states.all());
            group.options.check_states(&states)?;
        }
        let groups = self.groups.iter_mut().zip(&mut self.lr_scales);
        for ((group, scale), saved) in groups.zip(saved) {
            if let Some(saved) = saved {
                (group.options, *scale) = (saved.options, saved.lr_scale);
            }
        }
        self.states.set(states);
        Ok(())
    }
}
