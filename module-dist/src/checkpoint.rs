//! Checkpoints that one rank writes, and from which all resume.

use std::path::Path;

use module_nn::{Error, Result, Snapshot, Stateful, TrainingCheckpoint};
use serde::{Deserialize, Serialize};

use crate::comm::{gather_bytes, share_bytes};
use crate::{Comm, snapshot};

/// Writes the checkpoint of rank 0 to a directory, as [`TrainingCheckpoint::save`] does, and returns when it is written.
/// It is a collective.
///
/// # Errors
///
/// Those of [`TrainingCheckpoint::save`], on rank 0; end the run with them, as [`launch`](crate::launch) does. A
/// [`RankFailure`](crate::RankFailure).
pub fn save_checkpoint(
    comm: &dyn Comm,
    checkpoint: &TrainingCheckpoint,
    directory: impl AsRef<Path>,
) -> Result<()> {
    if comm.rank() == 0 {
        checkpoint.save(directory)?;
    }
    comm.barrier()
}

/// Reads the checkpoint of a directory on rank 0 and gives it to all ranks, however many there are; `None` if the directory
/// has no `checkpoint.json`, so that nothing was saved, or rank 0 was killed while it wrote its first checkpoint. Only rank 0
/// needs access to the directory. It is a collective.
///
/// # Errors
///
/// Those of [`TrainingCheckpoint::load`], on rank 0; a [`RankFailure`](crate::RankFailure).
///
/// # Example
///
/// ```
/// use module_dist::{Comm, LocalComm, load_checkpoint, save_checkpoint};
/// use module_nn::prelude::*;
///
/// let directory = std::env::temp_dir().join(format!("doc-checkpoint-{}", std::process::id()));
/// let steps = LocalComm::run(2, |comm| {
///     let mut model = Linear::new(1, 1)?;
///     let checkpoint = TrainingCheckpoint::new(0, 7).with("model", &model)?;
///     save_checkpoint(&*comm, &checkpoint, &directory)?;
///     let Some(checkpoint) = load_checkpoint(&*comm, &directory)? else { return Ok(0) };
///     checkpoint.restore("model", &mut model)?;
///     Ok(checkpoint.step())
/// })?;
/// assert_eq!(steps, [7, 7]);
/// std::fs::remove_dir_all(directory).map_err(Error::custom)?;
/// # Ok::<(), Error>(())
/// ```
pub fn load_checkpoint(
    comm: &dyn Comm,
    directory: impl AsRef<Path>,
) -> Result<Option<TrainingCheckpoint>> {
    let directory = directory.as_ref();
    let mut mine = Vec::new();
    if comm.rank() == 0 && directory.join("checkpoint.json").exists() {
        mine = to_bytes(&TrainingCheckpoint::load(directory)?)?;
    }
    let bytes = share_bytes(comm, &mine, 0)?;
    match bytes.is_empty() {
        true => Ok(None),
        false => from_bytes(&bytes).map(Some),
    }
}

#[derive(Serialize, Deserialize)]
struct Index {
    epoch: u64,
    step: u64,
    /// The names of the parts, and how many bytes each has.
    parts: Vec<(String, usize)>,
}

fn to_bytes(checkpoint: &TrainingCheckpoint) -> Result<Vec<u8>> {
    let (mut parts, mut contents) = (Vec::new(), Vec::new());
    for name in checkpoint.names() {
        let part = snapshot::to_bytes(checkpoint.get(name)?)?;
        parts.push((name.to_owned(), part.len()));
        contents.extend(part);
    }
    let (epoch, step) = (checkpoint.epoch(), checkpoint.step());
    let index = Index { epoch, step, parts };
    let index = serde_json::to_vec(&index).map_err(Error::custom)?;
    let mut bytes = (index.len() as u64).to_le_bytes().to_vec();
    bytes.extend(index);
    bytes.extend(contents);
    Ok(bytes)
}

