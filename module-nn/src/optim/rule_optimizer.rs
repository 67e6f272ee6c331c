//! The optimizer of a rule as an [`Optimizer`].

use module_core::{Module, Result};

use super::range::at_least_0;
use super::rule::{RuleOptimizer, UpdateInPlace};
use super::{Optimizer, OptimizerError, UpdateRule};

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
