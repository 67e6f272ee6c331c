//! Damaged and malicious GGUF files: each gives an error that names the file, none panics, and none needs more memory than
//! a small multiple of its size.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod crafted;

use module_core::checkpoint::{Gguf, GgufArray, GgufValue};
use module_core::{BlockFormat, FileError};
use module_nn::prelude::*;
use module_tests::files::{Scratch, mapped};
use module_tests::memory::height_with_moves_of;

/// The maximum memory for reading, per byte of a file: descriptions of 24 bytes become tensors.
const FACTOR: usize = 32;

/// A file that is rewritten for each attempt.
struct Attempt(Scratch);

impl Attempt {
    fn new(name: &str) -> Self {
        Self(Scratch::new(&format!("damaged-gguf-{name}")))
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
    let attempt = Attempt::new("control");
    let file = attempt.read(&sound()).unwrap();
    assert_eq!((file.tensors.len(), file.metadata.len()), (5, 5));
    // The crafted headers below are like these, with one error each.
    let parts = Parts::of(
        &[entry("a", 4, &[1, 0, 0, 0])],
        &[tensor("x", &[2], 0, 0)],
        8,
    );
    assert_eq!(attempt.read(&parts.file()).unwrap().tensors.len(), 1);
    assert!(
        attempt
            .read(&Parts::of(&[], &[], 0).file())
            .unwrap()
            .tensors
            .is_empty()
    );
    // In any order of the descriptions.
    let swapped = [tensor("x", &[8], 0, 32), tensor("y", &[8], 0, 0)];
    assert_eq!(
        attempt
            .read(&Parts::of(&[], &swapped, 64).file())
            .unwrap()
            .tensors
            .len(),
        2
    );
}

#[test]
fn every_truncation_and_every_surplus_is_refused() {
    let attempt = Attempt::new("cut");
    let file = sound();
    // Missing padding of the last tensor cannot be noticed: it has eight bytes.
    for end in 0..=file.len() - 9 {
        assert!(
            attempt.read(&file[..end]).is_err(),
            "{end} of {}",
            file.len()
        );
    }
    for more in [1, 16, 4096] {
        attempt.refuse(
            &[&*file, &vec![0; more]].concat(),
            "bytes follow the last tensor",
        );
    }
    attempt.refuse(
        &file[..100],
        "it is said to have 5 tensors, but 84 bytes follow (truncated?)",
    );
    attempt.refuse(&file[..file.len() - 9], "`one` takes 8 bytes, starting");
}

#[test]
fn no_flipped_bit_of_the_header_harms() {
    let attempt = Attempt::new("flipped");
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
        errors += usize::from(attempt.read(&flipped).is_err());
    }
    assert!(
        header > 300 && errors > 4 * header,
        "{errors} of {}",
        8 * header
    );
}

#[test]
fn many_small_parts_take_memory_by_their_size() {
    let attempt = Attempt::new("many");
    let names = |i: i32| format!("{i:x}");
    let tensors: Vec<_> = (0..20_000).map(|i| tensor(&names(i), &[0], 0, 0)).collect();
    assert_eq!(
        attempt
            .read(&Parts::of(&[], &tensors, 0).file())
            .unwrap()
            .tensors
            .len(),
        20_000
    );
    let entries: Vec<_> = (0..50_000).map(|i| entry(&names(i), 0, &[1])).collect();
    assert_eq!(
        attempt
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
        let read = attempt.read(&file).unwrap();
        assert_eq!(read.metadata["a"].as_array().unwrap().len(), 100_000);
    }
}
