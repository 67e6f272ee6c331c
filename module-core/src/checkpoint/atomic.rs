//! Writing a file whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::{ErrorKind, Result};

/// Replaces the file at `path` by one with these bytes: a temporary file in the same directory is
/// written, forced to the disk and renamed over it, and the directory is forced to the disk too.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes).map_err(|source| {
        ErrorKind::File {
            path: path.to_owned(),
            source,
        }
        .into()
    })
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !directory.is_dir() {
        let problem = format!("the directory {} does not exist", directory.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    let mut file = NamedTempFile::with_prefix_in(".checkpoint-", directory)?;
    file.write_all(bytes)?;
    give_usual_mode(&file, path)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_directory(directory)
}

/// A temporary file is private; a checkpoint has the mode of the file it replaces, or else is
/// readable as new files usually are.
#[cfg(unix)]
fn give_usual_mode(file: &NamedTempFile, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mode = match std::fs::metadata(path) {
        Ok(old) => old.permissions().mode(),
        Err(_) => 0o644,
    };
    file.as_file()
        .set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn give_usual_mode(_: &NamedTempFile, _: &Path) -> io::Result<()> {
    Ok(())
}

/// The rename itself is durable only once the directory is on the disk.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Elsewhere directories cannot be opened as files, and the system keeps the order itself.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
