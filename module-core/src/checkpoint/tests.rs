#![allow(clippy::panic, clippy::unwrap_used)]

mod names;
mod reading;
mod writing;

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::mapping::promised;
use super::output::Output;
use super::{Contents, ReadOptions, atomic, safetensors};
use crate::backend::HostData;
use crate::{DType, FileError, StateDict, Tensor};

/// An empty directory for one test, removed at the end.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Self {
        let name = format!("checkpoint-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Its contents.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Remains of a failed test are harmless.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether the elements of a tensor are inside the bytes of a checkpoint.
fn borrows(tensor: &Tensor, contents: &Contents) -> bool {
    let place = tensor.as_le_bytes().unwrap().as_ptr();
    contents.bytes().as_ptr_range().contains(&place)
}

#[test]
fn tensors_borrow_if_elements_are_stored_as_in_memory() {
    // The allocator aligns a block of this size to sixteen bytes.
    let contents = Contents::new(vec![1_u8; 4096]);
    assert_eq!(contents.bytes().as_ptr().addr() % 8, 0);
    for dtype in DType::ALL {
        let size = dtype.size_in_bytes();
        for start in [0, 8, 64, 1, 3] {
            let range = start..start + 6 * size;
            let bytes = contents.bytes()[range.clone()].to_vec();
            let tensor = contents.tensor(dtype, &[2, 3], range).unwrap();
            let aligned = start % size == 0;
            assert_eq!(borrows(&tensor, &contents), aligned && dtype != DType::Bool);
            assert_eq!(tensor.to_host().unwrap().to_le_bytes(), bytes, "{dtype}");
            assert_eq!(tensor.dtype(), dtype);
        }
    }
}

#[test]
fn any_byte_but_zero_is_true() {
    let contents = Contents::new(vec![0_u8, 1, 2, 255]);
    let tensor = contents.tensor(DType::Bool, &[4], 0..4).unwrap();
    let values = tensor.to_vec::<bool>().unwrap();
    assert_eq!(values, [false, true, true, true]);
}

#[test]
fn what_is_borrowed_is_never_written() {
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::I64] {
        let values = Tensor::full([4, 8], 2.0, dtype).unwrap();
        let bytes = values.to_host().unwrap().to_le_bytes();
        let contents = Contents::new(bytes.clone());
        // The only handle to its storage, which an operation would overwrite if it were owned.
        let borrowed = |contents: &Contents| {
            let tensor = contents.tensor(dtype, &[4, 8], 0..bytes.len()).unwrap();
            assert!(borrows(&tensor, contents));
            tensor
        };
        let sum = (borrowed(&contents) + borrowed(&contents)).unwrap();
        let one = Tensor::ones([4, 8], dtype).unwrap();
        let other = (borrowed(&contents) * one).unwrap();
        let scaled = (borrowed(&contents) * 3).unwrap();
        let numbers = |x: Tensor| x.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(numbers(sum), [4.0; 32]);
        assert_eq!(numbers(other), [2.0; 32]);
        assert_eq!(numbers(scaled), [6.0; 32]);
        assert_eq!(contents.bytes(), bytes);
    }
}

