//! The optimizer that a rule makes.

use module_core::{Module, Result};

use super::param_groups::find_scales;
use super::range::at_least_0;
use super::rule::UpdateInPlace;
use super::{Optimizer, OptimizerError, ParamGroup, ParamGroups, ParamStates, UpdateRule};

/// An optimizer that moves each parameter by an [`UpdateRule`], with the options of its group.
///
/// [`SGD`](super::SGD) and [`AdamW`](super::AdamW) are such optimizers. [`ParamGroups::build`] makes one.
///
/// # Example
///
/// ```
/// use module_nn::optim::RuleOptimizer;
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let config = SGDConfig::new(0.1).group("bias", |options| SGDConfig { lr: 0.2, ..options });
/// let mut optimizer: RuleOptimizer<SGDConfig> = config.build(&model)?; // This is `SGD`.
/// optimizer.set_lr(0.05)?;
/// assert_eq!(optimizer.group_lrs(), [0.05, 0.1]);
/// optimizer.set_group_lr(1, 0.3)?;
/// assert_eq!(optimizer.groups()[1].options.lr, 0.3);
/// // All options of a group at once, such as after a warm-up.
/// optimizer.set_group_options(0, SGDConfig::new(0.1).momentum(0.9))?;
/// assert_eq!(optimizer.group_momentums(), [Some(0.9), Some(0.0)]);
/// assert!(optimizer.set_group_options(0, SGDConfig::new(-1.0)).is_err());
/// # Ok::<(), Error>(())
/// ```
pub struct RuleOptimizer<R: UpdateRule> {
    pub(super) groups: Vec<ParamGroup<R>>,
    /// The learning rate of each group as a multiple of that of the first.
    pub(super) lr_scales: Vec<f64>,
    /// The learning rate of each group from before the first schedule.
    initial_lrs: Option<Vec<f64>>,
    /// The number of the group of each parameter, in the model's order.
    group_of: Vec<usize>,
    pub(super) states: ParamStates<R::State>,
}

impl<R: UpdateRule> ParamGroups<R> {
    /// An optimizer of all parameters of a model.
    ///
    /// # Errors
    ///
    /// Options and parameters that the rule refuses, and those of [`resolve`](Self::resolve).
    pub fn build(&self, model: &dyn Module) -> Result<RuleOptimizer<R>> {
        for options in self.options() {
            options.check()?;
        }
        let (groups, group_of) = self.resolve_numbered(model)?;
        let states = ParamStates::new(model);
        for ((path, value), &group) in states.values().zip(&group_of) {
            groups[group].options.check_parameter(path, &value)?;
        }
        let mut optimizer = RuleOptimizer {
            group_of,
            lr_scales: vec![1.0; groups.len()],
            initial_lrs: None,
            groups,
            states,
        };
        optimizer.find_lr_scales(0);
        Ok(optimizer)
    }
}

impl<R: UpdateRule> RuleOptimizer<R> {
    /// The parameter groups with their options; the first one holds the parameters that no selection covers.
    pub fn groups(&self) -> &[ParamGroup<R>] {
        &self.groups
    }

    /// Replaces the options of a group.
    ///
    /// # Errors
    ///
    /// A group that does not exist, options that the rule refuses, also because of existing states; then nothing is
    /// changed.
    pub fn set_group_options(&mut self, group: usize, options: R) -> Result<()> {
        options.check()?;
        self.check_states(group, &options, self.states.all())?;
        self.group_mut("set_group_options", group)?.options = options;
        self.find_lr_scales(group);
        Ok(())
    }

    /// The states of the parameters.
    pub fn states(&self) -> &ParamStates<R::State> {
        &self.states
    }

    /// Checks the options of a group against the states of its parameters, out of those of all parameters.
    pub(super) fn check_states<'a>(
        &self,
        group: usize,
        options: &R,
        states: impl Iterator<Item = Option<&'a R::State>>,
    ) -> Result<()>
    where
        R::State: 'a,
    {
        let states = self.group_of.iter().zip(states);
        let own = states.filter(|(number, _)| **number == group);
        let own: Vec<&R::State> = own.filter_map(|(_, state)| state).collect();
        options.check_states(&own)
    }

    fn group_mut(&mut self, op: &'static str, group: usize) -> Result<&mut ParamGroup<R>> {
        let groups = self.groups.len();
        let found = self.groups.get_mut(group);
        found.ok_or_else(|| OptimizerError::NoGroup { op, group, groups }.into())
    }

    /// Computes the ratio of a group's learning rate to that of the first group, or those of all groups. There is no ratio
    /// to a rate of 0; the ratio then stays the same.
    fn find_lr_scales(&mut self, changed: usize) {
        let lrs = self.group_lrs();
        find_scales(&lrs, &mut self.lr_scales, changed);
    }
}

impl<R: UpdateRule> Optimizer for RuleOptimizer<R> {
    fn step(&mut self, model: &dyn Module) -> Result<()> {
        let (groups, group_of) = (&self.groups, &self.group_of);
        self.states
            .step_each(model, |info, parameter, grad, state| {
                let number = group_of.get(info.index);
                let Some(group) = number.and_then(|&number| groups.get(number)) else {
                    let paths = vec![info.path.to_owned()];
                    return Err(OptimizerError::Parameters { paths }.into());
                };
                let options = &group.options;
                match R::update_in_place() {
                    Some(UpdateInPlace(update)) => {
                        parameter.update_in_place(|value| update(options, value, grad, state))
                    }
                    None => parameter.set(options.update(&parameter.detach(), grad, state)?),
                }
            })
    }

    fn is_elementwise(&self) -> bool {
        let mut groups = self.groups.iter();
        groups.all(|group| group.options.is_elementwise())
    }

    fn lr(&self) -> f64 {
        let first = self.groups.first();
        first.map_or(f64::NAN, |group| group.options.lr())
    }

    fn set_lr(&mut self, lr: f64) -> Result<()> {
        for scale in &self.lr_scales {
            at_least_0(R::NAME, "lr", lr * scale)?;
        }
        for (group, scale) in self.groups.iter_mut().zip(&self.lr_scales) {
            group.options.set_lr(lr * scale);
        }
        Ok(())
    }

    fn group_lrs(&self) -> Vec<f64> {
        // A loop rather than an iterator, because it is compiled for each rule.
        let mut lrs = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            lrs.push(group.options.lr());
        }
        lrs
    }

    fn set_group_lr(&mut self, group: usize, lr: f64) -> Result<()> {
        let found = self.group_mut("set_group_lr", group)?;
        at_least_0(R::NAME, "lr", lr)?;
        found.options.set_lr(lr);
        self.find_lr_scales(group);
        Ok(())
    }

    fn initial_lrs(&self) -> Option<Vec<f64>> {
        self.initial_lrs.clone()
    }

    fn set_initial_lrs(&mut self, lrs: &[f64]) {
        self.initial_lrs = Some(lrs.to_vec());
    }

    fn group_momentums(&self) -> Vec<Option<f64>> {
        let mut momentums = Vec::with_capacity(self.groups.len());
        for group in &self.groups {
            momentums.push(group.options.momentum());
        }
        momentums
    }

    fn set_group_momentum(&mut self, group: usize, momentum: f64) -> Result<()> {
        let op = "set_group_momentum";
        let found = self.group_mut(op, group)?;
        if found.options.momentum().is_none() {
            return Err(OptimizerError::NoMomentum { op, group }.into());
        }
        let mut options = found.options.clone();
        options.set_momentum(momentum);
        options.check()?;
        found.options = options;
        Ok(())
    }
}
