//! Atomic writes: a file is replaced as a whole, or not at all.

use std::fs::{File, FileType, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::output::{Output, file_error};
use super::regular;
use super::temporary::{Temporary, is_temporary};
use crate::{FileError, Result};

/// Replaces the file at `path` by one with this content: a temporary file in the same directory is written, synced and
/// renamed over it, and the directory is synced too. A symbolic link at `path` is itself replaced; [`follow_links`] finds
/// its target.
///
/// An error leaves the old file unchanged and creates no other, except for [`FileError::NotDurable`], with which the new
/// one is in place. A program that is killed meanwhile may leave its temporary file behind, which
/// [`remove_stale_temporaries`] removes.
pub(super) fn write(
    path: &Path,
    content: impl FnOnce(&mut Output<'_>) -> Result<()>,
) -> Result<()> {
    write_with(path, |file| file, force, content)
}

/// [`write`] with a wrapper around the file and another call to sync the directory, for tests.
pub(super) fn write_with<'a, W: Write + 'a>(
    path: &'a Path,
    between: impl FnOnce(File) -> W,
    force: impl FnOnce(&File) -> io::Result<()>,
    content: impl FnOnce(&mut Output<'_>) -> Result<()>,
) -> Result<()> {
    let error = |source| file_error(path, source);
    // If the directory cannot be opened, this fails before the file is replaced.
    let directory = open_directory(directory_of(path).map_err(error)?).map_err(error)?;
    put(path, between, content)?;
    let forced = directory.map_or(Ok(()), |directory| force(&directory));
    forced.map_err(|source| {
        let path = path.to_owned();
        FileError::NotDurable { path, source }.into()
    })
}

/// [`write`] for one of several files that have no meaning until another file names them: their directory is synced once,
/// by [`sync_directory`].
pub(super) fn write_part(
    path: &Path,
    content: impl FnOnce(&mut Output<'_>) -> Result<()>,
) -> Result<()> {
    put(path, |file| file, content)
}

fn put<'a, W: Write + 'a>(
    path: &'a Path,
    between: impl FnOnce(File) -> W,
    content: impl FnOnce(&mut Output<'_>) -> Result<()>,
) -> Result<()> {
    let error = |source| file_error(path, source);
    let old = read_replaced(path).map_err(error)?;
    let file =
        create_temporary(directory_of(path).map_err(error)?, old.is_some()).map_err(error)?;
    let handle = file.file().try_clone().map_err(error)?;
    let mut output = Output::new(path, between(handle));
    content(&mut output)?;
    output.flush()?;
    drop(output);
    let put = || {
        if let Some(old) = &old {
            give_mode(file.file(), old)?;
        }
        file.file().sync_all()?;
        // The lock is released with the handle, which is closed here.
        file.rename(path)
    };
    put().map_err(error)
}

/// The target of the links at a path; the last link may point to a file that does not exist yet.
pub(super) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    /// The same limit as Linux's.
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match path.symlink_metadata() {
            Ok(about) if about.is_symlink() => {
                let to = path.read_link()?;
                path = path.parent().map(|parent| parent.join(&to)).unwrap_or(to);
            }
            _ => return Ok(path),
        }
    }
    let problem = format!("more than {MAX_LINKS} symbolic links follow each other");
    Err(io::Error::other(problem))
}

/// The metadata of the file to be replaced; an error if it is a device or a directory.
fn read_replaced(path: &Path) -> io::Result<Option<Metadata>> {
    match path.symlink_metadata() {
        Ok(link) if link.is_symlink() => Ok(None),
        Ok(old) => regular::check(old.file_type()).map(|()| Some(old)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The directory of a file, which must exist.
pub(super) fn directory_of(path: &Path) -> io::Result<&Path> {
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

/// A temporary file, locked while it is written. It has the permissions of new files or, if it `replaces` a file, is
/// private until it is given that file's mode.
fn create_temporary(directory: &Path, replaces: bool) -> io::Result<Temporary> {
    loop {
        let file = Temporary::new(directory, replaces)?;
        match file.file().try_lock() {
            // A sweep may have taken it before it was locked.
            Ok(()) if file.path().symlink_metadata().is_ok() => return Ok(file),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            // Without locks there are no sweeps.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

/// Removes the temporary files that killed programs have left in a directory.
///
/// Those of running programs are locked, and a lock ends with its program. A file that cannot be removed is not an error:
/// the next save tries again.
pub(super) fn remove_stale_temporaries(directory: &Path) {
    let Ok(entries) = directory.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if !entry.file_name().to_str().is_some_and(is_temporary)
            || !entry.file_type().is_ok_and(|kind: FileType| kind.is_file())
        {
            continue;
        }
        // Network file systems can lock only files that are open for writing.
        let file = OpenOptions::new().write(true).open(&path);
        if let Some(_dead) = file.ok().filter(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// A file that replaces another has its mode, except for the set-uid, set-gid and sticky bits.
#[cfg(unix)]
fn give_mode(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mode = old.permissions().mode() & 0o777;
    file.set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn give_mode(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// The rename itself is durable only once the directory is on disk. On other systems directories cannot be opened as files,
/// and the system keeps the order itself.
fn open_directory(directory: &Path) -> io::Result<Option<File>> {
    match cfg!(unix) {
        true => File::open(directory).map(Some),
        false => Ok(None),
    }
}

fn force(directory: &File) -> io::Result<()> {
    match directory.sync_all() {
        // File systems without such a call keep their own order.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// Syncs the names of a directory to disk.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    open_directory(directory)?.map_or(Ok(()), |directory| force(&directory))
}
