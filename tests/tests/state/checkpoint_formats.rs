//! Checkpoints of PyTorch and NumPy load exactly, or give an error with the reason.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::io::Cursor;

use module_core::{FileError, ReadOptions, Result, StateDict, Tensor};
use module_nn::prelude::*;
use module_tests::files::mapped;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

fn cases(folder: &str) -> (Vec<Value>, StateDict) {
    let (cases, tensors) = golden::load(format!("{folder}/expected.safetensors"));
    (cases.as_array().expect("a list of cases").clone(), tensors)
}

fn read(path: &str, entry: Option<&str>, options: ReadOptions) -> Result<StateDict> {
    StateDict::load_with(golden::path(path), &with_entry(options, entry))
}

fn with_entry(options: ReadOptions, entry: Option<&str>) -> ReadOptions {
    match entry {
        Some(entry) => options.entry(entry),
        None => options,
    }
}

/// Reads a copy of a file that is truncated immediately after it was read.
fn read_and_cut(path: &str, entry: Option<&str>, options: ReadOptions) -> Result<StateDict> {
    let name = format!("cut-{}-{}", std::process::id(), path.replace('/', "-"));
    let copy = std::env::temp_dir().join(name);
    // It may have the mode of a read-only file.
    std::fs::write(&copy, std::fs::read(golden::path(path))?)?;
    let state = StateDict::load_with(&copy, &with_entry(options, entry));
    std::fs::OpenOptions::new()
        .write(true)
        .open(&copy)?
        .set_len(0)?;
    std::fs::remove_file(&copy)?;
    state
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

fn pairs<'a>(value: &'a Value, state: &'a StateDict) -> Vec<[(&'a str, &'a Tensor); 2]> {
    let named = |key: &'a Value| (text(key), state.get(text(key)).expect("a key of the file"));
    let pairs = value.as_array().expect("a list").iter();
    pairs
        .map(|pair| [named(&pair[0]), named(&pair[1])])
        .collect()
}

/// Every case that loads; returns their number.
fn load_exactly(folder: &str) -> usize {
    let (cases, expected) = cases(folder);
    let mut files = 0;
    for case in cases.iter().filter(|case| case["error"].is_null()) {
        let (file, entry) = (text(&case["file"]), case["entry"].as_str());
        let name = format!("{file}, entry {entry:?}");
        // Windows that overlap are more elements than there are.
        let expanded = file.starts_with("views.");
        let options = || ReadOptions::new().expanded(expanded);
        let path = format!("{folder}/{file}");
        let states = [
            read(&path, entry, options()),
            read(&path, entry, mapped().expanded(expanded)),
            read_and_cut(&path, entry, options()),
        ];
        // An index names other files, and a directory holds several.
        let alone = !file.ends_with(".index.json") && golden::path(&path).is_file();
        let in_memory = alone.then(|| {
            let bytes = std::fs::read(golden::path(&path)).unwrap();
            let options = with_entry(options(), entry);
            let reader = StateDict::from_reader_with(Cursor::new(&bytes), &options);
            [reader, StateDict::from_bytes_with(bytes, &options)]
        });
        for state in states.into_iter().chain(in_memory.into_iter().flatten()) {
            let state = state.expect(&name);
            let keys: Vec<&str> = case["keys"].as_array().unwrap().iter().map(text).collect();
            assert_eq!(state.keys().collect::<Vec<_>>(), keys, "{name}");
            for (key, tensor) in state.iter() {
                assert!(!tensor.requires_grad());
                let recorded = format!("{file}/{}/{key}", entry.unwrap_or_default());
                // If only ties matter, elements are not recorded.
                let Some(recorded) = expected.get(&recorded) else {
                    assert!(file.starts_with("ties."), "{name}");
                    continue;
                };
                compare(tensor, recorded, Tolerance::EXACT)
                    .map_err(|problem| format!("{name}, {key}: {problem}"))
                    .unwrap();
            }
            let ties = pairs(&case["ties"], &state);
            for [(one, a), (other, b)] in &ties {
                let same = a.shares_memory_with(b) && a.layout() == b.layout();
                assert!(same, "{name}: {one} and {other}");
            }
            if case["shared"].is_null() {
                continue;
            }
            for [(one, a), (other, b)] in &pairs(&case["shared"], &state) {
                assert!(a.shares_memory_with(b), "{name}: {one} and {other}");
                let tie = ties.iter().any(|[x, y]| (x.0, y.0) == (*one, *other));
                assert_eq!(tie, a.layout() == b.layout(), "{name}: {one} and {other}");
            }
        }
        files += 1;
    }
    files
}

#[test]
fn files_of_pytorch_and_numpy_load_exactly() {
    let files = load_exactly("checkpoints");
    assert!(files >= 49, "only {files} files");
}

#[test]
fn lazy_views_and_the_tensors_beside_python_objects_load_exactly() {
    let files = load_exactly("checkpoint_objects");
    assert!(files >= 12, "only {files} files");
}

