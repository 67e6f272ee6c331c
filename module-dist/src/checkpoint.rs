//! Checkpoints that one rank writes, and from which all resume.

use std::path::Path;

use module_nn::{Result, Snapshot, Stateful, TrainingCheckpoint};

use crate::Comm;
use crate::comm::{gather_bytes, share_bytes};

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

/// The checkpoint as one state, whose parts have their numbers as names.
fn to_bytes(checkpoint: &TrainingCheckpoint) -> Result<Vec<u8>> {
    let names: Vec<&str> = checkpoint.names().collect();
    let mut whole = Snapshot::default()
        .with("epoch", &checkpoint.epoch())?
        .with("step", &checkpoint.step())?
        .with("names", &names)?;
    for (i, name) in names.iter().enumerate() {
        whole = whole.with_nested(&i.to_string(), checkpoint.get(name)?)?;
    }
    whole.to_bytes()
}

fn from_bytes(bytes: &[u8]) -> Result<TrainingCheckpoint> {
    let whole = Snapshot::from_bytes(bytes)?;
    let names: Vec<String> = whole.get("names")?;
    let mut checkpoint = TrainingCheckpoint::new(whole.get("epoch")?, whole.get("step")?);
    for (i, name) in names.iter().enumerate() {
        checkpoint = checkpoint.with(name, &whole.nested(&i.to_string())?)?;
    }
    Ok(checkpoint)
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
        let all = gather_bytes(comm, &part.state()?.to_bytes()?)?;
        let states = all.iter().map(|bytes| Snapshot::from_bytes(bytes));
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
