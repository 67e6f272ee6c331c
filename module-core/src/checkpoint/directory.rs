//! Directories whose files are replaced together, because one of them, the index, names the others.
//!
//! The others are written under unused names. Then the index is replaced by one rename, and then the files that it does not
//! name are removed. If the program is killed before the rename, the directory holds the old checkpoint and some
//! unreferenced files, which the next save removes; if it is killed after the rename, it holds the new checkpoint.

use std::io;
use std::path::{Component, Path};

use super::atomic::sync_directory;
use module_tensor::error::quote;

/// Makes a directory unless it exists; its parent must exist.
pub(super) fn make(directory: &Path) -> io::Result<()> {
    match std::fs::create_dir(directory) {
        Ok(()) => match directory.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => sync_directory(parent),
            _ => sync_directory(Path::new(".")),
        },
        Err(_) if directory.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// The names of the first generation without existing files.
pub(super) fn free_names(
    directory: &Path,
    names: impl Fn(usize) -> Vec<String>,
) -> io::Result<Vec<String>> {
    let mut generation = 0;
    loop {
        let names = names(generation);
        let mut free = true;
        for name in &names {
            free &= !is_taken(&directory.join(name))?;
        }
        if free {
            return Ok(names);
        }
        generation += 1;
    }
}

fn is_taken(path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the files of earlier generations, including those of killed saves.
///
/// The new checkpoint is in place, so a file that cannot be removed is not an error: the next save tries again.
pub(super) fn remove_unreferenced(directory: &Path, keep: &[String], ours: impl Fn(&str) -> bool) {
    let Ok(entries) = directory.read_dir() else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let old = |name: &str| ours(name) && !keep.iter().any(|kept| kept == name);
        if name.to_str().is_some_and(old) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A name from an index as a file of its directory; it must not lead out of the directory on any system.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let mut components = Path::new(name).components();
    let plain = matches!(
        (components.next(), components.next()),
        (Some(Component::Normal(first)), None) if first == name
    );
    // Separators of directories, drives and streams on any system are refused.
    let separates = |c: char| c.is_control() || matches!(c, '/' | '\\' | ':');
    match plain && !name.contains(separates) && !name.ends_with(['.', ' ']) && !is_device(name) {
        true => Ok(()),
        false => Err(format!(
            "\"{}\" is not the name of a file in its directory",
            quote(name)
        )),
    }
}

/// Whether Windows takes a name for a device, whatever follows its first dot.
pub(super) fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let numbered = || {
        let (port, number) = stem.split_at_checked(3)?;
        let ports = ["COM", "LPT"];
        let port = ports.iter().any(|other| port.eq_ignore_ascii_case(other));
        Some(port && number.len() == 1 && number.bytes().all(|b| b.is_ascii_digit()))
    };
    let devices = ["CON", "PRN", "AUX", "NUL"];
    let named = devices.iter().any(|other| stem.eq_ignore_ascii_case(other));
    named || numbered().unwrap_or(false)
}
