//! Damaged and malicious GGUF files: each gives an error that names the file, none panics, and none needs more memory than
//! a small multiple of its size.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::PathBuf;

use module_core::checkpoint::{Gguf, GgufArray, GgufValue};
use module_core::{BlockFormat, FileError};
use module_nn::prelude::*;
use module_tests::files::mapped;
use module_tests::memory::height_with_moves_of;

/// The maximum memory for reading, per byte of a file: descriptions of 24 bytes become tensors.
const FACTOR: usize = 32;

/// A file that is rewritten for each attempt.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("damaged-gguf-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn read(&self, bytes: &[u8]) -> Result<Gguf> {
        std::fs::write(&self.0, bytes).unwrap();
        let mut result = None;
        for options in [ReadOptions::new(), mapped()] {
            let (read, taken) = height_with_moves_of(|| Gguf::open_with(&self.0, &options));
            let size = bytes.len();
            assert!(
                taken <= FACTOR * size + (1 << 20),
                "{taken} bytes for a file of {size}"
            );
            result = Some(read);
        }
        let result = result.expect("read twice");
        match &result {
            Ok(file) => {
                for (_, tensor) in &file.tensors {
                    tensor.unpack().unwrap().to_host().unwrap();
                }
            }
            Err(error) => {
                let message = error.to_string();
                let typed = matches!(
                    error.downcast_ref(),
                    Some(FileError::Format { .. } | FileError::NoStateDict { .. })
                );
                assert!(typed && message.len() < 4000, "{message}");
                assert!(message.contains("damaged-gguf-"), "{message}");
            }
        }
        result
    }

    #[track_caller]
    fn refuse(&self, bytes: &[u8], why: &str) {
        let error = self.read(bytes).expect_err(why).to_string();
        assert!(error.contains(why), "{error}\nbut not: {why}");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A file of metadata of several types, plain tensors and packed ones.
fn sound() -> Vec<u8> {
    let x = Tensor::ones([2, 64], ()).unwrap();
    let state = StateDict::from_iter([
        (
            "plain",
            Tensor::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        ),
        ("packed", BlockFormat::Q4_0.quantize(&x).unwrap()),
        ("half", x.to_dtype(DType::BF16).unwrap()),
        ("none", Tensor::zeros([0, 2], DType::F64).unwrap()),
        ("one", Tensor::from(7_i64)),
    ]);
    let mut file = Gguf::new(state);
    for (key, value) in [
        ("name", GgufValue::from("sound")),
        ("truth", true.into()),
        (
            "list",
            GgufArray::Str(vec!["a".to_owned(), "bc".to_owned()]).into(),
        ),
        ("general.alignment", 16_u32.into()),
        (
            "deep",
            GgufArray::Array(vec![GgufArray::U8(vec![1]), GgufArray::Bool(vec![true])]).into(),
        ),
    ] {
        file.metadata.insert(key.to_owned(), value);
    }
    file.to_bytes().unwrap()
}

/// The parts of a handmade file.
struct Parts {
    tensors: u64,
    entries: u64,
    header: Vec<u8>,
    elements: usize,
}

fn text(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text].concat()
}

/// An entry of metadata of a type, with the bytes of its value.
fn entry(key: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [&text(key.as_bytes()), &kind.to_le_bytes()[..], value].concat()
}

/// The description of a tensor, with its sizes in the file's order.
fn tensor(name: &str, sizes: &[u64], kind: u32, start: u64) -> Vec<u8> {
    let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
    let rank = (sizes.len() / 8) as u32;
    let (kind, start) = (kind.to_le_bytes(), start.to_le_bytes());
    [
        &text(name.as_bytes()),
        &rank.to_le_bytes()[..],
        &sizes,
        &kind,
        &start,
    ]
    .concat()
}

impl Parts {
    fn of(entries: &[Vec<u8>], tensors: &[Vec<u8>], elements: usize) -> Self {
        Self {
            tensors: tensors.len() as u64,
            entries: entries.len() as u64,
            header: [entries.concat(), tensors.concat()].concat(),
            elements,
        }
    }

    fn file(&self) -> Vec<u8> {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend(self.tensors.to_le_bytes());
        file.extend(self.entries.to_le_bytes());
        file.extend(&self.header);
        if self.elements > 0 {
            file.resize(file.len().next_multiple_of(32), 0);
            file.resize(file.len() + self.elements, 1);
        }
        file
    }
}

#[test]
fn sound_files_are_read() {
    let scratch = Scratch::new("control");
    let file = scratch.read(&sound()).unwrap();
    assert_eq!((file.tensors.len(), file.metadata.len()), (5, 5));
    // The crafted headers below are like these, with one error each.
    let parts = Parts::of(
        &[entry("a", 4, &[1, 0, 0, 0])],
        &[tensor("x", &[2], 0, 0)],
        8,
    );
    assert_eq!(scratch.read(&parts.file()).unwrap().tensors.len(), 1);
    assert!(
        scratch
            .read(&Parts::of(&[], &[], 0).file())
            .unwrap()
            .tensors
            .is_empty()
    );
    // In any order of the descriptions.
    let swapped = [tensor("x", &[8], 0, 32), tensor("y", &[8], 0, 0)];
    assert_eq!(
        scratch
            .read(&Parts::of(&[], &swapped, 64).file())
            .unwrap()
            .tensors
            .len(),
        2
    );
}

