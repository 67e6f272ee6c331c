//! A temporary file next to the file that it will replace.

use std::collections::hash_map::RandomState;
use std::fs::{File, OpenOptions};
use std::hash::BuildHasher;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The prefix of temporary file names, before random letters.
const PREFIX: &str = ".checkpoint-";

/// How many names are tried if they are taken.
const TRIES: usize = 1 << 16;

/// A new file that is removed on drop unless it was renamed.
pub(super) struct Temporary {
    file: File,
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    /// A file with a unique name. A `private` one is accessible only to its owner; others have the permissions of new
    /// files.
    pub(super) fn new(directory: &Path, private: bool) -> io::Result<Self> {
        Self::of(directory, std::iter::repeat_with(name).take(TRIES), private)
    }

    /// A file with the first of these names that is unused.
    fn of(
        directory: &Path,
        names: impl Iterator<Item = String>,
        private: bool,
    ) -> io::Result<Self> {
        // The program may change its directory before the file is renamed or removed.
        let directory = match directory.is_absolute() {
            true => directory.to_owned(),
            false => std::env::current_dir()?.join(directory),
        };
        let mut options = OpenOptions::new();
        // This does not follow links either.
        options.read(true).write(true).create_new(true);
        restrict(&mut options, private);
        for name in names {
            let path = directory.join(name);
            match options.open(&path) {
                Ok(file) => {
                    let renamed = false;
                    return Ok(Self {
                        file,
                        path,
                        renamed,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let problem = format!("{error} at path {path:?}");
                    return Err(io::Error::new(error.kind(), problem));
                }
            }
        }
        let problem = format!("too many temporary files exist at path {directory:?}");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, problem))
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the file over another, and closes it.
    pub(super) fn rename(mut self, to: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, to)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // The next save sweeps leftover files.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether a file name is that of a temporary file.
pub(super) fn is_temporary(name: &str) -> bool {
    let drawn = name.strip_prefix(PREFIX);
    drawn.is_some_and(|drawn| drawn.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// A name that is unique in this program, and that nobody can predict.
fn name() -> String {
    static DRAWN: AtomicUsize = AtomicUsize::new(0);
    let place = DRAWN.fetch_add(1, Ordering::Relaxed);
    // The keys of the standard library's hash functions are its only random numbers.
    let drawn = RandomState::new().hash_one((std::process::id(), place));
    format!("{PREFIX}{drawn:016x}{place:x}")
}

#[cfg(unix)]
fn restrict(options: &mut OpenOptions, private: bool) {
    use std::os::unix::fs::OpenOptionsExt;

    // The system applies the umask.
    options.mode(if private { 0o600 } else { 0o666 });
}

#[cfg(not(unix))]
fn restrict(_: &mut OpenOptions, _: bool) {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::HashSet;

    use super::super::tests::Scratch;
    use super::*;

    fn names(names: &[&str]) -> impl Iterator<Item = String> {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        names.into_iter()
    }

    #[test]
    fn names_differ_and_are_known_again() {
        let drawn = || (0..100).map(|_| name()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(drawn)).collect();
        let all: Vec<_> = threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect();
        assert!(all.iter().all(|name| is_temporary(name)), "{all:?}");
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 400);
        // The random letters alone distinguish the names.
        let drawn: HashSet<_> = all.iter().map(|name| &name[..PREFIX.len() + 16]).collect();
        assert_eq!(drawn.len(), 400);
        assert!(!is_temporary(".checkpoint-my.notes") && !is_temporary("checkpoint-ab"));
    }

    #[test]
    fn a_name_in_use_is_left_alone_and_another_is_tried() {
        let scratch = Scratch::new("temporary-taken");
        std::fs::write(scratch.file("a"), b"mine").unwrap();
        let file = Temporary::of(&scratch.file(""), names(&["a", "b"]), false).unwrap();
        assert_eq!(file.path(), scratch.file("b"));
        assert_eq!(scratch.names(), ["a", "b"]);
        let taken = Temporary::of(&scratch.file(""), names(&["a", "b"]), false)
            .err()
            .unwrap();
        assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        let message = taken.to_string();
        assert!(
            message.starts_with("too many temporary files exist at path"),
            "{message}"
        );
        drop(file);
        assert_eq!(scratch.names(), ["a"]);
        assert_eq!(std::fs::read(scratch.file("a")).unwrap(), b"mine");
    }

    #[test]
    fn a_file_is_removed_unless_it_was_renamed() {
        let scratch = Scratch::new("temporary-renamed");
        let new = || Temporary::new(&scratch.file(""), true).unwrap();
        drop(new());
        assert!(scratch.names().is_empty());
        new().rename(&scratch.file("kept")).unwrap();
        assert_eq!(scratch.names(), ["kept"]);
        // A failed rename leaves no file either.
        let error = new().rename(&scratch.file("missing/x")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(scratch.names(), ["kept"]);
    }

    #[test]
    fn errors_keep_their_kind_and_name_the_file() {
        let scratch = Scratch::new("temporary-kind");
        let missing = scratch.file("missing");
        let error = Temporary::new(&missing, true).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains(".checkpoint-"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_and_private_files_are_private() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let scratch = Scratch::new("temporary-unix");
        symlink("outside", scratch.file("a")).unwrap();
        let file = Temporary::of(&scratch.file(""), names(&["a", "b"]), true).unwrap();
        assert_eq!(scratch.names(), ["a", "b"]);
        assert_eq!(
            file.file().metadata().unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
