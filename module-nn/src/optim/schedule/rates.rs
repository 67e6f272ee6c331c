//! Reading and setting the learning rates and momentums of all groups at once.

use module_core::{Error, Result};

use crate::optim::{Optimizer, OptimizerError};

/// The learning rate and the momentum of each group, for restoring them after a failure.
pub(super) struct Rates {
    lrs: Vec<f64>,
    momentums: Vec<Option<f64>>,
}

impl Rates {
    pub(super) fn of(optimizer: &dyn Optimizer) -> Self {
        Self {
            lrs: optimizer.group_lrs(),
            momentums: optimizer.group_momentums(),
        }
    }

    /// Restores them. They were valid before, so no group refuses them.
    pub(super) fn restore(&self, optimizer: &mut dyn Optimizer) {
        let _taken_before = set_lrs(optimizer, &self.lrs);
        let _taken_before = set_momentums(optimizer, &self.momentums);
    }
}

/// Sets the learning rate of each group.
pub(super) fn set_lrs(optimizer: &mut dyn Optimizer, lrs: &[f64]) -> Result<()> {
    let mut groups = lrs.iter().enumerate();
    groups.try_for_each(|(group, &lr)| optimizer.set_group_lr(group, lr))
}

/// Sets the momentum of each group that gets one.
fn set_momentums(optimizer: &mut dyn Optimizer, momentums: &[Option<f64>]) -> Result<()> {
    let mut groups = momentums.iter().enumerate();
    groups.try_for_each(|(group, momentum)| match momentum {
        Some(momentum) => optimizer.set_group_momentum(group, *momentum),
        None => Ok(()),
    })
}

/// Sets both, or nothing.
pub(super) fn set(
    optimizer: &mut dyn Optimizer,
    lrs: &[f64],
    momentums: &[Option<f64>],
) -> Result<()> {
    let before = Rates::of(optimizer);
    let done = set_lrs(optimizer, lrs).and_then(|()| set_momentums(optimizer, momentums));
    if done.is_err() {
        before.restore(optimizer);
    }
    done
}

/// The learning rate from a formula, if an optimizer can have it.
///
/// Rounding gives −1e-18 where a formula should reach 0. That is treated as 0: no optimizer accepts less.
pub(super) fn check_lr(schedule: &'static str, lr: f64, base_lr: f64) -> Result<f64> {
    if lr >= 0.0 && lr.is_finite() {
        return Ok(lr);
    }
    if lr < 0.0 && -lr <= 1e-14 * base_lr {
        return Ok(0.0);
    }
    let problem =
        "the schedule has come to this learning rate, which must be finite and at least 0";
    Err(Error::argument(schedule, "lr", lr, problem))
}

/// Refuses an optimizer whose number of groups differs from the one that a schedule was built for.
pub(super) fn check_groups(
    schedule: &'static str,
    expected: usize,
    optimizer: &dyn Optimizer,
) -> Result<()> {
    let groups = optimizer.group_lrs().len();
    if groups == expected {
        return Ok(());
    }
    let error = OptimizerError::Groups {
        schedule,
        expected,
        groups,
    };
    Err(error.into())
}

/// Refuses an optimizer with a group without momentum.
pub(super) fn check_momentums(schedule: &'static str, optimizer: &dyn Optimizer) -> Result<()> {
    let momentums = optimizer.group_momentums();
    match momentums.iter().position(Option::is_none) {
        Some(group) => Err(OptimizerError::NoMomentum {
            op: schedule,
            group,
        }
        .into()),
        None => Ok(()),
    }
}
