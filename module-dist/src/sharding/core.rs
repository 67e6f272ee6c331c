//! The state that hooks and the methods of a sharded model share: the units that compute, and the gradients that a
//! backward pass has reduced.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use module_nn::{Result, Tensor, no_grad};

use super::group::{Group, lock};
use super::member::{Member, MemberPass};
use super::order::{Order, Phase};
use super::{ShardingError, ShardingStage};
use crate::{Comm, ReduceOp};

/// A module whose parameters are gathered while it computes.
pub(super) struct Unit {
    pub(super) path: String,
    /// Its groups, by number.
    pub(super) groups: Vec<usize>,
    pub(super) backward: Mutex<UnitPass>,
}

/// A unit in a backward pass.
#[derive(Default)]
pub(super) struct UnitPass {
    /// Whether it holds its values.
    holds: bool,
    /// Calls whose outputs a gradient has reached, and whose inputs none has.
    open: usize,
}

pub(super) struct Core {
    pub(super) comm: Arc<dyn Comm>,
    pub(super) stage: ShardingStage,
    pub(super) groups: Vec<Group>,
    pub(super) units: Vec<Unit>,
    /// Whether the unit that follows is gathered while one computes.
    pub(super) prefetches: AtomicBool,
    order: Mutex<Order>,
    pass: Mutex<Pass>,
}

/// The backward pass.
#[derive(Default)]
struct Pass {
    running: bool,
    /// Which groups have all the gradients that are computed here.
    complete: Vec<bool>,
    /// How many groups are reduced, counted from the last.
    reduced: usize,
}

impl Core {
    pub(super) fn new(
        comm: Arc<dyn Comm>,
        stage: ShardingStage,
        groups: Vec<Group>,
        units: Vec<Unit>,
    ) -> Self {
        Self {
            comm,
            stage,
            groups,
            units,
            prefetches: AtomicBool::new(true),
            order: Mutex::default(),
            pass: Mutex::default(),
        }
    }

    fn unit(&self, unit: usize) -> impl Iterator<Item = &Group> {
        let groups = self.units.get(unit).map(|unit| unit.groups.as_slice());
        let groups = groups.unwrap_or_default().iter();
        groups.filter_map(|&group| self.groups.get(group))
    }

    /// A unit is about to be called.
    pub(super) fn begin_forward(&self, unit: usize) -> Result<()> {
        let phase = match lock(&self.pass).running {
            true => Phase::Recomputation,
            false => Phase::Forward,
        };
        self.acquire(unit, phase)
    }

    /// A unit is about to compute. If it did before, the one that followed it then is gathered meanwhile.
    fn acquire(&self, unit: usize, phase: Phase) -> Result<()> {
        no_grad(|| {
            self.unit(unit).try_for_each(Group::acquire)?;
            let next = lock(&self.order).begin(phase, unit);
            match next.filter(|_| self.prefetches.load(Ordering::Relaxed)) {
                Some(next) => self.unit(next).try_for_each(Group::gather_ahead),
                None => Ok(()),
            }
        })
    }

    /// A pass through the units has ended: what was gathered ahead is not needed.
    fn end_order(&self) {
        lock(&self.order).end();
        self.groups.iter().for_each(Group::drop_ahead);
    }

    /// A unit has computed.
    pub(super) fn release(&self, unit: usize) {
        self.unit(unit).for_each(Group::release);
    }

    /// A gradient has reached the outputs of a call of a unit.
    pub(super) fn begin_backward(&self, unit: usize) -> Result<()> {
        let Some(own) = self.units.get(unit) else {
            return Ok(());
        };
        if !lock(&self.pass).running {
            let (rank, path) = (self.comm.rank(), own.path.clone());
            return Err(ShardingError::OutsideBackward { rank, path }.into());
        }
        let held = {
            let mut pass = lock(&own.backward);
            pass.open += 1;
            std::mem::replace(&mut pass.holds, true)
        };
        match held {
            true => Ok(()),
            false => self.acquire(unit, Phase::Backward),
        }
    }

    /// The gradients of the inputs of a call of a unit are computed, or none is.
    pub(super) fn end_backward(&self, unit: usize) {
        if let Some(own) = self.units.get(unit) {
            let mut pass = lock(&own.backward);
            pass.open = pass.open.saturating_sub(1);
        }
        self.release_if_done(unit);
    }

    /// Releases a unit that no operation of this pass needs any more: each one that uses a parameter leads to a gradient of
    /// the unit's inputs or of one of its trained parameters.
    fn release_if_done(&self, unit: usize) {
        let Some(own) = self.units.get(unit) else {
            return;
        };
        let complete = {
            let pass = lock(&self.pass);
            let is_complete = |&group: &usize| pass.complete.get(group) == Some(&true);
            own.groups.iter().all(is_complete)
        };
        let mut state = lock(&own.backward);
        if state.holds && state.open == 0 && complete {
            state.holds = false;
            drop(state);
            self.release(unit);
        }
    }

