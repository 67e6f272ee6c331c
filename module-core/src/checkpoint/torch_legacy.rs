//! The `torch.save` files of PyTorch before 1.6, and of later versions with `_use_new_zipfile_serialization=False`: several
//! pickles, then the storages.

use std::collections::HashMap;
use std::ops::Range;

use super::pickle::{Budget, Pickle, Storages};
use super::torch_file::{Opened, TorchFile};
use super::words::shorten;
use super::{CheckpointReader, Contents, Format, FormatError, ReadOptions};
use crate::{DType, StateDict, Tensor};

pub(super) struct TorchLegacy;

/// The content of the first pickle.
const MAGIC: i128 = 0x1950_a86a_20f9_469c_fc6c;
/// The name of the data, for errors about a premature end.
const FILE: &str = "the file";
/// The content of the second pickle.
const PROTOCOL: i128 = 1001;

impl Format for TorchLegacy {
    fn name(&self) -> &'static str {
        "legacy PyTorch"
    }

    fn matches(&self, start: &[u8]) -> bool {
        // The opcode for the protocol of a pickle.
        matches!(start, [0x80, 2..=5, ..])
    }

    fn read(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<StateDict, FormatError> {
        self.read_state(file, options)
    }
}

impl TorchFile for TorchLegacy {
    fn open<'a>(
        &self,
        contents: &'a Contents,
        budget: &'a Budget,
        options: &ReadOptions,
    ) -> Result<Opened<'a>, FormatError> {
        let mut rest = Rest {
            bytes: contents.bytes(),
            at: 0,
            budget,
        };
        if rest.pickle()?.int() != Some(MAGIC) {
            return Err(FormatError::Unsupported(
                "it is a pickle that `torch.save` did not write; load it in Python, and save its \
                 tensors by `torch.save`"
                    .to_owned(),
            ));
        }
        match rest.pickle()?.int() {
            Some(PROTOCOL) => {}
            other => return Err(format!("the protocol {other:?} is not {PROTOCOL}").into()),
        }
        // The byte order and the sizes of numbers on the writing machine; elements are always little-endian.
        rest.pickle()?;
        let pickle = rest.objects(options.entry.as_deref())?;
        let order = rest.pickle()?;
        let order = order
            .texts()
            .ok_or("the keys of the storages are not a list")?;
        let mut places = HashMap::new();
        for key in order {
            let key = key.ok_or("the key of a storage is not text")?;
            let storage = pickle.storages().get(key);
            let storage =
                storage.ok_or_else(|| format!("no tensor uses the storage `{}`", shorten(key)))?;
            let range = rest
                .storage(storage.count, storage.size())
                .map_err(|problem| format!("storage `{}`: {problem}", shorten(key)))?;
            // An entry of the map, half of which may be spare capacity.
            budget.bytes(2 * size_of::<(&str, Range<usize>)>())?;
            if places.insert(key, range).is_some() {
                return Err(format!("storage `{}` appears twice", shorten(key)).into());
            }
        }
        match contents.bytes().len() - rest.at {
            0 => Ok((pickle, Box::new(LegacyStorages { contents, places }))),
            more => Err(format!("{more} bytes follow the last storage").into()),
        }
    }
}

/// The part of the file that has not been read yet.
struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
    budget: &'a Budget,
}

impl<'a> Rest<'a> {
    /// A pickle of numbers and strings.
    fn pickle(&mut self) -> Result<Pickle<'a>, String> {
        let pickle = Pickle::read(&self.bytes[self.at..], FILE, self.budget)?;
        self.at += pickle.length;
        Ok(pickle)
    }

    /// The pickle of the saved object.
    fn objects(&mut self, entry: Option<&str>) -> Result<Pickle<'a>, String> {
        let rest = &self.bytes[self.at..];
        let pickle = Pickle::read_objects(rest, FILE, self.budget, entry)?;
        self.at += pickle.length;
        Ok(pickle)
    }

    /// The location of the next storage's elements, which follow their number.
    fn storage(&mut self, count: usize, size: Option<usize>) -> Result<Range<usize>, String> {
        let rest = &self.bytes[self.at..];
        let (number, rest) = rest.split_first_chunk().ok_or(
            "the file ends early (truncated?); download or save it again: its size is missing",
        )?;
        let number = u64::from_le_bytes(*number);
        if usize::try_from(number) != Ok(count) {
            return Err(format!("{number} elements follow, the tensors say {count}"));
        }
        let size = size.filter(|&size| size <= rest.len()).ok_or_else(|| {
            let left = rest.len();
            format!(
                "the file ends early (truncated?); download or save it again: \
                 {count} elements do not fit the {left} bytes that \
                 are left"
            )
        })?;
        let start = self.at + size_of_val(&number);
        self.at = start + size;
        Ok(start..self.at)
    }
}

/// The locations of each storage's elements.
struct LegacyStorages<'a> {
    contents: &'a Contents,
    places: HashMap<&'a str, Range<usize>>,
}

impl Storages for LegacyStorages<'_> {
    fn storage(&self, key: &str, dtype: DType, size: usize) -> Result<Tensor, String> {
        let range = self.places.get(key);
        let range =
            range.ok_or_else(|| format!("the file lacks its storage `{}`", shorten(key)))?;
        let count = size / dtype.size_in_bytes();
        self.contents.tensor(dtype, &[count], range.clone())
    }
}
