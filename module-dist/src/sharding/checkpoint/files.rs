//! The files of the ranks.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use module_nn::checkpoint::TensorFile;
use module_nn::prelude::*;

use super::index::Index;
use crate::Comm;
use crate::comm::share_bytes;
use crate::sharding::ShardingError;
use crate::sharding::division::Division;

/// The files that belong to one checkpoint.
pub(super) struct PartFiles {
    directory: PathBuf,
    pub(super) ranks: usize,
    pub(super) generation: u64,
    /// This rank, for errors.
    rank: usize,
}

impl PartFiles {
    /// Files with names that are not in use. It is a collective.
    pub(super) fn next(directory: &Path, comm: &dyn Comm) -> Result<Self> {
        let file_error = |source| FileError::File {
            path: directory.to_owned(),
            source,
        };
        let mut next = 0;
        if comm.rank() == 0 {
            fs::create_dir_all(directory).map_err(file_error)?;
            let names = names(directory).map_err(file_error)?;
            let generations = names.iter().filter_map(|name| generation(name));
            next = generations.max().map_or(0, |last| last.wrapping_add(1));
        }
        let shared = share_bytes(comm, &u64::to_le_bytes(next), 0)?;
        let shared: [u8; 8] = shared.try_into().unwrap_or_default();
        Ok(Self {
            directory: directory.to_owned(),
            ranks: comm.size(),
            generation: u64::from_le_bytes(shared),
            rank: comm.rank(),
        })
    }

    /// The files that a checkpoint lists.
    pub(super) fn of(directory: &Path, index: &Index, rank: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            ranks: index.ranks,
            generation: index.generation,
            rank,
        }
    }

    pub(super) fn path(&self, rank: usize) -> PathBuf {
        let (ranks, generation) = (self.ranks, self.generation);
        let name = format!("rank-{rank:05}-of-{ranks:05}.g{generation}.safetensors");
        self.directory.join(name)
    }

    /// Removes the files of other checkpoints. What cannot be removed stays, which harms nothing.
    pub(super) fn remove_others(&self) {
        for name in names(&self.directory).unwrap_or_default() {
            if generation(&name).is_some_and(|other| other != self.generation) {
                let _ = fs::remove_file(self.directory.join(name));
            }
        }
    }

    /// The whole tensor under a key.
    pub(super) fn whole(&self, key: &str, division: &Division) -> Result<Tensor> {
        let elements = self.elements(key, division, 0..division.numel())?;
        elements.reshape(&division.shape)
    }

    /// A rank's part of the tensor under a key.
    pub(super) fn part(&self, key: &str, division: &Division, rank: usize) -> Result<Tensor> {
        division.filled(&self.elements(key, division, division.range(rank))?)
    }

    /// Some elements of the tensor under a key, from the files that have them.
    fn elements(&self, key: &str, division: &Division, wanted: Range<usize>) -> Result<Tensor> {
        let fail = |problem: String| {
            let rank = self.rank;
            Err(ShardingError::Checkpoint { rank, problem }.into())
        };
        let saved = division.among(self.ranks);
        let mut found = vec![Tensor::zeros([0], (division.dtype, &division.device))?];
        for rank in 0..self.ranks {
            let own = saved.range(rank);
            let (start, end) = (own.start.max(wanted.start), own.end.min(wanted.end));
            if start >= end {
                continue;
            }
            let path = self.path(rank);
            let file = TensorFile::safetensors(&path, key)?;
            if file.shape() != [own.len()] || file.dtype() != division.dtype {
                let (dtype, shape) = (file.dtype(), file.shape());
                let (path, expected) = (path.display(), division.dtype);
                return fail(format!(
                    "`{key}` in {path} is {dtype} {shape:?}, and should be {expected} [{}]",
                    own.len()
                ));
            }
            let elements = file.rows(start - own.start..end - own.start)?;
            found.push(elements.to_device(&division.device)?);
        }
        Tensor::cat(&found, 0)
    }
}

/// The names of the files in a directory.
fn names(directory: &Path) -> std::io::Result<Vec<String>> {
    let entries = fs::read_dir(directory)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// The generation in the name of a rank's file.
fn generation(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("rank-")?.strip_suffix(".safetensors")?;
    let (_, generation) = rest.split_once(".g")?;
    generation.parse().ok()
}