    /// The gradient of a parameter is complete on this rank.
    pub(super) fn add_grad(&self, group: usize, member: usize) -> Result<()> {
        let Some(own) = self.groups.get(group) else {
            return Ok(());
        };
        let Some(parameter) = own.members.get(member) else {
            return Ok(());
        };
        if !lock(&self.pass).running {
            let (rank, path) = (self.comm.rank(), parameter.path.clone());
            return Err(ShardingError::OutsideBackward { rank, path }.into());
        }
        lock(&parameter.pass).has_grad = true;
        if !own.has_all_grads() {
            return Ok(());
        }
        if let Some(complete) = lock(&self.pass).complete.get_mut(group) {
            *complete = true;
        }
        own.units
            .iter()
            .for_each(|&unit| self.release_if_done(unit));
        self.reduce_complete()
    }

    /// Reduces the groups whose turn it is: all ranks do it in the same order, from the last group to the first.
    fn reduce_complete(&self) -> Result<()> {
        loop {
            let next = {
                let pass = lock(&self.pass);
                let next = self.groups.len().checked_sub(pass.reduced + 1);
                next.filter(|&next| pass.complete.get(next) == Some(&true))
            };
            let Some(next) = next else { return Ok(()) };
            self.reduce(next)?;
        }
    }

    fn reduce(&self, group: usize) -> Result<()> {
        lock(&self.pass).reduced += 1;
        let Some(group) = self.groups.get(group) else {
            return Ok(());
        };
        if !group.members.iter().any(|member| member.is_trained()) {
            return Ok(());
        }
        no_grad(|| {
            if self.stage == ShardingStage::OptimizerState {
                for (member, grad) in group.members.iter().zip(group.all_reduce_grads()?) {
                    let mut pass = lock(&member.pass);
                    match pass.has_grad {
                        true => member.parameter.set_grad(grad)?,
                        false => pass.reduced = Some(grad),
                    }
                }
                return Ok(());
            }
            for (member, grad) in group.members.iter().zip(group.reduce_scatter_grads()?) {
                lock(&member.pass).reduced = Some(grad);
            }
            Ok(())
        })
    }

    /// Begins a backward pass.
    pub(super) fn begin_pass(&self) {
        self.end_order();
        for member in self.groups.iter().flat_map(|group| &group.members) {
            *lock(&member.pass) = MemberPass::default();
        }
        let complete = self.groups.iter().map(Group::has_all_grads).collect();
        *lock(&self.pass) = Pass {
            running: true,
            complete,
            reduced: 0,
        };
    }

    /// Ends a backward pass that has succeeded: reduces what is left, and keeps the gradients of all parameters that have
    /// one on some rank.
    pub(super) fn end_pass(&self) -> Result<()> {
        self.stop_pass();
        while let Some(next) = {
            let reduced = lock(&self.pass).reduced;
            self.groups.len().checked_sub(reduced + 1)
        } {
            self.reduce(next)?;
        }
        let members = || self.groups.iter().flat_map(|group| &group.members);
        let flags = members().map(|member| u8::from(lock(&member.pass).has_grad));
        let flags = Tensor::from(flags.collect::<Vec<_>>());
        let flags = self
            .comm
            .all_reduce(&flags, ReduceOp::Max)?
            .to_vec::<u8>()?;
        for (member, flag) in members().zip(flags) {
            let Some(reduced) = lock(&member.pass).reduced.take() else {
                continue;
            };
            if flag == 0 {
                continue;
            }
            if self.stage == ShardingStage::OptimizerState {
                member.parameter.set_grad(reduced)?;
                continue;
            }
            let sum = match member.shard.grad() {
                Some(before) => no_grad(|| before.add(&reduced))?,
                None => reduced,
            };
            member.shard.set_grad(sum)?;
        }
        Ok(())
    }

    /// Ends a backward pass on this rank alone.
    pub(super) fn stop_pass(&self) {
        lock(&self.pass).running = false;
        self.end_order();
        for (number, unit) in self.units.iter().enumerate() {
            let pass = std::mem::take(&mut *lock(&unit.backward));
            if pass.holds {
                self.release(number);
            }
        }
    }
}

impl Group {
    /// Whether every trained parameter has its gradient of this pass.
    fn has_all_grads(&self) -> bool {
        let has_grad = |member: &&Member| lock(&member.pass).has_grad;
        let mut trained = self.members.iter().filter(|member| member.is_trained());
        trained.all(|member| has_grad(&member))
    }
}