/// Every case that is refused, with the required parts of the message; returns their number.
fn refuse(folder: &str) -> usize {
    let (cases, _) = cases(folder);
    let mut refused = 0;
    for case in cases.iter().filter(|case| !case["error"].is_null()) {
        let (file, entry) = (text(&case["file"]), case["entry"].as_str());
        let path = format!("{folder}/{file}");
        let error = read(&path, entry, ReadOptions::new()).expect_err(file);
        let message = error.to_string();
        // Only these are no files of a known format.
        let damaged = ["structured.npz", "array.npy"].contains(&file);
        let kind = match error.downcast_ref() {
            Some(FileError::Format { .. }) => damaged,
            Some(FileError::NoStateDict { .. }) => !damaged && !message.contains("not a valid"),
            _ => false,
        };
        assert!(kind, "{error:?}");
        for words in case["error"].as_array().unwrap().iter().map(text) {
            assert!(message.contains(words), "{file}: {message}\nlacks: {words}");
        }
        // Following the message's advice works.
        if let Some(shapes) = case["expanded"].as_object() {
            let state = read(&path, entry, ReadOptions::new().expanded(true)).expect(file);
            assert_eq!(state.len(), shapes.len(), "{file}");
            for (key, shape) in shapes {
                let found: Vec<Value> = state
                    .get(key)
                    .unwrap()
                    .shape()
                    .iter()
                    .map(|&n| n.into())
                    .collect();
                assert_eq!(&Value::from(found), shape, "{file}, {key}");
            }
        }
        refused += 1;
    }
    refused
}

#[test]
fn what_is_no_state_dict_is_refused_with_the_cure() {
    let refused = refuse("checkpoints");
    assert!(refused >= 20, "only {refused} files");
}

#[test]
fn what_is_not_served_is_refused_where_it_is_asked_for() {
    let refused = refuse("checkpoint_objects");
    assert!(refused >= 60, "only {refused} files");
}

#[test]
fn views_of_more_elements_than_there_are_need_leave() {
    let message = read("checkpoints/views.pt", None, ReadOptions::new())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("`windows`") && message.contains("expanded(true)"),
        "{message}"
    );
}

/// Loads a file of these bytes.
fn load(name: &str, bytes: &[u8]) -> Result<StateDict> {
    let file = format!("checkpoint-formats-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(file);
    std::fs::write(&path, bytes).unwrap();
    let read = StateDict::load(&path);
    std::fs::remove_file(path).unwrap();
    read
}

#[test]
fn files_that_are_mistaken_for_checkpoints_are_named() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 438007925\n";
    let tar = [&[b'x'; 257][..], b"ustar\0", &[0; 249]].concat();
    let text = "é".repeat(2000);
    for (name, content, words) in [
        (
            "lfs",
            pointer.as_bytes(),
            "Git LFS pointer to a file of 438007925 bytes that was not downloaded; run `git lfs pull`",
        ),
        (
            "html",
            b"\n<!DOCTYPE html>\n<html><head><title>404</title>",
            "an HTML page",
        ),
        ("html", b"\xef\xbb\xbf<HTML lang=\"en\">", "an HTML page"),
        (
            "xml",
            b"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
            "an XML document",
        ),
        (
            "text",
            b"Entry not found",
            "a text that begins with `Entry not found`",
        ),
        (
            "text",
            text.as_bytes(),
            "a text that begins with `\u{e9}\u{e9}",
        ),
        (
            "npy",
            b"\x93NUMPY\x01\0",
            "it has only 8 bytes (truncated?); download",
        ),
        (
            "npy",
            b"\x93NUMPY\x01\0\x76\0{'descr'",
            "a single NumPy array (`.npy`)",
        ),
        ("hdf5", b"\x89HDF\r\n\x1a\n\0\0\0\0", "an HDF5 file"),
        (
            "gguf",
            b"GGUF\x03\0\0\0\0\0",
            "not a valid GGUF file: the file ends early (truncated?)",
        ),
        (
            "gzip",
            b"\x1f\x8b\x08\0\0\0\0\0\0\0",
            "compressed by gzip; unpack it",
        ),
        ("tar", &tar, "a tar archive; unpack it"),
        ("empty", b"", "it is empty (truncated?); download"),
        (
            "noise",
            b"\xff\xfe\0\x01\x02\x03\x04\x05\x06\x07",
            "the content is none of: safetensors",
        ),
        (
            "pickle",
            b"\x80\x04}\x94\x8c\x01a\x94K\x01s.",
            "a pickle that `torch.save` did not write; load it in Python",
        ),
    ] {
        let message = load(name, content).unwrap_err().to_string();
        assert!(message.contains(words), "{message}\nlacks: {words}");
        assert!(message.len() < 500, "{message}");
    }
}

#[test]
fn the_entry_that_a_message_names_loads() {
    let path = golden::path("checkpoint_objects/lightning.pt");
    let message = StateDict::load(&path).unwrap_err().to_string();
    for words in [
        "`ReadOptions::entry`",
        "`LoadOptions::entry`",
        "`state_dict`",
    ] {
        assert!(message.contains(words), "{message}");
    }
    let state = StateDict::load_with(&path, &ReadOptions::new().entry("state_dict")).unwrap();
    let layer = Linear::new(3, 2).unwrap();
    let options = LoadOptions::new()
        .entry("state_dict")
        .remap(Remap::new().prefix("0", ""));
    let report = layer.load_with(&path, options.strict(false)).unwrap();
    assert_eq!(report.loaded, ["weight", "bias"]);
    compare(
        &layer.weight().tensor(),
        state.get("0.weight").unwrap(),
        Tolerance::EXACT,
    )
    .unwrap();
}

#[test]
fn a_file_of_pytorch_loads_into_a_module() {
    let layer = Linear::new(1, 1).unwrap();
    let path = golden::path("checkpoints/ordered.legacy.pt");
    let report = layer.load(&path).unwrap();
    assert_eq!(report.loaded, ["weight", "bias"]);
    let state = StateDict::load(path).unwrap();
    let weight = layer.weight().tensor();
    compare(&weight, state.get("weight").unwrap(), Tolerance::EXACT).unwrap();
}
