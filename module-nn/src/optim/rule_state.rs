//! Saving, loading and printing a [`RuleOptimizer`].

use std::fmt;

use module_core::{Result, Snapshot, Stateful};

use super::config_of::config_of;
use super::{Optimizer, RuleOptimizer, UpdateRule, group_state};

/// The options of each group, including the current learning rates, and the state of each parameter under its path. A state
/// can be loaded by an optimizer with the same groups; one that was saved without groups, by one that has none.
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
            self.check_states(number, &group.options, states.all())?;
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

/// The name of the rule and the learning rate of each group: states are as large as the model.
impl<R: UpdateRule> fmt::Debug for RuleOptimizer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct(R::NAME);
        fields
            .field("group_lrs", &self.group_lrs())
            .finish_non_exhaustive()
    }
}