#[test]
fn every_truncation_and_every_surplus_is_refused() {
    let scratch = Scratch::new("cut");
    let file = sound();
    // Missing padding of the last tensor cannot be noticed: it has eight bytes.
    for end in 0..=file.len() - 9 {
        assert!(
            scratch.read(&file[..end]).is_err(),
            "{end} of {}",
            file.len()
        );
    }
    for more in [1, 16, 4096] {
        scratch.refuse(
            &[&*file, &vec![0; more]].concat(),
            "bytes follow the last tensor",
        );
    }
    scratch.refuse(
        &file[..100],
        "it is said to have 5 tensors, but 84 bytes follow (truncated?)",
    );
    scratch.refuse(&file[..file.len() - 9], "`one` takes 8 bytes from");
}

#[test]
fn no_flipped_bit_of_the_header_harms() {
    let scratch = Scratch::new("flipped");
    let file = sound();
    // Elements begin with 1.0 of `plain`.
    let header = file
        .windows(8)
        .position(|part| part == [0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]);
    let header = header.unwrap();
    let mut errors = 0;
    for bit in 0..8 * header {
        let mut flipped = file.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        errors += usize::from(scratch.read(&flipped).is_err());
    }
    assert!(
        header > 300 && errors > 4 * header,
        "{errors} of {}",
        8 * header
    );
}

#[test]
fn crafted_metadata_is_refused() {
    let scratch = Scratch::new("metadata");
    let alone = |entries: &[Vec<u8>]| Parts::of(entries, &[], 0).file();
    let array = |kind: u32, count: u64, rest: &[u8]| {
        entry(
            "a",
            9,
            &[&kind.to_le_bytes(), &count.to_le_bytes()[..], rest].concat(),
        )
    };
    scratch.refuse(
        &alone(&[entry("a", 13, &[0; 8])]),
        "`a`: the type 13 of a value is unknown",
    );
    scratch.refuse(&alone(&[entry("a", 7, &[2])]), "a truth value is 2");
    scratch.refuse(
        &alone(&[entry("a", 8, &text(b"x\xff"))]),
        "is not UTF-8 from its byte 1 on",
    );
    scratch.refuse(
        &alone(&[entry("a", 0, &[1]), entry("a", 0, &[1])]),
        "the key of the metadata `a` stands twice",
    );
    let key = [&text(b"\xc3"), &0_u32.to_le_bytes()[..], &[0; 8]].concat();
    scratch.refuse(&alone(&[key]), "the key `\u{fffd}` is not UTF-8");
    for count in [9, 1 << 20, 1 << 32, 1 << 62, u64::MAX] {
        scratch.refuse(
            &alone(&[array(0, count, &[0; 8])]),
            &format!("{count} elements in an array"),
        );
        scratch.refuse(
            &alone(&[array(8, count, &[0; 8])]),
            &format!("{count} elements in an array"),
        );
        scratch.refuse(
            &alone(&[array(9, count, &[0; 12])]),
            &format!("{count} elements in an array"),
        );
        scratch.refuse(
            &alone(&[entry("a", 8, &count.to_le_bytes())]),
            "the file ends early (truncated?)",
        );
    }
    for kind in [10, 11, 12] {
        scratch.refuse(
            &alone(&[array(kind, 2, &[0; 15])]),
            "the file ends early (truncated?)",
        );
    }
    scratch.refuse(&alone(&[array(13, 0, &[])]), "the type 13");
    scratch.refuse(&alone(&[array(7, 2, &[1, 3])]), "a truth value is 3");
    // Nested arrays, deeper than any stack.
    let one = [9_u32.to_le_bytes().to_vec(), 1_u64.to_le_bytes().to_vec()].concat();
    let deep = one.repeat(100_000);
    scratch.refuse(
        &alone(&[entry("a", 9, &deep)]),
        "arrays lie more than 8 deep in each other",
    );
    for (kind, value) in [
        (4, vec![0, 0, 0, 0]),
        (4, vec![24, 0, 0, 0]),
        (4, vec![255; 4]),
        (5, vec![32, 0, 0, 0]),
        (10, vec![32, 0, 0, 0, 0, 0, 0, 0]),
        (8, text(b"32")),
    ] {
        let file = alone(&[entry("general.alignment", kind, &value)]);
        scratch.refuse(&file, "and not a power of two of the type u32");
    }
    // An alignment as large as there are leaves no room for tensors.
    let huge = entry("general.alignment", 4, &(1_u32 << 31).to_le_bytes());
    let file = Parts::of(&[huge], &[tensor("x", &[2], 0, 0)], 8).file();
    scratch.refuse(&file, "`x` takes 8 bytes from 0 behind the header on");
    for (tensors, entries) in [
        (u64::MAX, 0),
        (0, u64::MAX),
        (1, 0),
        (0, 1),
        (1 << 60, 1 << 60),
    ] {
        let (header, elements) = (Vec::new(), 0);
        let parts = Parts {
            tensors,
            entries,
            header,
            elements,
        };
        scratch.refuse(&parts.file(), "(truncated?)");
    }
}

