//! Which files are read, and which are not even opened.

use std::fs::OpenOptions;

use super::super::format_error::FormatError;
use super::super::mapping::promised;
use super::super::reader::{CheckpointReader, TensorPlace};
use super::Scratch;
use crate::backend::HostData;
use crate::{DType, ReadOptions, StateDict, Tensor};

/// A tensor of every dtype, including empty ones, and one at an offset that is not a multiple of its element size.
fn state() -> StateDict {
    let bytes: Vec<u8> = (0..240_u8).collect();
    let tensors = DType::ALL.into_iter().map(|dtype| {
        let data = HostData::from_le_bytes(dtype, &bytes);
        let count = 240 / dtype.size_in_bytes();
        let tensor = Tensor::from_host(data, [2, count / 2]).unwrap();
        (dtype.name().to_owned(), tensor)
    });
    let mut state: StateDict = tensors.collect();
    let empty = Tensor::zeros([0, 3], DType::F64).unwrap();
    state.insert("empty", empty);
    state.insert("one", Tensor::from([true]));
    let tied = state.get("float32").unwrap().clone();
    state.insert("tied", tied);
    state
}

fn bytes(state: &StateDict) -> Vec<(String, String, Vec<u8>)> {
    let bytes = |(key, tensor): (&str, &Tensor)| {
        let elements = tensor.to_host().unwrap().to_le_bytes();
        let about = format!("{} {}", tensor.dtype(), tensor.shape());
        (key.to_owned(), about, elements)
    };
    let mut all: Vec<_> = state.iter().map(bytes).collect();
    all.sort();
    all
}

#[test]
fn pitfall_63_a_file_that_is_cut_short_or_written_after_a_load_changes_nothing() {
    let scratch = Scratch::new("cut-short");
    let state = state();
    let whole = scratch.file("state.safetensors");
    let shards = scratch.file("shards");
    let training = scratch.file("training");
    state.save(&whole).unwrap();
    state.save_sharded(&shards, 300).unwrap();
    let checkpoint = crate::TrainingCheckpoint::new(0, 0);
    let checkpoint = checkpoint.with("part", &Kept(state.clone())).unwrap();
    checkpoint.save(&training).unwrap();
    let loaded = [
        StateDict::load(&whole).unwrap(),
        StateDict::load(&shards).unwrap(),
        crate::TrainingCheckpoint::load(&training)
            .unwrap()
            .get("part")
            .unwrap()
            .tensors()
            .clone(),
    ];
    let mut files = vec![whole];
    for directory in [shards, training] {
        files.extend(
            directory
                .read_dir()
                .unwrap()
                .map(|file| file.unwrap().path()),
        );
    }
    for (i, file) in files.iter().enumerate() {
        let length = file.metadata().unwrap().len() as usize;
        let handle = OpenOptions::new().write(true).open(file).unwrap();
        match i % 2 {
            0 => handle.set_len(0).unwrap(),
            // In place.
            _ => std::io::Write::write_all(&mut &handle, &vec![0xAA; length]).unwrap(),
        }
    }
    for read in &loaded {
        assert_eq!(bytes(read), bytes(&state));
        let (one, other) = (read.get("float32").unwrap(), read.get("tied").unwrap());
        assert!(one.shares_memory_with(other));
    }
}

struct Kept(StateDict);

impl crate::Stateful for Kept {
    fn state(&self) -> crate::Result<crate::Snapshot> {
        Ok(crate::Snapshot::new(self.0.clone()))
    }

    fn load_state(&mut self, state: &crate::Snapshot) -> crate::Result<()> {
        self.0 = state.tensors().clone();
        Ok(())
    }
}

#[test]
fn mapped_and_copied_files_hold_the_same() {
    let scratch = Scratch::new("same");
    let path = scratch.file("state.safetensors");
    state().save(&path).unwrap();
    for options in [ReadOptions::new(), promised()] {
        let read = StateDict::load_with(&path, &options).unwrap();
        assert_eq!(bytes(&read), bytes(&state()));
    }
}

#[test]
fn a_file_that_is_cut_short_while_it_is_read_is_an_error_of_the_file() {
    let scratch = Scratch::new("while");
    let path = scratch.file("bytes");
    std::fs::write(&path, vec![1; 1000]).unwrap();
    let opened = CheckpointReader::open(&path, &ReadOptions::new()).unwrap();
    let described = |end| TensorPlace::new(DType::F32, [end / 4], 0..end);
    assert_eq!(opened.tensors(&[described(800)]).ok().unwrap().len(), 1);
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(500).unwrap();
    let Err(FormatError::Io(error)) = opened.tensors(&[described(800)]) else {
        panic!("it was read");
    };
    assert_eq!(error.to_string(), "it became shorter while it was read");
    // Data beyond the size that the file had when it was opened is not requested.
    let Err(FormatError::Damaged(_)) = opened.tensors(&[described(1004)]) else {
        panic!("it was read");
    };
}

