//! NumPy's `.npz`: a zip archive of `.npy` files, stored or deflated.

use std::iter::once;

use miniz_oxide::inflate::decompress_slice_iter_to_slice;

use super::words::shorten;
use super::zip::{ZipEntry, directory};
use super::{CheckpointReader, Contents, Format, FormatError, ReadOptions, npy};
use crate::{StateDict, Tensor};

pub(super) struct Npz;

/// Compressed arrays may inflate to this many times the length of the file, plus [`FLOOR`].
const TIMES: usize = 8;
const FLOOR: usize = 1 << 18;

impl Format for Npz {
    fn name(&self) -> &'static str {
        "NumPy npz"
    }

    fn matches(&self, start: &[u8]) -> bool {
        // The end of the directory of an empty archive, or a first entry that is an array.
        let array = || {
            let (header, rest) = start.split_first_chunk::<30>()?;
            let length = usize::from(u16::from_le_bytes([header[26], header[27]]));
            let name = rest.get(..length)?;
            Some(header.starts_with(b"PK\x03\x04") && name.ends_with(b".npy"))
        };
        start.starts_with(b"PK\x05\x06") || array().unwrap_or(false)
    }

    fn read(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<StateDict, FormatError> {
        options.refuse_entry()?;
        let contents = &file.contents()?;
        let entries = directory(contents.bytes())?;
        let room = contents
            .bytes()
            .len()
            .saturating_mul(TIMES)
            .saturating_add(FLOOR);
        let sizes = entries.values().filter_map(|entry| entry.inflated);
        let total = sizes.fold(0, usize::saturating_add);
        if total > room {
            return Err(FormatError::Unsupported(format!(
                "its arrays would inflate to {total} bytes, more than {TIMES} times the file; save \
                 them by `numpy.savez`, without compression"
            )));
        }
        let mut state = StateDict::new();
        for (name, entry) in entries {
            let Some(key) = name.strip_suffix(".npy") else {
                let name = shorten(&name);
                return Err(FormatError::Unsupported(format!(
                    "the entry `{name}` is not an array"
                )));
            };
            let tensor =
                read(contents, &entry).map_err(|problem| problem.in_part(&shorten(key)))?;
            state.insert(key, tensor);
        }
        Ok(state)
    }
}

fn read(contents: &Contents, entry: &ZipEntry) -> Result<Tensor, FormatError> {
    let bytes = contents
        .bytes()
        .get(entry.range.clone())
        .unwrap_or_default();
    match entry.inflated {
        None => {
            check(bytes, entry)?;
            npy::array(contents, entry.range.clone())
        }
        Some(size) => {
            let mut inflated = vec![0; size];
            let written = decompress_slice_iter_to_slice(&mut inflated, once(bytes), false, true);
            match written {
                Ok(written) if written == size => {}
                Ok(written) => {
                    return Err(format!("it inflates to {written} bytes instead of {size}").into());
                }
                Err(e) => return Err(format!("its compressed bytes: {e:?}").into()),
            }
            check(&inflated, entry)?;
            npy::array(&Contents::new(inflated), 0..size)
        }
    }
}

/// Refuses bytes with a wrong checksum. NumPy does so too; PyTorch writes checksums but does not read them.
fn check(bytes: &[u8], entry: &ZipEntry) -> Result<(), String> {
    match crc32fast::hash(bytes) == entry.crc {
        true => Ok(()),
        false => Err("its bytes do not have the checksum that the archive states".to_owned()),
    }
}