#[test]
fn crafted_tensors_are_refused() {
    let scratch = Scratch::new("tensors");
    let file = |tensors: &[Vec<u8>], elements| Parts::of(&[], tensors, elements).file();
    let one = |sizes: &[u64], kind, start| file(&[tensor("x", sizes, kind, start)], 64);
    scratch.refuse(
        &one(&[2; 5], 0, 0),
        "`x` has 5 dimensions, and not at most 4",
    );
    scratch.refuse(
        &one(&[16], 3, 0),
        "`x`: the type Q4_1 is not supported, but these are: F32, F16, Q4_0",
    );
    scratch.refuse(&one(&[16], 99, 0), "`x`: the type 99 is not supported");
    scratch.refuse(
        &one(&[16], 2, 0),
        "its rows of 16 elements are no whole blocks of 32, as Q4_0 has them",
    );
    scratch.refuse(&one(&[32, 2], 12, 0), "no whole blocks of 256");
    scratch.refuse(&one(&[], 2, 0), "its rows of 1 elements");
    scratch.refuse(
        &one(&[16], 0, 32),
        "`x` begins at 32 behind the header, and not at 0",
    );
    scratch.refuse(
        &one(&[16], 0, 1),
        "`x` begins at 1 behind the header, and not at 0",
    );
    scratch.refuse(
        &one(&[16], 0, u64::MAX),
        "`x` begins at 18446744073709551615",
    );
    scratch.refuse(&one(&[8], 0, 0), "bytes follow the last tensor");
    scratch.refuse(
        &one(&[17], 0, 0),
        "`x` takes 68 bytes from 0 behind the header on",
    );
    for sizes in [
        vec![u64::MAX],
        vec![1 << 63, 2],
        vec![1 << 32, 1 << 32],
        vec![1 << 16; 4],
        vec![0, u64::MAX, u64::MAX],
        vec![u64::MAX / 4 + 1],
    ] {
        scratch.refuse(&one(&sizes, 0, 0), "are too large");
    }
    for sizes in [vec![1 << 40], vec![1 << 20, 1 << 20]] {
        scratch.refuse(&one(&sizes, 0, 0), "the file ends early (truncated?)");
        scratch.refuse(&one(&sizes, 14, 0), "the file ends early (truncated?)");
    }
    // Two in the same place, overlapping, with a gap between them, out of place.
    for (second, length) in [(0, 32), (16, 64), (64, 128), (33, 96)] {
        let both = [tensor("x", &[8], 0, 0), tensor("y", &[8], 0, second)];
        let why = format!("begins at {second} behind the header, and not at 32");
        scratch.refuse(&file(&both, length), &why);
    }
    let twice = [tensor("x", &[8], 0, 0), tensor("x", &[8], 0, 32)];
    scratch.refuse(&file(&twice, 64), "the name of a tensor `x` stands twice");
    let name = [&text(b"\xff")[..], &[0; 16]].concat();
    scratch.refuse(&file(&[name], 64), "the name `\u{fffd}` is not UTF-8");
    // Names that would control a terminal, or fill it.
    let long = "\u{1b}[2J".repeat(1000);
    let error = scratch
        .read(&file(&[tensor(&long, &[16], 3, 0)], 64))
        .unwrap_err()
        .to_string();
    assert!(error.len() < 1000 && !error.contains('\u{1b}'), "{error}");
}

#[test]
fn many_small_parts_take_memory_by_their_size() {
    let scratch = Scratch::new("many");
    let names = |i: i32| format!("{i:x}");
    let tensors: Vec<_> = (0..20_000).map(|i| tensor(&names(i), &[0], 0, 0)).collect();
    assert_eq!(
        scratch
            .read(&Parts::of(&[], &tensors, 0).file())
            .unwrap()
            .tensors
            .len(),
        20_000
    );
    let entries: Vec<_> = (0..50_000).map(|i| entry(&names(i), 0, &[1])).collect();
    assert_eq!(
        scratch
            .read(&Parts::of(&entries, &[], 0).file())
            .unwrap()
            .metadata
            .len(),
        50_000
    );
    for (kind, one) in [
        (8_u32, vec![0; 8]),
        (9, vec![0; 12]),
        (7, vec![1]),
        (0, vec![1]),
    ] {
        let count = 100_000_u64;
        let value = [
            &kind.to_le_bytes()[..],
            &count.to_le_bytes(),
            &one.repeat(100_000),
        ]
        .concat();
        let file = Parts::of(&[entry("a", 9, &value)], &[], 0).file();
        let read = scratch.read(&file).unwrap();
        assert_eq!(read.metadata["a"].as_array().unwrap().len(), 100_000);
    }
}