#[cfg(unix)]
mod unix {
    use std::os::unix::net::UnixListener;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;
    use crate::{FileError, TrainingCheckpoint};

    /// A file of each kind that cannot be read, with its name in errors.
    fn strange(scratch: &Scratch) -> Vec<(PathBuf, &'static str)> {
        let (directory, socket, fifo) = ("directory", "socket", "fifo");
        std::fs::create_dir(scratch.file(directory)).unwrap();
        drop(UnixListener::bind(scratch.file(socket)).unwrap());
        let mut strange = vec![
            (scratch.file(directory), "directory"),
            (scratch.file(socket), "socket"),
        ];
        if Path::new("/dev/zero").exists() {
            strange.push(("/dev/zero".into(), "character device"));
        }
        // Opening it would block until someone writes.
        let made = Command::new("mkfifo").arg(scratch.file(fifo)).status();
        if made.is_ok_and(|status| status.success()) {
            strange.push((scratch.file(fifo), "FIFO"));
        }
        strange
    }

    #[track_caller]
    fn refused<T>(result: crate::Result<T>, kind: &str) {
        let Err(error) = result else {
            panic!("a {kind} was read");
        };
        let message = error.to_string();
        assert!(
            matches!(error.downcast_ref(), Some(FileError::File { .. })),
            "{message}"
        );
        let words = format!("it is a {kind}, not a regular file");
        assert!(message.contains(&words), "{message}");
    }

    #[test]
    fn what_is_no_file_is_refused_by_its_kind() {
        let scratch = Scratch::new("strange");
        let (shards, training) = (scratch.file("shards"), scratch.file("training"));
        let put = |at: &Path, from: &Path| {
            if at.symlink_metadata().is_ok() {
                std::fs::remove_file(at).unwrap();
            }
            std::os::unix::fs::symlink(from, at).unwrap();
        };
        for (place, kind) in strange(&scratch) {
            for options in [ReadOptions::new(), promised()] {
                // A directory stands for its contents.
                if kind != "directory" {
                    refused(StateDict::load_with(&place, &options), kind);
                }
                // A shard, and the index.
                state().save_sharded(&shards, 300).unwrap();
                let index = shards.join("model.safetensors.index.json");
                let text = std::fs::read_to_string(&index).unwrap();
                let name = text
                    .split('"')
                    .find(|name| name.contains("00001-of-"))
                    .unwrap();
                put(&shards.join(name), &place);
                refused(StateDict::load_with(&index, &options), kind);
                refused(StateDict::load_with(&shards, &options), kind);
                std::fs::remove_dir_all(&shards).unwrap();
            }
            let checkpoint = TrainingCheckpoint::new(0, 0);
            let checkpoint = checkpoint.with("part", &Kept(state())).unwrap();
            checkpoint.save(&training).unwrap();
            put(&training.join("part.0.safetensors"), &place);
            refused(TrainingCheckpoint::load(&training), kind);
            put(&training.join("checkpoint.json"), &place);
            refused(TrainingCheckpoint::load(&training), kind);
            std::fs::remove_dir_all(&training).unwrap();
        }
    }
}

#[test]
fn a_file_of_many_dimensions_is_refused() {
    let name = format!("rank-{}.safetensors", std::process::id());
    let path = std::env::temp_dir().join(name);
    for (rank, fits) in [(64, true), (65, false), (1_000_000, false)] {
        let shape = format!("[{}1]", "1,".repeat(rank - 1));
        let header = format!(r#"{{"a":{{"dtype":"U8","shape":{shape},"data_offsets":[0,1]}}}}"#);
        let length = (header.len() as u64).to_le_bytes();
        std::fs::write(&path, [&length, header.as_bytes(), &[7]].concat()).unwrap();
        match StateDict::load(&path) {
            Ok(state) => assert!(fits && state.get("a").unwrap().rank() == rank),
            Err(error) => {
                let message = error.to_string();
                let words = "more than 64 dimensions";
                assert!(!fits && message.contains(words), "{message}");
            }
        }
    }
    std::fs::remove_file(path).unwrap();
}
