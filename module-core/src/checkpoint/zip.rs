//! Zip archives, as checkpoints use them: where the entries lie in the file.

use std::io::Cursor;
use std::ops::Range;

use super::words::shortened;
use indexmap::IndexMap;
use zip::read::{ArchiveOffset, Config, ZipFileEntry};
use zip::{CompressionMethod, ZipArchive};

/// The entries of an archive by name.
pub(super) type Entries = IndexMap<String, Entry>;

/// Where an entry lies.
pub(super) struct Entry {
    /// The bytes of the file that hold it.
    pub(super) range: Range<usize>,
    /// Whether they are compressed, and then to what size they inflate.
    pub(super) inflated: Option<usize>,
    #[cfg_attr(not(feature = "npz"), allow(dead_code))]
    pub(super) crc: u32,
}

/// The directory of an archive, checked: names are unique and lead nowhere else, entries lie inside
/// the file and apart from each other, none is encrypted.
pub(super) fn directory(bytes: &[u8]) -> Result<Entries, String> {
    let config = Config {
        archive_offset: ArchiveOffset::Known(0),
    };
    let problem = |e: zip::result::ZipError| format!("the directory of the archive: {e}");
    let archive = ZipArchive::with_config(config, Cursor::new(bytes));
    let archive = archive.map_err(|e| match has_end(bytes) {
        true => problem(e),
        false => "the file ends early: cut off? The directory at the end of the archive is missing"
            .to_owned(),
    })?;
    if archive.has_duplicate_names() {
        return Err("two entries have one name".to_owned());
    }
    let mut entries = Entries::new();
    let mut places = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_data(index).map_err(problem)?;
        let name = entry.name().map_err(problem)?.into_owned();
        check_name(&name)?;
        let (header, found) =
            place(bytes, &entry).map_err(|p| format!("entry `{}`: {p}", shortened(&name)))?;
        places.push(header..found.range.end);
        // Names that differ in their bytes alone may be one as text.
        if entries.contains_key(&name) {
            return Err(format!("two entries are called `{}`", shortened(&name)));
        }
        entries.insert(name, found);
    }
    places.sort_unstable_by_key(|place| (place.start, place.end));
    match places.windows(2).find(|pair| pair[0].end > pair[1].start) {
        Some(pair) => Err(format!(
            "two entries overlap, at the bytes {:?} and {:?}",
            pair[0], pair[1]
        )),
        None => Ok(entries),
    }
}

/// Whether the record is there with which every archive ends; only a remark may follow it.
fn has_end(bytes: &[u8]) -> bool {
    const RECORD: usize = 22;
    let last = bytes.len().saturating_sub(RECORD + usize::from(u16::MAX));
    let last = bytes.get(last..).unwrap_or_default();
    let mut records = last.windows(RECORD);
    records.any(|record| record.starts_with(b"PK\x05\x06"))
}

/// Refuses names that would lie outside of a directory, were the archive unpacked.
fn check_name(name: &str) -> Result<(), String> {
    let outside =
        name.contains(['\\', '\0']) || name.split('/').any(|part| matches!(part, "" | "." | ".."));
    match outside {
        true => Err(format!(
            "an entry has the path {:?}, which no checkpoint needs",
            shortened(name)
        )),
        false => Ok(()),
    }
}

/// The start of the local header, and the place of the data behind it.
fn place(bytes: &[u8], entry: &ZipFileEntry<'_>) -> Result<(usize, Entry), String> {
    if entry.encrypted() {
        return Err("it is encrypted".to_owned());
    }
    let number = |n: u64| usize::try_from(n).map_err(|e| e.to_string());
    let header = number(entry.header_start())?;
    // Signature, 22 bytes that the directory repeats, the lengths of name and extra field.
    let start = bytes.get(header..).and_then(|rest| {
        let (fixed, rest) = rest.split_first_chunk::<30>()?;
        let length = |at: usize| usize::from(u16::from_le_bytes([fixed[at], fixed[at + 1]]));
        let matches = fixed.starts_with(b"PK\x03\x04") && rest.starts_with(entry.name_raw());
        (matches && length(26) == entry.name_raw().len())
            .then(|| header + fixed.len() + length(26) + length(28))
    });
    let start = start.ok_or("the directory and the header before its data differ")?;
    let (packed, size) = (number(entry.compressed_size())?, number(entry.size())?);
    let end = start.checked_add(packed).filter(|&end| end <= bytes.len());
    let end = end.ok_or_else(|| {
        let length = bytes.len();
        format!("its {packed} bytes from byte {start} reach past the {length} of the file")
    })?;
    let inflated = match entry.compression() {
        CompressionMethod::Stored if packed == size => None,
        CompressionMethod::Stored => {
            return Err(format!("it is stored, yet {packed} bytes hold {size}"));
        }
        CompressionMethod::DEFLATE => Some(size),
        method => return Err(format!("the compression {method} is not served")),
    };
    let range = start..end;
    let crc = entry.crc32();
    Ok((
        header,
        Entry {
            range,
            inflated,
            crc,
        },
    ))
}