#[test]
fn a_mapped_file_may_be_replaced_and_removed() {
    let scratch = Scratch::new("replaced");
    let path = scratch.file("state.safetensors");
    let of = |value: f32| {
        let tensor = Tensor::full([1000], value, DType::F32).unwrap();
        StateDict::from_iter([("a", tensor.clone()), ("b", (tensor * 2.0).unwrap())])
    };
    of(1.0).save(&path).unwrap();
    let first = StateDict::load_with(&path, &promised()).unwrap();
    // Over the file from which these tensors borrow.
    let mut changed = first.clone();
    changed.insert("c", of(5.0).get("a").unwrap().clone());
    changed.save(&path).unwrap();
    let second = StateDict::load_with(&path, &promised()).unwrap();
    of(7.0).save(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let numbers = |state: &StateDict, key: &str| {
        let values = state.get(key).unwrap().to_vec::<f32>().unwrap();
        assert!(values.iter().all(|v| *v == values[0]));
        values[0]
    };
    for state in [&first, &second] {
        assert_eq!((numbers(state, "a"), numbers(state, "b")), (1.0, 2.0));
    }
    assert_eq!(numbers(&second, "c"), 5.0);
}

#[test]
fn what_is_loaded_is_a_copy_and_the_entry_is_chosen() {
    let scratch = Scratch::new("options");
    let path = scratch.file("state.safetensors");
    StateDict::from_iter([("a", Tensor::from([1.0_f32, 2.0]))])
        .save(&path)
        .unwrap();
    let read = StateDict::load(&path).unwrap();
    // Only tensors that were read into memory survive when the file is overwritten in place.
    std::fs::write(&path, b"").unwrap();
    assert_eq!(read.get("a").unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
    read.save(&path).unwrap();
    let nested = StateDict::load_with(&path, &ReadOptions::new().entry("model"));
    let message = nested.unwrap_err().to_string();
    assert!(message.contains("there is no entry `model`"), "{message}");
}

#[test]
fn empty_files_are_of_no_format() {
    let scratch = Scratch::new("empty");
    let path = scratch.file("state.safetensors");
    std::fs::write(&path, b"").unwrap();
    for options in [ReadOptions::new(), promised()] {
        let read = StateDict::load_with(&path, &options);
        let message = read.unwrap_err().to_string();
        assert!(message.contains("the content is none of"), "{message}");
    }
}

#[test]
fn bytes_of_tensors_are_had_where_they_lie() {
    let x = Tensor::from([[1_i32, 2], [3, 4]]);
    assert_eq!(x.as_le_bytes().unwrap()[..5], [1, 0, 0, 0, 2]);
    let last = x.narrow(0, 1..2).unwrap();
    assert_eq!(last.as_le_bytes().unwrap(), [3, 0, 0, 0, 4, 0, 0, 0]);
    assert!(x.t().unwrap().as_le_bytes().is_none());
    let truth = Tensor::from([true, false]);
    assert_eq!(truth.as_le_bytes().unwrap(), [1, 0]);
    let empty = Tensor::from_host(HostData::F64(Vec::new()), [0, 3]).unwrap();
    assert_eq!(empty.as_le_bytes().unwrap(), [0_u8; 0]);
}

/// A disk that is full after this many bytes.
struct Full<W> {
    left: usize,
    disk: W,
}

impl<W: Write> Write for Full<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = self.disk.write(&bytes[..bytes.len().min(self.left)])?;
        self.left -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.disk.flush()
    }
}

