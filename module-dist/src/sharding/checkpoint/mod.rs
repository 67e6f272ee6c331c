//! Checkpoints of which each rank writes its part.

mod files;
mod index;

use std::path::Path;

use module_nn::prelude::*;
use module_nn::{Snapshot, TrainingCheckpoint};

use super::optimizer_state::with_values_of;
use super::sharded::members;
use super::{Sharded, ShardingStage};
use files::PartFiles;
use index::Index;

/// The name of this crate's part of a checkpoint.
const NAME: &str = "sharding";

impl Sharded<'_> {
    /// Writes a checkpoint of which each rank writes its part: the values of the model, the state of an optimizer that was
    /// built with the [`shards`](Self::shards), and whatever else `checkpoint` has on rank 0. All ranks call it, with one
    /// directory that all of them can access; nothing is gathered.
    ///
    /// The directory then has `checkpoint.json` with the files that it lists, and a file `rank-….safetensors` of each rank.
    /// If it already holds a checkpoint, this one is complete before `checkpoint.json` is replaced, and the files of the
    /// old one are removed last: a crash at any moment leaves the complete old checkpoint or the complete new one.
    ///
    /// # Errors
    ///
    /// A directory that cannot be made or written; a name `sharding` in `checkpoint`; those of the collectives.
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::LocalComm;
    /// use module_dist::sharding::{Sharded, ShardingStage};
    /// use module_nn::prelude::*;
    ///
    /// let directory = std::env::temp_dir().join(format!("doc-sharded-{}", std::process::id()));
    /// LocalComm::run(4, |comm| {
    ///     let model = Linear::new(3, 3)?;
    ///     let sharded = Sharded::new(&model, comm, ShardingStage::Parameters)?;
    ///     let optimizer = AdamW::new(sharded.shards(), 1e-3)?;
    ///     sharded.save(&directory, &TrainingCheckpoint::new(1, 100), &optimizer)
    /// })?;
    /// // Another stage, and another number of ranks.
    /// let steps = LocalComm::run(2, |comm| {
    ///     let model = Linear::new(3, 3)?;
    ///     let sharded = Sharded::new(&model, comm, ShardingStage::Gradients)?;
    ///     let mut optimizer = AdamW::new(sharded.shards(), 1e-3)?;
    ///     let checkpoint = sharded.load(&directory, &mut optimizer)?;
    ///     Ok(checkpoint.step())
    /// })?;
    /// assert_eq!(steps, [100, 100]);
    /// std::fs::remove_dir_all(directory).map_err(Error::custom)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn save(
        &self,
        directory: impl AsRef<Path>,
        checkpoint: &TrainingCheckpoint,
        optimizer: &dyn Optimizer,
    ) -> Result<()> {
        self.write(directory.as_ref(), checkpoint, optimizer)
    }

    /// Reads a checkpoint that [`save`](Self::save) has written, in a run with any stage and number of ranks: the model and
    /// the optimizer, which was built with the [`shards`](Self::shards), continue with the same bits. The result has what
    /// else was saved. All ranks call it.
    ///
    /// # Errors
    ///
    /// A directory without a checkpoint, or with a damaged one; [`ShardingError::Checkpoint`](super::ShardingError::Checkpoint):
    /// one of another model; those of [`Stateful::load_state`] and of the collectives. Then neither the model nor the optimizer
    /// is changed on any rank.
    pub fn load(
        &self,
        directory: impl AsRef<Path>,
        optimizer: &mut dyn Optimizer,
    ) -> Result<TrainingCheckpoint> {
        self.read(directory.as_ref(), optimizer)
    }

    fn write(
        &self,
        directory: &Path,
        checkpoint: &TrainingCheckpoint,
        optimizer: &dyn Optimizer,
    ) -> Result<()> {
        let comm = &*self.core.comm;
        let files = PartFiles::next(directory, comm)?;
        let state = optimizer.state()?;
        let (mut own, mut whole, mut divided) = (StateDict::new(), StateDict::new(), Vec::new());
        let rank = comm.rank();
        for member in members(&self.core) {
            let part = match self.stage() {
                ShardingStage::Parameters => member.shard.detach(),
                _ => member.division.part(&member.parameter.detach(), rank)?,
            };
            let elements = part.narrow(0, 0..member.division.range(rank).len())?;
            own.insert(index::model_key(&member.path), elements);
        }
        for (key, tensor) in state.tensors() {
            let Some(member) = self.divided(key, tensor) else {
                whole.insert(key, tensor.clone());
                continue;
            };
            let elements = tensor.narrow(0, 0..member.division.range(rank).len())?;
            own.insert(index::optimizer_key(key), elements);
            divided.push(key.to_owned());
        }
        own.save(files.path(rank))?;
        comm.barrier()?;
        if rank == 0 {
            let index = Index::of(self, &files, divided);
            let buffers = Snapshot::new(self.state_without_parameters()?);
            let optimizer = with_values_of(whole, &state)?;
            let part = index.to_snapshot(&buffers, &optimizer)?;
            checkpoint.clone().with(NAME, &part)?.save(directory)?;
            files.remove_others();
        }
        comm.barrier()
    }

    fn read(&self, directory: &Path, optimizer: &mut dyn Optimizer) -> Result<TrainingCheckpoint> {
        let comm = &*self.core.comm;
        let checkpoint = TrainingCheckpoint::load(directory)?;
        let saved = checkpoint.get(NAME)?;
        let index = Index::of_snapshot(saved)?;
        index.check(self)?;
        let buffers = saved.nested(index::MODEL)?;
        index.check_buffers(self, &buffers)?;
        let files = PartFiles::of(directory, &index, comm.rank());
        let mut values = Vec::new();
        for member in members(&self.core) {
            let key = index::model_key(&member.path);
            values.push(match self.stage() {
                ShardingStage::Parameters => files.part(&key, &member.division, comm.rank())?,
                _ => files.whole(&key, &member.division)?,
            });
        }
        let others = saved.nested(index::OPTIMIZER)?;
        let mut tensors = others.tensors().clone();
        for key in &index.divided {
            let division = &index.member_of(self, key)?.division;
            let part = files.part(&index::optimizer_key(key), division, comm.rank())?;
            tensors.insert(key, part);
        }
        let state = with_values_of(tensors, &others)?;
        // Nothing is changed until all ranks have read everything.
        comm.barrier()?;
        optimizer.load_state(&state)?;
        comm.barrier()?;
        if !buffers.tensors().is_empty() {
            // Without the parameters, which are set below.
            let lenient = LoadOptions::new().strict(false);
            let tensors = buffers.tensors();
            let _missing = self.model.load_state_dict_with(tensors, lenient)?;
        }
        for (member, value) in members(&self.core).zip(values) {
            match self.stage() {
                ShardingStage::Parameters => {
                    member.shard.set(value)?;
                    member.release_value()?;
                }
                _ => member.parameter.set(value)?,
            }
        }
        Ok(checkpoint)
    }
}
