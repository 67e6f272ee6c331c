use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use module_nn::ReleasableMemory;
use module_nn::prelude::*;

use super::division::Division;
use super::group::lock;
use super::{ShardingError, ShardingStage};
use crate::Comm;

/// A parameter and this rank's part of it.
pub(super) struct Member {
    /// Its first path.
    pub(super) path: String,
    pub(super) parameter: Parameter,
    pub(super) division: Division,
    pub(super) shard: Parameter,
    /// How often the parameter had been frozen when the part was told.
    pub(super) freezes: AtomicU64,
    /// Where the whole value is while it is gathered, if parameters are divided.
    pub(super) memory: Mutex<Option<ReleasableMemory>>,
    /// What this pass has brought: whether a gradient was computed here, and what the ranks' gradients were reduced to.
    pub(super) pass: Mutex<MemberPass>,
}

#[derive(Default)]
pub(super) struct MemberPass {
    pub(super) has_grad: bool,
    pub(super) reduced: Option<Tensor>,
}

impl Member {
    /// Divides a parameter, one at a time, so that no more than one is in memory twice.
    pub(super) fn new(
        path: String,
        parameter: &Parameter,
        stage: ShardingStage,
        comm: &dyn Comm,
    ) -> Result<Self> {
        let value = parameter.detach();
        let division = Division::of(&value, comm.size());
        // A deferred parameter gets its values by loading.
        let part = match value.has_values() {
            true => {
                let shared = comm.broadcast(&value, 0)?;
                parameter.set(shared.clone())?;
                division.part(&shared, comm.rank())?
            }
            false => division.absent_part()?,
        };
        let member = Self {
            shard: Parameter::new(part)?,
            parameter: parameter.share(),
            freezes: AtomicU64::new(parameter.freezes()),
            division,
            path,
            memory: Mutex::default(),
            pass: Mutex::default(),
        };
        match stage {
            ShardingStage::Parameters => member.release_value()?,
            ShardingStage::OptimizerState | ShardingStage::Gradients => member.drop_shard(stage)?,
        }
        member.share_training();
        Ok(member)
    }

    /// A tensor of the parameter's shape whose memory is released, in place of its value.
    pub(super) fn release_value(&self) -> Result<()> {
        let Division {
            shape,
            dtype,
            device,
            ..
        } = &self.division;
        let memory = ReleasableMemory::new(shape, (*dtype, device))?;
        self.parameter.set(memory.tensor())?;
        *lock(&self.memory) = Some(memory);
        Ok(())
    }

    /// Whether the parameter has the value that it was given here.
    pub(super) fn has_own_value(&self) -> bool {
        let value = self.parameter.detach();
        let memory = lock(&self.memory);
        memory
            .as_ref()
            .is_none_or(|memory| memory.tensor().shares_memory_with(&value))
    }

    /// Whether a gradient is computed for it.
    pub(super) fn is_trained(&self) -> bool {
        self.parameter.requires_grad()
    }

    pub(super) fn check_value(&self, rank: usize) -> Result<()> {
        if self.has_own_value() {
            return Ok(());
        }
        let parameter = self.path.clone();
        Err(ShardingError::Replaced { rank, parameter }.into())
    }

    pub(super) fn grad_or_zeros(&self) -> Result<Tensor> {
        match self.parameter.grad() {
            Some(grad) => Ok(grad.detach()),
            None => {
                let Division { dtype, device, .. } = &self.division;
                Tensor::zeros(&self.division.shape, (*dtype, device))
            }
        }
    }

    /// Refuses a parameter that was cast or moved.
    pub(super) fn check(&self, rank: usize) -> Result<()> {
        let describe =
            |dtype: DType, shape: &Shape, device: Device| format!("{dtype} {shape} on {device}");
        let Division {
            dtype,
            shape,
            device,
            ..
        } = &self.division;
        let before = describe(*dtype, shape, *device);
        let (parameter, own) = (self.path.clone(), &self.parameter);
        let now = describe(own.dtype(), &own.shape(), own.device());
        match now == before {
            true => Ok(()),
            false => Err(ShardingError::Converted {
                rank,
                parameter,
                now,
                before,
            }
            .into()),
        }
    }

    /// Pauses, freezes or resumes the training of the part like that of the parameter.
    fn share_training(&self) {
        let freezes = self.parameter.freezes();
        let known = self.freezes.swap(freezes, Ordering::Relaxed);
        if known != freezes || (self.parameter.is_frozen() && !self.shard.is_frozen()) {
            self.shard.freeze();
        }
        if !self.parameter.is_frozen() {
            self.shard.set_requires_grad(self.parameter.requires_grad());
        }
    }

    /// Gives the part what a step needs: whether it is trained, and its value and gradient if the model has them.
    pub(super) fn prepare(&self, stage: ShardingStage, rank: usize) -> Result<()> {
        self.share_training();
        if stage < ShardingStage::Parameters {
            let part = self.division.part(&self.parameter.detach(), rank)?;
            self.shard.set(part)?;
        }
        if stage == ShardingStage::OptimizerState
            && let Some(grad) = self.parameter.grad()
        {
            self.shard.set_grad(self.division.part(&grad, rank)?)?;
        }
        Ok(())
    }

    /// Drops what the model has too.
    pub(super) fn drop_shard(&self, stage: ShardingStage) -> Result<()> {
        self.shard.set(self.division.absent_part()?)?;
        if stage == ShardingStage::OptimizerState {
            self.shard.zero_grad();
        }
        Ok(())
    }
}
