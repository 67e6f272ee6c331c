//! How a save treats existing files.

use std::fs::File;
use std::io;
use std::path::Path;

use super::super::{atomic, safetensors};
use super::Scratch;
use crate::{FileError, StateDict, Tensor, TrainingCheckpoint};

fn of(value: i64) -> StateDict {
    StateDict::from_iter([("a", Tensor::from(value))])
}

fn value(path: impl AsRef<Path>) -> i64 {
    let state = StateDict::load(path).unwrap();
    state.get("a").unwrap().item::<i64>().unwrap()
}

#[test]
fn pitfall_55_an_error_after_the_rename_says_that_the_new_file_stands() {
    let scratch = Scratch::new("durable");
    let path = scratch.file("state.safetensors");
    of(1).save(&path).unwrap();
    let failed = |_: &File| Err(io::Error::other("the disk is gone"));
    let new = of(2);
    let saved = atomic::write_with(
        &path,
        |file| file,
        failed,
        |output| safetensors::write(&new, output),
    );
    let error = saved.unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(FileError::NotDurable { path: of, .. }) if *of == path)
    );
    let message = error.to_string();
    assert!(
        message.contains("saved, but not durable: the new file is in place")
            && message.ends_with("the disk is gone"),
        "{message}"
    );
    assert_eq!(value(&path), 2);
    assert_eq!(scratch.names(), ["state.safetensors"]);
    // Any other error leaves the old file.
    let full = |_: &mut super::Output<'_>| Err(io::Error::other("full").into());
    let error = atomic::write(&path, full).unwrap_err();
    assert!(!matches!(
        error.downcast_ref(),
        Some(FileError::NotDurable { .. })
    ));
    assert_eq!(value(&path), 2);
}

#[test]
fn the_files_of_killed_saves_are_swept_and_those_of_others_stay() {
    let scratch = Scratch::new("swept");
    let dead = || std::fs::write(scratch.file(".checkpoint-a1B2c3"), b"half").unwrap();
    let writing = File::create(scratch.file(".checkpoint-living")).unwrap();
    writing.lock().unwrap();
    std::fs::write(scratch.file(".checkpoint-my.notes"), b"").unwrap();
    std::fs::create_dir(scratch.file(".checkpoint-folder")).unwrap();
    let kept = [
        ".checkpoint-folder",
        ".checkpoint-living",
        ".checkpoint-my.notes",
    ];
    let swept = || {
        let names = scratch.names();
        let temporary = names.iter().filter(|name| name.starts_with(".checkpoint-"));
        assert_eq!(temporary.collect::<Vec<_>>(), kept);
    };
    dead();
    of(1).save(scratch.file("state.safetensors")).unwrap();
    swept();
    dead();
    of(1).save_sharded(scratch.file("."), 8).unwrap();
    swept();
    dead();
    let training = TrainingCheckpoint::new(0, 0);
    training.save(scratch.file(".")).unwrap();
    swept();
    drop(writing);
    training.save(scratch.file(".")).unwrap();
    assert!(!scratch.file(".checkpoint-living").exists());
}

#[test]
fn many_saves_at_once_do_not_sweep_each_other() {
    let scratch = Scratch::new("at-once");
    std::thread::scope(|scope| {
        for i in 0..8_i64 {
            let scratch = &scratch;
            scope.spawn(move || {
                let path = scratch.file(&format!("{i}.safetensors"));
                for _ in 0..20 {
                    of(i).save(&path).unwrap();
                    assert_eq!(value(&path), i);
                }
            });
        }
    });
    assert_eq!(scratch.names().len(), 8);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn mode(path: impl AsRef<Path>) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn modes_are_those_of_new_files_or_of_the_old_one() {
        let scratch = Scratch::new("modes");
        let path = scratch.file("state.safetensors");
        of(1).save(&path).unwrap();
        let usual = scratch.file("usual");
        File::create(&usual).unwrap();
        assert_eq!(mode(&path), mode(usual));
        for (old, new) in [
            (0o600, 0o600),
            (0o644, 0o644),
            (0o666, 0o666),
            (0o6754, 0o754),
            (0o1640, 0o640),
        ] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(old)).unwrap();
            of(2).save(&path).unwrap();
            assert_eq!(mode(&path), new, "{old:o}");
        }
    }

    #[test]
    fn the_file_behind_a_link_is_replaced() {
        let scratch = Scratch::new("links");
        let directory = scratch.file("elsewhere");
        std::fs::create_dir(&directory).unwrap();
        let (file, link) = (directory.join("file"), scratch.file("link"));
        symlink("elsewhere/file", &link).unwrap();
        let outer = scratch.file("outer");
        symlink(&link, &outer).unwrap();
        // A part that does not exist yet, and then one that does.
        for round in 0..2 {
            of(round).save(&outer).unwrap();
            assert_eq!((value(&file), value(&link)), (round, round));
        }
        assert!(link.is_symlink() && outer.is_symlink() && !file.is_symlink());
        assert_eq!(scratch.names(), ["elsewhere", "link", "outer"]);
        symlink("circle", scratch.file("circle")).unwrap();
        let message = of(0).save(scratch.file("circle")).unwrap_err().to_string();
        assert!(message.contains("40 symbolic links follow"), "{message}");
    }

    #[test]
    fn links_in_a_directory_are_replaced_and_their_targets_stay() {
        let scratch = Scratch::new("planted");
        let outside = scratch.file("outside");
        std::fs::write(&outside, b"mine").unwrap();
        let directory = scratch.file("checkpoint");
        std::fs::create_dir(&directory).unwrap();
        for name in [
            "checkpoint.json",
            "model.safetensors.index.json",
            "model.0.safetensors",
        ] {
            symlink("../outside", directory.join(name)).unwrap();
        }
        let checkpoint = TrainingCheckpoint::new(1, 2);
        checkpoint.save(&directory).unwrap();
        of(3).save_sharded(&directory, 8).unwrap();
        assert_eq!(std::fs::read(&outside).unwrap(), b"mine");
        assert_eq!(TrainingCheckpoint::load(&directory).unwrap().step(), 2);
        assert_eq!(value(&directory), 3);
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let scratch = Scratch::new("no-file");
        let socket = scratch.file("socket");
        let _listening = UnixListener::bind(&socket).unwrap();
        let directory = scratch.file("directory");
        std::fs::create_dir(&directory).unwrap();
        symlink("socket", scratch.file("link")).unwrap();
        for (name, kind) in [
            ("socket", "socket"),
            ("directory", "directory"),
            ("link", "socket"),
        ] {
            let error = of(1).save(scratch.file(name)).unwrap_err();
            assert!(
                matches!(error.downcast_ref(), Some(FileError::File { .. })),
                "{error}"
            );
            let words = format!("it is a {kind}, not a regular file");
            assert!(error.to_string().contains(&words), "{error}");
        }
        assert_eq!(scratch.names(), ["directory", "link", "socket"]);
        assert!(socket.symlink_metadata().is_ok() && directory.is_dir());
    }
}