#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let scratch = Scratch::new("full");
    let path = scratch.file("state.safetensors");
    let of = |value: i64, len: usize| {
        let tensor = Tensor::full([len], value, DType::I64).unwrap();
        StateDict::from_iter([("a", tensor)])
    };
    of(1, 4).save(&path).unwrap();
    let old = std::fs::read(&path).unwrap();
    let new = of(2, 20_000);
    let elsewhere = scratch.file("new.safetensors");
    new.save(&elsewhere).unwrap();
    let whole = std::fs::metadata(&elsewhere).unwrap().len() as usize;
    std::fs::remove_file(elsewhere).unwrap();
    for left in [0, 1, 8, 9, 79, 80, 81, 4096, 65_536, 100_000, whole - 1] {
        let full = |disk| Full { left, disk };
        let write = |output: &mut Output<'_>| safetensors::write(&new, output);
        let result = atomic::write_with(&path, full, File::sync_all, write);
        let error = result.unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(FileError::File { .. })),
            "{error}"
        );
        assert!(error.to_string().contains("state.safetensors"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), old, "{left}");
        assert_eq!(scratch.names(), ["state.safetensors"]);
    }
    let full = |disk| Full { left: whole, disk };
    let write = |output: &mut Output<'_>| safetensors::write(&new, output);
    atomic::write_with(&path, full, File::sync_all, write).unwrap();
    let read = StateDict::load(&path).unwrap();
    assert_eq!(read.get("a").unwrap().to_vec::<i64>().unwrap(), [2; 20_000]);
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let scratch = Scratch::new("nowhere");
    let path = scratch.file("none").join("state.safetensors");
    let message = StateDict::new().save(&path).unwrap_err().to_string();
    assert!(message.contains("none does not exist"), "{message}");
    // A file where a directory should be.
    std::fs::write(scratch.file("none"), b"").unwrap();
    assert!(StateDict::new().save(&path).is_err());
    assert_eq!(scratch.names(), ["none"]);
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_keeps_its_file() {
    use std::os::unix::fs::PermissionsExt;

    let scratch = Scratch::new("locked");
    let path = scratch.file("state.safetensors");
    StateDict::from_iter([("a", Tensor::from(1_i64))])
        .save(&path)
        .unwrap();
    let old = std::fs::read(&path).unwrap();
    let mode = |mode| std::fs::set_permissions(&scratch.0, PermissionsExt::from_mode(mode));
    mode(0o555).unwrap();
    // Some users may write everywhere.
    let locked = std::fs::write(scratch.file("probe"), b"").is_err();
    let result = StateDict::from_iter([("a", Tensor::from(2_i64))]).save(&path);
    mode(0o755).unwrap();
    if locked {
        assert!(result.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), old);
    }
}

#[test]
fn elements_in_another_memory_order_are_written_in_order() {
    // 6 MiB, so that they are written in parts, in rows and in columns.
    let wide = Tensor::arange(0, 3 << 18, ()).unwrap();
    let tensors = [
        wide.reshape([3 << 9, 1 << 9]).unwrap().t().unwrap(),
        wide.reshape([1, 2, 3 << 17])
            .unwrap()
            .transpose(1, 2)
            .unwrap(),
        wide.reshape([1, 3 << 17, 2])
            .unwrap()
            .transpose(1, 2)
            .unwrap(),
        wide.reshape([3, 1 << 18])
            .unwrap()
            .narrow(1, 5..(1 << 18))
            .unwrap(),
        Tensor::from(3_i64).expand([700, 500]).unwrap(),
    ];
    for tensor in &tensors {
        let mut bytes = Vec::new();
        let mut output = Output::new("memory".as_ref(), &mut bytes);
        output.tensor(tensor).unwrap();
        output.flush().unwrap();
        drop(output);
        assert!(bytes == tensor.to_host().unwrap().to_le_bytes());
    }
}

#[cfg(unix)]
#[test]
fn files_that_are_read_in_parts_are_whole() {
    use super::contents::PART;
    use super::read_file::read_together;

    let scratch = Scratch::new("parts");
    let path = scratch.file("bytes");
    // A part longer than one thread's share, unless each byte takes as long as in Miri.
    let length = if cfg!(miri) { 10_003 } else { 2 * PART + 3 };
    let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
    std::fs::write(&path, &bytes).unwrap();
    let file = File::open(&path).unwrap();
    for places in [vec![], vec![0..0, 0..1, 5..9, 2..3], vec![7..length, 0..7]] {
        let mut read: Vec<Vec<u8>> = places.iter().map(|place| vec![0; place.len()]).collect();
        let starts = places.iter().map(|place| place.start);
        let parts = starts.zip(read.iter_mut().map(Vec::as_mut_slice));
        read_together(&file, parts.collect()).unwrap();
        for (place, read) in places.into_iter().zip(read) {
            assert!(read == bytes[place.clone()], "{place:?}");
        }
    }
    // A part that was truncated in the meantime.
    let error = read_together(&file, vec![(length - 3, &mut [0; 4])]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}
