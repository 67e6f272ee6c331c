//! Only regular files are read and replaced: a device may have no end, and opening a FIFO waits for a writer.

use std::fs::{File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file at a path that a user gives: a device may have no end, and opening a FIFO waits for a writer.
///
/// # Errors
///
/// A directory, a FIFO, a socket or a device, also through a link; those of the operating system.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::open_regular;
///
/// let error = open_regular(std::env::temp_dir()).unwrap_err();
/// assert_eq!(error.to_string(), "it is a directory, not a regular file");
/// ```
pub fn open_regular(path: impl AsRef<Path>) -> io::Result<File> {
    open(path.as_ref()).map(|(file, _)| file)
}

/// Reads text from a regular file with a maximum size in bytes.
///
/// # Errors
///
/// Those of [`open_regular`], a longer file, bytes that are not UTF-8.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::read_text;
///
/// let path = std::env::temp_dir().join(format!("doc-text-{}", std::process::id()));
/// std::fs::write(&path, "{}")?;
/// assert_eq!(read_text(&path, 100)?, "{}");
/// let error = read_text(&path, 1).unwrap_err();
/// assert_eq!(error.to_string(), "it has more than the 1 bytes that are read at most");
/// std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn read_text(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    let mut text = String::new();
    // One more byte, to detect a file that grows meanwhile.
    let mut file = open_regular(path)?.take(most.saturating_add(1));
    file.read_to_string(&mut text)?;
    if text.len() as u64 > most {
        let problem = format!("it has more than the {most} bytes that are read at most");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(text)
}

/// Opens a regular file, and returns its length.
pub(super) fn open(path: &Path) -> io::Result<(File, u64)> {
    check(std::fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    // Another file may have replaced it meanwhile.
    let about = file.metadata()?;
    check(about.file_type())?;
    Ok((file, about.len()))
}

/// Refuses anything but a regular file; links must be followed before.
pub(super) fn check(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let problem = format!("it is a {}, not a regular file", name(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;

    match kind {
        _ if kind.is_dir() => "directory",
        _ if kind.is_symlink() => "symbolic link",
        _ if kind.is_fifo() => "FIFO",
        _ if kind.is_socket() => "socket",
        _ if kind.is_char_device() => "character device",
        _ if kind.is_block_device() => "block device",
        _ => "special file",
    }
}

#[cfg(not(unix))]
fn name(kind: FileType) -> &'static str {
    match kind {
        _ if kind.is_dir() => "directory",
        _ if kind.is_symlink() => "symbolic link",
        _ => "special file",
    }
}
