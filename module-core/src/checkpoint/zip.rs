//! Zip archives, as used by checkpoints: where the entries are in the file.

use std::ops::Range;

use indexmap::IndexMap;
use rawzip::{CompressionMethod, ZipArchive, ZipFileHeaderRecord};

use super::words::shorten;

/// The entries of an archive by name.
pub(super) type ZipEntries = IndexMap<String, ZipEntry>;

/// The location of an entry.
pub(super) struct ZipEntry {
    /// The bytes of the entry in the file.
    pub(super) range: Range<usize>,
    /// Whether they are compressed, and if so, their size when inflated.
    pub(super) inflated: Option<usize>,
    #[cfg_attr(not(feature = "npz"), allow(dead_code))]
    pub(super) crc: u32,
}

/// The directory of an archive, checked: names are unique and lead nowhere else, entries are within the file and do not
/// overlap, none is encrypted.
pub(super) fn directory(bytes: &[u8]) -> Result<ZipEntries, String> {
    let problem = |e: rawzip::Error| format!("the directory of the archive: {e}");
    let archive = ZipArchive::from_slice(bytes).map_err(|e| match e.kind() {
        rawzip::ErrorKind::MissingEndOfCentralDirectory | rawzip::ErrorKind::Eof => {
            "the file ends early (truncated?); download or save it again: \
             the directory at the end of the archive is missing"
                .to_owned()
        }
        _ => problem(e),
    })?;
    let mut entries = ZipEntries::new();
    let mut places = Vec::new();
    // If the end of the archive counts fewer entries than exist, other readers do not see the rest either.
    let counted = usize::try_from(archive.entries_hint()).unwrap_or(usize::MAX);
    for entry in archive.entries().take(counted) {
        let entry = entry.map_err(problem)?;
        let name = entry.file_path();
        let name = std::str::from_utf8(name.as_bytes()).map_err(|_| {
            let name = String::from_utf8_lossy(name.as_bytes());
            format!("the name {:?} is not UTF-8", shorten(&name))
        })?;
        check_name(name)?;
        let (header, found) =
            place(bytes, &entry).map_err(|p| format!("entry `{}`: {p}", shorten(name)))?;
        places.push(header..found.range.end);
        if entries.contains_key(name) {
            return Err(format!("two entries are called `{}`", shorten(name)));
        }
        entries.insert(name.to_owned(), found);
    }
    let listed = entries.len();
    if listed < counted {
        return Err(format!(
            "the directory of the archive lists {listed} entries, and its end counts {counted}"
        ));
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

/// Refuses names that would unpack outside the directory.
fn check_name(name: &str) -> Result<(), String> {
    let outside =
        name.contains(['\\', '\0']) || name.split('/').any(|part| matches!(part, "" | "." | ".."));
    match outside {
        true => Err(format!(
            "an entry has the path {:?}, which no checkpoint needs",
            shorten(name)
        )),
        false => Ok(()),
    }
}

/// The start of the local header, and of the data after it.
fn place(bytes: &[u8], entry: &ZipFileHeaderRecord<'_>) -> Result<(usize, ZipEntry), String> {
    if entry.flags().is_encrypted() {
        return Err("it is encrypted".to_owned());
    }
    let number = |n: u64| usize::try_from(n).map_err(|e| e.to_string());
    let header = number(entry.local_header_offset())?;
    // Signature, 22 bytes that the directory repeats, the lengths of name and extra field.
    let start = bytes.get(header..).and_then(|rest| {
        let (fixed, rest) = rest.split_first_chunk::<30>()?;
        let length = |at: usize| usize::from(u16::from_le_bytes([fixed[at], fixed[at + 1]]));
        let name = entry.file_path();
        let name = name.as_bytes();
        let matches = fixed.starts_with(b"PK\x03\x04") && rest.starts_with(name);
        (matches && length(26) == name.len())
            .then(|| header + fixed.len() + length(26) + length(28))
    });
    let start = start.ok_or("the directory and the header before its data differ")?;
    let packed = number(entry.compressed_size_hint())?;
    let size = number(entry.uncompressed_size_hint())?;
    let end = start.checked_add(packed).filter(|&end| end <= bytes.len());
    let end = end.ok_or_else(|| {
        let length = bytes.len();
        format!("its {packed} bytes from byte {start} reach past the {length} of the file")
    })?;
    let inflated = match entry.compression_method() {
        CompressionMethod::STORE if packed == size => None,
        CompressionMethod::STORE => {
            return Err(format!("it is stored, yet {packed} bytes hold {size}"));
        }
        CompressionMethod::DEFLATE => Some(size),
        method => return Err(format!("the compression {method} is not supported")),
    };
    let range = start..end;
    let crc = entry.crc32();
    Ok((
        header,
        ZipEntry {
            range,
            inflated,
            crc,
        },
    ))
}
