//! Which files are read and replaced: regular ones. A device may have no end, opening a FIFO waits for
//! somebody who writes into it.

use std::fs::{File, FileType};
use std::io;
use std::path::Path;

/// Opens a regular file, and says how long it is.
pub(super) fn open(path: &Path) -> io::Result<(File, u64)> {
    check(std::fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    // Another one may have come into its place meanwhile.
    let about = file.metadata()?;
    check(about.file_type())?;
    Ok((file, about.len()))
}

/// Refuses what is no regular file; a link is to be followed before.
pub(super) fn check(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let problem = format!("it is a {}, and checkpoints are regular files", name(kind));
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