fn from_bytes(bytes: &[u8]) -> Result<TrainingCheckpoint> {
    let incomplete = || Error::custom("the checkpoint that rank 0 sent is incomplete");
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(incomplete)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(Error::custom)?;
    let (index, mut rest) = rest.split_at_checked(length).ok_or_else(incomplete)?;
    let index: Index = serde_json::from_slice(index).map_err(Error::custom)?;
    let mut checkpoint = TrainingCheckpoint::new(index.epoch, index.step);
    for (name, length) in &index.parts {
        let (part, others) = rest.split_at_checked(*length).ok_or_else(incomplete)?;
        checkpoint = checkpoint.with(name, &Part(snapshot::from_bytes(part)?))?;
        rest = others;
    }
    Ok(checkpoint)
}

/// A state that is put into a checkpoint as it is.
pub(crate) struct Part(pub(crate) Snapshot);

impl Stateful for Part {
    fn state(&self) -> Result<Snapshot> {
        Ok(self.0.clone())
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        self.0 = state.clone();
        Ok(())
    }
}

/// The states of something that differs from rank to rank, such as a generator, as one part of a checkpoint.
///
/// # Example
///
/// ```
/// use module_dist::{Comm, LocalComm, PerRank, rank_seed};
/// use module_nn::prelude::*;
/// use module_nn::{Generator, TrainingCheckpoint};
///
/// let same = LocalComm::run(2, |comm| {
///     let mut generator = Generator::new(rank_seed(0, comm.rank()));
///     let states = PerRank::gather(&*comm, &generator)?;
///     let checkpoint = TrainingCheckpoint::new(0, 0).with("generators", &states)?;
///     let before = Tensor::uniform([3], 0.0, 1.0, DType::F32, &generator)?;
///     assert!(PerRank::restore(&*comm, &checkpoint, "generators", &mut generator)?);
///     let after = Tensor::uniform([3], 0.0, 1.0, DType::F32, &generator)?;
///     Ok(before.to_vec::<f32>()? == after.to_vec::<f32>()?)
/// })?;
/// assert_eq!(same, [true, true]);
/// # Ok::<(), Error>(())
/// ```
pub struct PerRank {
    states: Vec<Snapshot>,
}

impl PerRank {
    /// Gathers the states of all ranks on each of them. It is a collective.
    ///
    /// # Errors
    ///
    /// A state that cannot be captured; a [`RankFailure`](crate::RankFailure).
    pub fn gather(comm: &dyn Comm, part: &(impl Stateful + ?Sized)) -> Result<Self> {
        let all = gather_bytes(comm, &snapshot::to_bytes(&part.state()?)?)?;
        let states = all.iter().map(|bytes| snapshot::from_bytes(bytes));
        let states = states.collect::<Result<_>>()?;
        Ok(Self { states })
    }

    /// Restores this rank's state from a part of a checkpoint. If the checkpoint was made with another number of ranks,
    /// nothing is restored, and the result is `false`: begin with a new state, such as a generator with
    /// [`rank_seed`](crate::rank_seed).
    ///
    /// # Errors
    ///
    /// A name that the checkpoint lacks; a state of something else.
    pub fn restore(
        comm: &dyn Comm,
        checkpoint: &TrainingCheckpoint,
        name: &str,
        part: &mut (impl Stateful + ?Sized),
    ) -> Result<bool> {
        let state = checkpoint.get(name)?;
        if state.get::<usize>(RANKS)? != comm.size() {
            return Ok(false);
        }
        part.load_state(&state.nested(&key(comm.rank()))?)?;
        Ok(true)
    }
}

const RANKS: &str = "ranks";

fn key(rank: usize) -> String {
    format!("rank{rank}")
}

impl Stateful for PerRank {
    fn state(&self) -> Result<Snapshot> {
        let mut all = Snapshot::default().with(RANKS, &self.states.len())?;
        for (rank, state) in self.states.iter().enumerate() {
            all = all.with_nested(&key(rank), state)?;
        }
        Ok(all)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let ranks = 0..state.get::<usize>(RANKS)?;
        self.states = ranks
            .map(|rank| state.nested(&key(rank)))
            .collect::<Result<_>>()?;
        Ok(())
    }
}
