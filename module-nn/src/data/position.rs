//! The position of a loader, and how it is saved.
//!
//! A snapshot holds the state of the generators at the start of the epoch and the number of batches returned so far, so
//! that its size does not depend on the data set, and the current state of the loader's own generators.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use module_core::{Result, Snapshot, StateDict, Tensor};

use super::plan::{EpochStart, Plan, SourceState};

const DEFAULT: &str = "start.default_generator";
const GENERATOR: &str = "generator";
const SAMPLER: &str = "sampler";
const START: &str = "start.";
const GIVEN: &str = "batches_given";
const BATCHES: &str = "batches";
const LEN: &str = "dataset_len";

/// How far an epoch has progressed; its iterator and the loader share it.
pub(super) struct Progress {
    pub(super) start: EpochStart,
    batches: usize,
    given: AtomicUsize,
    ended: AtomicBool,
}

impl Progress {
    pub(super) fn new(start: EpochStart, batches: usize, given: usize) -> Arc<Self> {
        Arc::new(Self {
            start,
            batches,
            given: AtomicUsize::new(given),
            ended: AtomicBool::new(false),
        })
    }

    /// The number of batches returned.
    pub(super) fn given(&self) -> usize {
        self.given.load(Ordering::Acquire)
    }

    pub(super) fn set_given(&self, given: usize) {
        self.given.store(given, Ordering::Release);
    }

    /// The loop knows that there are no more batches.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

/// The position of a loader.
#[derive(Default)]
pub(super) struct Position {
    /// The most recent epoch.
    pub(super) current: Option<Arc<Progress>>,
    /// The order of `current`, if it was loaded and not continued.
    pub(super) resumed: Option<Plan>,
}

/// The content of a snapshot.
pub(super) struct Saved {
    /// The state of the loader's generators.
    pub(super) now: SourceState,
    /// An unfinished epoch: its initial state, its number of batches, and how many of them were returned.
    pub(super) epoch: Option<(EpochStart, usize, usize)>,
    pub(super) dataset_len: usize,
}

impl Saved {
    pub(super) fn new(position: &Position, now: SourceState, dataset_len: usize) -> Self {
        let current = position.current.as_ref();
        let epoch = current.filter(|progress| !progress.has_ended());
        let epoch = epoch.map(|e| (e.start.clone(), e.batches, e.given()));
        Self {
            now,
            epoch,
            dataset_len,
        }
    }

    pub(super) fn to_snapshot(&self) -> Result<Snapshot> {
        let mut tensors = source_tensors("", &self.now)?;
        if let Some((start, ..)) = &self.epoch {
            tensors.extend(source_tensors(START, &start.source)?);
            tensors.extend(tensor_of(DEFAULT.to_owned(), &start.default_generator)?);
        }
        let counts = self
            .epoch
            .as_ref()
            .map(|(_, batches, given)| (batches, given));
        let (batches, given) = counts.unzip();
        Snapshot::new(StateDict::from_iter(tensors))
            .with(GIVEN, &given)?
            .with(BATCHES, &batches)?
            .with(LEN, &self.dataset_len)
    }

    pub(super) fn read(snapshot: &Snapshot) -> Result<Self> {
        let given: Option<usize> = snapshot.get(GIVEN)?;
        let batches: Option<usize> = snapshot.get(BATCHES)?;
        let epoch = match given.zip(batches) {
            Some((given, batches)) => {
                let start = EpochStart {
                    default_generator: bytes_of(snapshot, DEFAULT)?,
                    source: source_of(snapshot, START)?,
                };
                Some((start, batches, given))
            }
            None => None,
        };
        Ok(Self {
            now: source_of(snapshot, "")?,
            epoch,
            dataset_len: snapshot.get(LEN)?,
        })
    }
}

fn source_tensors(prefix: &str, state: &SourceState) -> Result<Vec<(String, Tensor)>> {
    let generator = tensor_of(format!("{prefix}{GENERATOR}"), &state.generator)?;
    let sampler = tensor_of(format!("{prefix}{SAMPLER}"), &state.sampler)?;
    Ok(generator.into_iter().chain(sampler).collect())
}

/// Bytes as a tensor; none if there are no bytes.
fn tensor_of(name: String, bytes: &[u8]) -> Result<Option<(String, Tensor)>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let tensor = Tensor::from_vec(bytes.to_vec(), bytes.len())?;
    Ok(Some((name, tensor)))
}

fn source_of(snapshot: &Snapshot, prefix: &str) -> Result<SourceState> {
    Ok(SourceState {
        generator: bytes_of(snapshot, &format!("{prefix}{GENERATOR}"))?,
        sampler: bytes_of(snapshot, &format!("{prefix}{SAMPLER}"))?,
    })
}

fn bytes_of(snapshot: &Snapshot, name: &str) -> Result<Vec<u8>> {
    match snapshot.tensors().get(name) {
        Some(tensor) => tensor.to_vec::<u8>(),
        None => Ok(Vec::new()),
    }
}
