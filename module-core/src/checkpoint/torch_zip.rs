//! The `torch.save` files of PyTorch since 1.6: a zip archive of stored entries, `data.pkl` and the storages that it names.

use super::byte_order::big_endian_tensor;
use super::pickle::{Budget, Pickle, Storages};
use super::torch_file::{Opened, TorchFile};
use super::words::shorten;
use super::zip::{ZipEntries, ZipEntry, directory};
use super::{CheckpointReader, Contents, Format, FormatError, ReadOptions, foreign};
use crate::{DType, StateDict, Tensor};

pub(super) struct TorchZip;

/// The newest version of PyTorch's archive layout.
const VERSION: u32 = 10;

impl Format for TorchZip {
    fn name(&self) -> &'static str {
        "PyTorch zip"
    }

    fn matches(&self, start: &[u8]) -> bool {
        start.starts_with(b"PK\x03\x04")
    }

    fn read(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<StateDict, FormatError> {
        self.read_state(file, options)
    }
}

impl TorchFile for TorchZip {
    fn open<'a>(
        &self,
        contents: &'a Contents,
        budget: &'a Budget,
        options: &ReadOptions,
    ) -> Result<Opened<'a>, FormatError> {
        let bytes = contents.bytes();
        let entries = directory(bytes)?;
        if let Some(what) = foreign::describe_archive(&entries) {
            return Err(FormatError::Unsupported(what.to_owned()));
        }
        let mut stems = entries
            .keys()
            .filter_map(|name| name.strip_suffix("/data.pkl"));
        let stem = match (stems.next(), stems.next()) {
            (Some(stem), None) => stem.to_owned(),
            (None, _) => return Err(no_pickle(&entries)),
            (Some(one), Some(other)) => {
                let (one, other) = (shorten(one), shorten(other));
                return Err(format!("both `{one}` and `{other}` hold a `data.pkl`").into());
            }
        };
        if let Some((name, _)) = entries.iter().find(|(_, entry)| entry.inflated.is_some()) {
            let name = shorten(name);
            return Err(format!("entry `{name}` is compressed; PyTorch stores all of them").into());
        }
        let archive = Archive {
            contents,
            entries,
            stem,
        };
        if let Some(version) = archive.text("version") {
            let known = version
                .parse()
                .is_ok_and(|version| (1..=VERSION).contains(&version));
            if !known {
                return Err(format!(
                    "version {version:?} is not supported; expected 1 to {VERSION}"
                )
                .into());
            }
        }
        let big_endian = match archive.text("byteorder").as_deref() {
            None | Some("little") => false,
            Some("big") => true,
            Some(order) => return Err(format!("the byte order {order:?} is unknown").into()),
        };
        let start = archive.entry("data.pkl");
        let pickled = start.and_then(|entry| bytes.get(entry.range.clone()));
        let pickled = pickled.ok_or("the entry `data.pkl` is lost")?;
        let entry = options.entry.as_deref();
        let pickle = Pickle::read_objects(pickled, "`data.pkl`", budget, entry)?;
        if pickle.length != pickled.len() {
            let more = pickled.len() - pickle.length;
            return Err(format!("{more} bytes follow the end of the pickle").into());
        }
        match big_endian {
            true => Ok((pickle, Box::new(BigEndian(archive)))),
            false => Ok((pickle, Box::new(archive))),
        }
    }
}

/// An archive that `torch.save` did not write.
fn no_pickle(entries: &ZipEntries) -> FormatError {
    const SHOWN: usize = 3;
    let names = entries.keys().take(SHOWN);
    let names: Vec<_> = names.map(|name| format!("`{}`", shorten(name))).collect();
    let more = match entries.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    FormatError::Unsupported(format!(
        "the archive has no entry `data.pkl`, but {}{more}: `torch.save` did not write it; is the \
         checkpoint one of them?",
        names.join(", ")
    ))
}

/// The entries of one checkpoint.
struct Archive<'a> {
    contents: &'a Contents,
    entries: ZipEntries,
    stem: String,
}

impl Archive<'_> {
    fn entry(&self, name: &str) -> Option<&ZipEntry> {
        self.entries.get(&format!("{}/{name}", self.stem))
    }

    /// The beginning of a short text entry.
    fn text(&self, name: &str) -> Option<String> {
        let range = self.entry(name)?.range.clone();
        let bytes = self.contents.bytes().get(range)?;
        let start = &bytes[..bytes.len().min(32)];
        Some(String::from_utf8_lossy(start).trim_end().to_owned())
    }

    /// The entry of a storage, if it has the size that the pickle states.
    fn data(&self, key: &str, size: usize) -> Result<&ZipEntry, String> {
        let entry = self.entry(&format!("data/{key}"));
        let key = shorten(key);
        let entry = entry.ok_or_else(|| format!("the archive lacks its storage `data/{key}`"))?;
        match entry.range.len() {
            length if length == size => Ok(entry),
            length => Err(format!(
                "its storage `data/{key}` has {length} bytes instead of {size}"
            )),
        }
    }
}

impl Storages for Archive<'_> {
    fn storage(&self, key: &str, dtype: DType, size: usize) -> Result<Tensor, String> {
        let range = self.data(key, size)?.range.clone();
        let count = size / dtype.size_in_bytes();
        self.contents.tensor(dtype, &[count], range)
    }
}

/// A checkpoint written by a big-endian machine.
struct BigEndian<'a>(Archive<'a>);

impl Storages for BigEndian<'_> {
    fn storage(&self, key: &str, dtype: DType, size: usize) -> Result<Tensor, String> {
        let range = self.0.data(key, size)?.range.clone();
        let count = size / dtype.size_in_bytes();
        big_endian_tensor(self.0.contents, dtype, &[count], range)
    }
}
