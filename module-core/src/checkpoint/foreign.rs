//! Files that are commonly mistaken for checkpoints, and what to do with them.

use super::words::shorten;
#[cfg(feature = "torch-files")]
use super::zip::ZipEntries;

/// The first bytes of files, what these files are, and what to do with them.
static STARTS: [(&[u8], &str, &str); 8] = [
    (
        b"\x93NUMPY",
        "a single NumPy array (`.npy`), which has no name",
        "save it as `numpy.savez(file, name=array)`",
    ),
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file, as Keras writes them",
        "save its arrays by `numpy.savez` in Python",
    ),
    (b"\x1f\x8b", "compressed by gzip", "unpack it"),
    (b"BZh", "compressed by bzip2", "unpack it"),
    (b"\xfd7zXZ\0", "compressed by xz", "unpack it"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"),
    (b"%PDF-", "a PDF document", "download the file itself"),
];

/// A description of a file in no known format, as far as it can be determined.
pub(super) fn describe(bytes: &[u8]) -> Option<String> {
    // Fewer bytes than the smallest valid file of any format.
    const SHORT: usize = 9;
    match bytes.len() {
        0 => return Some("it is empty (truncated?); download or save it again".to_owned()),
        length if length < SHORT => {
            return Some(format!(
                "it has only {length} bytes (truncated?); download or save it again"
            ));
        }
        _ => {}
    }
    let start = STARTS.iter().find(|(start, ..)| bytes.starts_with(start));
    if let Some((_, what, cure)) = start {
        return Some(format!("it is {what}; {cure}"));
    }
    if let Some((what, feature)) = find_missing_feature(bytes) {
        return Some(format!(
            "it is {what}, which this program does not read: it was built without the feature `{feature}`"
        ));
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some("it is a tar archive; unpack it".to_owned());
    }
    let text = text(bytes)?;
    if text.starts_with("version https://git-lfs.github.com/spec/") {
        let size = text.lines().find_map(|line| line.strip_prefix("size "));
        let size = size.and_then(|size| size.trim().parse().ok());
        let size = size.map_or_else(String::new, |size: u64| format!(" of {size} bytes"));
        return Some(format!(
            "it is a Git LFS pointer to a file{size} that was not downloaded; run `git lfs pull`"
        ));
    }
    let begins = |with: &str| {
        let start = text.get(..with.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if begins("<!doctype html") || begins("<html") {
        return Some(
            "it is an HTML page, such as a server sends for an error or a login; download the file \
             itself"
                .to_owned(),
        );
    }
    if begins("<?xml") {
        return Some(
            "it is an XML document, such as a storage service sends for an error; download the file \
             itself"
                .to_owned(),
        );
    }
    let line = text.lines().next().unwrap_or_default();
    Some(format!("it is a text that begins with `{}`", shorten(line)))
}

/// The format of a file that needs a disabled feature, and the name of the feature.
fn find_missing_feature(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    if bytes.starts_with(b"PK\x03\x04") {
        let array = bytes.get(..1 << 8).unwrap_or(bytes);
        return match array.windows(4).any(|name| name == b".npy") {
            true => Some(("a file of NumPy arrays", "npz")),
            false => Some(("a zip archive, as PyTorch writes them", "torch-files")),
        };
    }
    matches!(bytes, [0x80, 2..=5, ..])
        .then_some(("a pickle, as PyTorch writes them", "torch-files"))
}

/// The beginning of a file, if it is text.
fn text(bytes: &[u8]) -> Option<&str> {
    let start = bytes.get(..1024).unwrap_or(bytes);
    let text = match str::from_utf8(start) {
        Ok(text) => text,
        // The last character may be truncated.
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(start.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let control = |c: char| c.is_control() && !c.is_whitespace();
    (!text.is_empty() && !text.contains(control)).then_some(text)
}

/// A description of a zip archive that is not a checkpoint, and a remedy.
#[cfg(feature = "torch-files")]
pub(super) fn describe_archive(entries: &ZipEntries) -> Option<&'static str> {
    let any = |fits: &dyn Fn(&str) -> bool| entries.keys().any(|name| fits(name));
    let exported =
        any(&|name| name.ends_with("/archive_format") || name.ends_with("/models/model.json"))
            || any(&|name| name == "serialized_exported_program.json");
    if exported {
        return Some(
            "it is a program that `torch.export` or AOTInductor wrote (`.pt2`); in Python, \
             `torch.save(torch.export.load(path).state_dict, \"state.pt\")` makes a file to load",
        );
    }
    if any(&|name| name.ends_with("/constants.pkl")) {
        return Some(
            "it is a TorchScript program; in Python, `torch.save(torch.jit.load(path).state_dict(), \
             \"state.pt\")` makes a file to load",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::find_missing_feature;

    #[test]
    fn a_file_that_another_build_reads_names_the_feature() {
        let feature = |bytes: &[u8]| find_missing_feature(bytes).map(|(_, feature)| feature);
        assert_eq!(feature(b"PK\x03\x04........weight.npy"), Some("npz"));
        assert_eq!(
            feature(b"PK\x03\x04........archive/data.pkl"),
            Some("torch-files")
        );
        assert_eq!(feature(b"\x80\x02\x8a\x0a"), Some("torch-files"));
        assert_eq!(feature(b"%PDF-"), None);
    }
}
