//! Writing a file whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::output::{Output, file_error};
use crate::Result;

/// Replaces the file at `path` by one with this content: a temporary file in the same directory is
/// written, forced to the disk and renamed over it, and the directory is forced to the disk too.
///
/// An error leaves the old file as it was, and no other. A program that is killed meanwhile may leave
/// its temporary file behind, which is called `.checkpoint-…`.
pub(super) fn write(
    path: &Path,
    content: impl FnOnce(&mut Output<'_>) -> Result<()>,
) -> Result<()> {
    write_through(path, |file| file, content)
}

/// [`write`] with something between the content and the file.
pub(super) fn write_through<'a, W: Write + 'a>(
    path: &'a Path,
    between: impl FnOnce(File) -> W,
    content: impl FnOnce(&mut Output<'_>) -> Result<()>,
) -> Result<()> {
    let error = |source| file_error(path, source);
    let directory = directory_of(path).map_err(error)?;
    let file = NamedTempFile::with_prefix_in(".checkpoint-", directory).map_err(error)?;
    let handle = file.as_file().try_clone().map_err(error)?;
    let mut output = Output::new(path, between(handle));
    content(&mut output)?;
    output.flush()?;
    drop(output);
    put(file, path, directory).map_err(error)
}

fn put(file: NamedTempFile, path: &Path, directory: &Path) -> io::Result<()> {
    give_usual_mode(&file, path)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_directory(directory)
}

/// The directory of a file, which must be there.
fn directory_of(path: &Path) -> io::Result<&Path> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if !directory.is_dir() {
        let problem = format!("the directory {} does not exist", directory.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, problem));
    }
    Ok(directory)
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
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Elsewhere directories cannot be opened as files, and the system keeps the order itself.
#[cfg(not(unix))]
pub(super) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
