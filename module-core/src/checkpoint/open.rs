//! Opening a file for reading.

use std::path::Path;

use super::output::file_error;
use super::{CheckpointReader, ReadOptions};
use crate::Result;

pub(super) fn open(path: &Path, options: &ReadOptions) -> Result<CheckpointReader<'static>> {
    let file = CheckpointReader::open(path, options);
    file.map_err(|error| file_error(path, error))
}

/// The whole content of a small file, such as an index.
pub(super) fn read_whole(path: &Path, file: CheckpointReader<'_>) -> Result<Vec<u8>> {
    let bytes = file.read(0..file.length());
    bytes.map_err(|error| file_error(path, error))
}
