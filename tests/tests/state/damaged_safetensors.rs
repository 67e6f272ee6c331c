//! Damaged and malicious safetensors files and indices: each gives an error that names the file, none panics, and none
//! needs more memory than a small multiple of its size.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod headers;
mod indices;

use std::path::Path;

use module_nn::prelude::*;
use module_tests::files::{Scratch, mapped};
use module_tests::memory::{height_with_moves_of, held};
use module_tests::processes::ran_in_a_child;

/// The maximum memory for reading, per byte of a file. Names of a few letters become strings, and descriptions of fifty
/// bytes become tensors.
const FACTOR: usize = 32;

/// Reads a file in both ways and checks the memory used; the size is that of all its files.
fn read(path: &Path, size: usize) -> Result<StateDict> {
    let mut result = None;
    for options in [ReadOptions::new(), mapped()] {
        let (read, taken) = height_with_moves_of(|| StateDict::load_with(path, &options));
        result = Some(read);
        assert!(
            taken <= FACTOR * size + (1 << 20),
            "{taken} bytes were allocated for a file of {size}"
        );
    }
    let result = result.expect("read twice");
    if let Err(error) = &result {
        let message = error.to_string();
        let typed = matches!(
            error.downcast_ref(),
            Some(FileError::Format { .. } | FileError::NoStateDict { .. } | FileError::File { .. })
        );
        assert!(typed, "{message}");
        assert!(message.starts_with('/') || cfg!(windows), "{message}");
    }
    result
}

/// Asserts that each of these files is refused.
#[track_caller]
fn refused(scratch: &Scratch, files: impl IntoIterator<Item = Vec<u8>>) -> usize {
    let mut number = 0;
    for file in files {
        let path = scratch.put("file.safetensors", &file);
        if read(&path, file.len()).is_ok() {
            panic!("accepted: {:?}", String::from_utf8_lossy(&file));
        }
        number += 1;
    }
    number
}

/// A file of several dtypes, a tensor without elements, one without dimensions, and a tie.
fn sound() -> Vec<u8> {
    let cpu = Device::cpu();
    let weight = Tensor::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let state = StateDict::from_iter([
        ("weight", weight.clone()),
        ("steps", Tensor::from(7_i64)),
        ("mask", Tensor::from([true, false, true])),
        ("half", Tensor::ones([5], (DType::BF16, &cpu)).unwrap()),
        ("none", Tensor::zeros([0, 2], (DType::F64, &cpu)).unwrap()),
        ("tied", weight),
    ]);
    let scratch = Scratch::directory("damaged-safetensors-sound");
    let path = scratch.0.join("sound.safetensors");
    state.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

/// A file with this header and this many bytes of elements.
fn with_header(header: impl AsRef<[u8]>, elements: usize) -> Vec<u8> {
    let header = header.as_ref();
    let length = (header.len() as u64).to_le_bytes();
    [&length, header, &vec![1; elements]].concat()
}

#[test]
fn sound_files_are_read() {
    let scratch = Scratch::directory("damaged-safetensors-control");
    let file = sound();
    let state = read(&scratch.put("file", &file), file.len()).unwrap();
    assert_eq!(state.len(), 6);
    let one = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    // The crafted headers below are like these, with one error each.
    read(&scratch.put("file", &with_header(one, 8)), 100).unwrap();
    read(&scratch.put("file", &with_header("{}", 0)), 10).unwrap();
}

#[test]
fn every_truncation_and_every_surplus_is_refused() {
    let scratch = Scratch::directory("damaged-safetensors-cut");
    let file = sound();
    let prefixes = (0..file.len()).map(|end| file[..end].to_vec());
    let longer = [1, 7, 8, 4096].map(|more| [&*file, &vec![0; more]].concat());
    let number = refused(&scratch, prefixes.chain(longer));
    assert!(number > 400, "{number}");
}

#[test]
fn no_flipped_bit_of_the_header_harms() {
    let scratch = Scratch::directory("damaged-safetensors-flipped");
    let file = sound();
    let header = 8 + usize::from(u16::from_le_bytes([file[0], file[1]]));
    let (mut errors, mut total) = (0, 0);
    for bit in 0..8 * header {
        let mut flipped = file.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let path = scratch.put("file.safetensors", &flipped);
        total += 1;
        match read(&path, flipped.len()) {
            Err(_) => errors += 1,
            // A name, a remark, or another dtype of the same size; all elements are still there.
            Ok(state) => {
                let bytes = |(_, x): (&str, &Tensor)| x.numel() * x.dtype().size_in_bytes();
                let bytes: usize = state.iter().map(bytes).sum();
                let tied = 24;
                let all = file.len() - header;
                assert!(bytes == all || bytes == all + tied, "bit {bit}: {bytes}");
            }
        }
    }
    assert!(errors > 2000 && total > 2500, "{errors} of {total}");
}

#[test]
fn many_small_parts_take_memory_by_their_size() {
    let scratch = Scratch::directory("damaged-safetensors-many");
    let join = |parts: Vec<String>| parts.join(",");
    let numbers = 0..50_000;
    let entry = |i: i32| format!(r#""{i:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
    let entries = format!("{{{}}}", join(numbers.clone().map(entry).collect()));
    let fine = r#""a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}"#;
    let ties = join(numbers.clone().map(|i| format!(r#""{i:x}":"a""#)).collect());
    let ties = format!(r#"{{"__metadata__":{{{ties}}},{fine}}}"#);
    let ones = "1,".repeat(50_000);
    let deep = format!(r#"{{"a":{{"dtype":"U8","shape":[{ones}8],"data_offsets":[0,8]}}}}"#);
    for (header, elements) in [(entries, 0), (ties, 8), (deep, 8)] {
        let file = with_header(header, elements);
        // Whether it is read does not matter here.
        let _ = read(&scratch.put("file.safetensors", &file), file.len());
    }
}

#[test]
fn metadata_without_tensors_is_an_empty_state_dict() {
    // As `safetensors.torch.save({}, metadata={"epoch": "5"})` writes it, and `load` reads it.
    let header = r#"{"__metadata__":{"epoch":"5"}}"#.to_owned();
    let state = StateDict::from_bytes(with_header(header, 0)).unwrap();
    assert!(state.is_empty(), "{state:?}");
}

#[test]
fn a_file_is_held_once_while_it_is_read() {
    // Memory freed by other tests would be reused and not counted.
    if ran_in_a_child("damaged_safetensors::a_file_is_held_once_while_it_is_read") {
        return;
    }
    let scratch = Scratch::directory("damaged-safetensors-held-once");
    let tensor = |value: f32| Tensor::full([1 << 20], value, DType::F32).unwrap();
    let state: StateDict = (0..6)
        .map(|i| (format!("t{i}"), tensor(i as f32)))
        .collect();
    let path = scratch.0.join("state.safetensors");
    state.save(&path).unwrap();
    let sharded = scratch.0.join("shards");
    state.save_sharded(&sharded, 5 << 20).unwrap();
    drop(state);
    // Memory cached for future tensors would hide the allocations.
    Device::cpu().empty_cache();
    for place in [path, sharded] {
        let before = held();
        let (state, taken) = height_with_moves_of(|| StateDict::load(place).unwrap());
        let held = held() - before;
        assert!(held >= 24 << 20, "{held}");
        assert!(taken <= 25 << 20, "{taken} bytes were allocated for 24 MiB");
        drop(state);
        Device::cpu().empty_cache();
    }
}

#[test]
fn ranks_are_refused_before_they_take_memory() {
    let scratch = Scratch::directory("damaged-safetensors-ranks");
    let file = |rank: usize| {
        let ones = "1,".repeat(rank - 1);
        let header = format!(r#"{{"a":{{"dtype":"U8","shape":[{ones}8],"data_offsets":[0,8]}}}}"#);
        with_header(header, 8)
    };
    let state = read(&scratch.put("file", &file(64)), 200).unwrap();
    assert_eq!(state.get("a").unwrap().shape().rank(), 64);
    for rank in [65, 1000, 5_000_000] {
        // The header is copied, and nothing is made of its numbers.
        let file = file(rank);
        let path = scratch.put("file", &file);
        let (read, taken) = height_with_moves_of(|| StateDict::load_with(&path, &mapped()));
        assert!(taken < file.len() + (1 << 20), "{rank}");
        let message = read.unwrap_err().to_string();
        assert!(message.contains("more than 64 dimensions"), "{message}");
    }
}

#[test]
fn files_that_were_cut_off_are_told_so() {
    let scratch = Scratch::directory("damaged-safetensors-cut-words");
    let file = sound();
    for end in 0..file.len() {
        let path = scratch.put("file", &file[..end]);
        let message = StateDict::load(path).unwrap_err().to_string();
        assert!(message.contains("(truncated?)"), "{end}: {message}");
    }
    let path = scratch.put("file", &[&*file, b"\0"].concat());
    let message = StateDict::load(path).unwrap_err().to_string();
    assert!(!message.contains("(truncated?)"), "{message}");
}
