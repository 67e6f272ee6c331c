//! Damaged and malicious safetensors files and indices: each gives an error that names the file, none panics, and none
//! needs more memory than a small multiple of its size.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use module_nn::prelude::*;
use module_tests::files::mapped;
use module_tests::memory::{height_with_moves_of, held};
use module_tests::processes::ran_in_a_child;

/// The maximum memory for reading, per byte of a file. Names of a few letters become strings, and descriptions of fifty
/// bytes become tensors.
const FACTOR: usize = 32;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("damaged-safetensors-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

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
    let scratch = Scratch::new("sound");
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
    let scratch = Scratch::new("control");
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
    let scratch = Scratch::new("cut");
    let file = sound();
    let prefixes = (0..file.len()).map(|end| file[..end].to_vec());
    let longer = [1, 7, 8, 4096].map(|more| [&*file, &vec![0; more]].concat());
    let number = refused(&scratch, prefixes.chain(longer));
    assert!(number > 400, "{number}");
}

#[test]
fn no_flipped_bit_of_the_header_harms() {
    let scratch = Scratch::new("flipped");
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
fn impossible_lengths_of_the_header_are_refused() {
    let scratch = Scratch::new("length");
    let header = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  "#;
    let lengths = [
        0,
        1,
        2,
        7,
        8,
        55,
        57,
        58,
        63,
        64,
        65,
        1000,
        99_999_999,
        100_000_000,
        100_000_001,
        1 << 31,
        1 << 32,
        (1 << 32) + 56,
        1 << 62,
        1 << 63,
        u64::MAX - 8,
        u64::MAX,
    ];
    let files = lengths.map(|length: u64| [&length.to_le_bytes(), &header[..], &[1; 8]].concat());
    refused(&scratch, files);
}

#[test]
fn crafted_headers_are_refused() {
    let scratch = Scratch::new("crafted");
    let mut headers: Vec<String> = Vec::new();
    // Values that are not an object of tensors.
    for text in [
        "",
        " ",
        "null",
        "true",
        "0",
        "\"a\"",
        "[]",
        "[1]",
        "{",
        "}",
        "{]",
        "{}}",
        "{} {}",
        "{},",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1}",
        "{\"a\":null}",
        "{\"a\":[]}",
        "{\"a\":{}}",
        "{a:{}}",
        "{'a':{}}",
        "{\"a\":\"F32\"}",
        "{\"\\ud800\":{}}",
        "{\"a\\u00zz\":{}}",
        "{\"a\u{0}\":{}}",
        "\u{feff}{}",
        "{/**/}",
        "{\"a\":{\"dtype\":\"F32\"}}",
    ] {
        headers.push(text.to_owned());
    }
    let info = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}"#)
    };
    let fine = info("\"F32\"", "[2]", "[0,8]");
    // One error each, where `fine` is correct.
    for dtype in [
        "\"F33\"",
        "\"f32\"",
        "\"\"",
        "\"F32 \"",
        "null",
        "1",
        "[\"F32\"]",
        "\"F64\"",
        "\"F16\"",
        "\"U8\"",
        "\"BOOL\"",
        "\"F8_E4M3\"",
        "\"F8_E5M2\"",
        "\"I16\"",
        "\"I8\"",
        "\"U16\"",
        "\"U64\"",
        "\"C64\"",
        "\"F4\"",
        "\"float32\"",
    ] {
        headers.push(format!(r#"{{"a":{}}}"#, info(dtype, "[2]", "[0,8]")));
    }
    // With the width of `fine`, but a different shape.
    headers.push(format!(r#"{{"a":{}}}"#, info("\"U32\"", "[3]", "[0,8]")));
    headers.push(format!(r#"{{"a":{}}}"#, info("\"C64\"", "[1,2]", "[0,8]")));
    for shape in [
        "null",
        "2",
        "\"2\"",
        "{}",
        "[]",
        "[0]",
        "[1]",
        "[3]",
        "[2,2]",
        "[-2]",
        "[2.0]",
        "[2.5]",
        "[2e0]",
        "[\"2\"]",
        "[null]",
        "[[2]]",
        "[2,]",
        "[,2]",
        "[02]",
        "[18446744073709551616]",
        "[18446744073709551615]",
        "[18446744073709551615,2]",
        "[4294967296,4294967296]",
        "[9223372036854775808,2]",
        "[4611686018427387905]",
        "[2305843009213693954]",
        "[9223372036854775807,0]",
        "[1e400]",
        "[99999999999999999999999999999999]",
        "[0,18446744073709551615,18446744073709551615]",
    ] {
        headers.push(format!(r#"{{"a":{}}}"#, info("\"F32\"", shape, "[0,8]")));
    }
    for offsets in [
        "null",
        "8",
        "[]",
        "[0]",
        "[8]",
        "[0,8,8]",
        "[8,0]",
        "[-8,0]",
        "[0,-8]",
        "[0,7]",
        "[0,9]",
        "[1,9]",
        "[8,16]",
        "[0,16]",
        "[0.0,8.0]",
        "[\"0\",\"8\"]",
        "{}",
        "[0,18446744073709551615]",
        "[18446744073709551608,0]",
        "[18446744073709551615,18446744073709551615]",
        "[18446744073709551608,18446744073709551616]",
        "[0,1e400]",
        "[null,8]",
    ] {
        headers.push(format!(r#"{{"a":{}}}"#, info("\"F32\"", "[2]", offsets)));
    }
    // Keys that stand twice, also as an escape, also with equal descriptions.
    headers.push(format!(r#"{{"a":{fine},"a":{fine}}}"#));
    headers.push(format!(r#"{{"a":{fine},"\u0061":{fine}}}"#));
    let empty = info("\"F32\"", "[0]", "[0,0]");
    headers.push(format!(r#"{{"a":{empty},"a":{fine}}}"#));
    headers.push(format!(
        r#"{{"a":{fine},"a":{}}}"#,
        info("\"F32\"", "[0]", "[8,8]")
    ));
    let metadata = r#""__metadata__":{"format":"pt"}"#;
    headers.push(format!(r#"{{{metadata},"a":{fine},{metadata}}}"#));
    headers.push(format!(r#"{{"__metadata__":null,"a":{fine},{metadata}}}"#));
    headers.push(format!(
        r#"{{"__metadata__":{{"x":"y","x":"y"}},"a":{fine}}}"#
    ));
    for field in [
        r#""dtype":"F32""#,
        r#""shape":[2]"#,
        r#""data_offsets":[0,8]"#,
    ] {
        headers.push(format!(
            r#"{{"a":{}}}"#,
            fine.replace(field, &format!("{field},{field}"))
        ));
        headers.push(format!(
            r#"{{"a":{}}}"#,
            fine.replace(field, r#""other":1"#)
        ));
    }
    // Metadata that is not an object of strings.
    for wrong in [
        "[]",
        "1",
        "\"x\"",
        r#"{"x":1}"#,
        r#"{"x":null}"#,
        r#"{"x":{}}"#,
        r#"{"x":["y"]}"#,
        "true",
    ] {
        headers.push(format!(r#"{{"__metadata__":{wrong},"a":{fine}}}"#));
    }
    // Two tensors that overlap, leave a gap, or take the same bytes.
    for (first, second) in [
        ("[0,4]", "[0,4]"),
        ("[0,4]", "[2,6]"),
        ("[0,4]", "[5,9]"),
        ("[4,8]", "[0,4]x"),
        ("[4,8]", "[8,12]"),
        ("[0,4]", "[8,12]"),
        ("[0,8]", "[4,8]"),
        ("[0,4]", "[3,7]"),
        ("[4,8]", "[4,8]"),
        ("[0,4]", "[4,12]"),
    ] {
        let (first, second) = (
            info("\"F32\"", "[1]", first),
            info("\"F32\"", "[1]", second),
        );
        headers.push(format!(r#"{{"a":{first},"b":{second}}}"#));
    }
    // Deeper than any stack, where values are read and where they are skipped.
    for depth in [200, 100_000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        headers.push(format!(r#"{{"a":{open}{close}}}"#));
        headers.push(format!(
            r#"{{"a":{}}}"#,
            info("\"F32\"", &format!("{open}2{close}"), "[0,8]")
        ));
        headers.push(format!(r#"{{"a":{}}}"#, info("\"F32\"", "[2]", &open)));
        headers.push(format!(r#"{{"__metadata__":{open}{close},"a":{fine}}}"#));
        headers.push(r#"{"a":"#.repeat(depth));
        headers.push(format!("{}{}", r#"{"a":"#.repeat(depth), "}".repeat(depth)));
        headers.push(format!(r#"{{"a":{{"x":{open},{}"#, &fine[1..]));
    }
    // Long numbers, names and shapes.
    let digits = "9".repeat(100_000);
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info("\"F32\"", &format!("[{digits}]"), "[0,8]")
    ));
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info("\"F32\"", "[2]", &format!("[0,{digits}]"))
    ));
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info("\"F32\"", "[2]", &format!("[0,0.{digits}e{digits}]"))
    ));
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info(&format!("\"{digits}\""), "[2]", "[0,8]")
    ));
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info("\"F32\"", &format!("[{}2]", "2,".repeat(50_000)), "[0,8]")
    ));
    // Ties alone.
    headers.push(r#"{"__metadata__":{"format":"pt","a":"b"}}"#.to_owned());
    headers.push(r#"{"__metadata__":{"a":"a"}}"#.to_owned());

    let files = headers.iter().map(|header| with_header(header, 8));
    let number = refused(&scratch, files);
    assert!(number > 130, "{number}");

    // Text that is not UTF-8, in a key, in a value, and where nothing reads it.
    let text = format!(
        r#"{{"a?":{{"x":"?",{},"__metadata__":{{"x?":"?"}}}}"#,
        &fine[1..]
    );
    let places = text.bytes().enumerate().filter(|(_, byte)| *byte == b'?');
    let files = places.flat_map(|(place, _)| {
        [0x80, 0xC0, 0xE0, 0xED, 0xF8, 0xFF].map(|byte| {
            let mut header = text.clone().into_bytes();
            header[place] = byte;
            with_header(header, 8)
        })
    });
    assert_eq!(refused(&scratch, files), 24);
}

#[test]
fn many_small_parts_take_memory_by_their_size() {
    let scratch = Scratch::new("many");
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
fn a_file_is_held_once_while_it_is_read() {
    // Memory freed by other tests would be reused and not counted.
    if ran_in_a_child("damaged_safetensors::a_file_is_held_once_while_it_is_read") {
        return;
    }
    let scratch = Scratch::new("held-once");
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
    let scratch = Scratch::new("ranks");
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
    let scratch = Scratch::new("cut-words");
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

/// A directory of three shards and a tie, and the text of its index.
fn sharded(scratch: &Scratch) -> (PathBuf, String, usize) {
    let tensor = |value: f32| Tensor::full([4], value, DType::F32).unwrap();
    let first = tensor(0.0);
    let state = StateDict::from_iter([
        ("a.weight", first.clone()),
        ("a.bias", tensor(1.0)),
        ("b.weight", tensor(2.0)),
        ("b.bias", tensor(3.0)),
        ("c.weight", tensor(4.0)),
        ("d.weight", first),
    ]);
    state.save_sharded(&scratch.0, 32).unwrap();
    let index = scratch.0.join("model.safetensors.index.json");
    let text = std::fs::read_to_string(&index).unwrap();
    let files = std::fs::read_dir(&scratch.0).unwrap();
    let size = files
        .map(|file| file.unwrap().metadata().unwrap().len() as usize)
        .sum();
    (index, text, size)
}

#[test]
fn damaged_indices_are_refused() {
    let scratch = Scratch::new("index");
    let (path, text, size) = sharded(&scratch);
    assert_eq!(read(&path, size).unwrap().len(), 6);
    let refuse = |index: &[u8]| {
        std::fs::write(&path, index).unwrap();
        if read(&path, size + index.len()).is_ok() {
            panic!("accepted: {}", String::from_utf8_lossy(index));
        }
        // The directory stands for the index.
        assert!(StateDict::load(&scratch.0).is_err());
    };
    let mut number = 0;
    for end in 0..text.trim_end().len() {
        refuse(&text.as_bytes()[..end]);
        number += 1;
    }
    let first = "model-00001-of-00003.safetensors";
    assert!(text.contains(first));
    for name in [
        "",
        ".",
        "..",
        "/",
        "\\",
        "../x",
        "..\\x",
        "/etc/passwd",
        "C:\\x",
        "C:x",
        "\\\\server\\x",
        "a/b",
        "a\\b",
        "./",
        "x/",
        "model-00009-of-00003.safetensors",
        "model.safetensors.index.json",
        "x\u{0}",
        "~",
        "//",
        "a/../b",
        "...",
        "file:x",
        "http://x/y",
        "%2e%2e%2fx",
        " ",
        "\n",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
    ] {
        for path in [
            name.to_owned(),
            format!("{name}/{first}"),
            format!("../{}/{name}", scratch.0.display()),
        ] {
            let path = serde_json::to_string(&path).unwrap();
            refuse(text.replacen(&format!("\"{first}\""), &path, 1).as_bytes());
            refuse(text.replace(&format!("\"{first}\""), &path).as_bytes());
            number += 2;
        }
    }
    let map = &text[text.find("\"weight_map\"").unwrap()..];
    let line =
        |key: &str, file: &str| format!("\"{key}\": \"model-0000{file}-of-00003.safetensors\"");
    let weight = line("a.weight", "1");
    for (from, to) in [
        // A key twice, with the same file and with others.
        (weight.clone(), format!("{weight}, {weight}")),
        (
            weight.clone(),
            format!("{weight}, {}", line("a.weight", "2")),
        ),
        (
            weight.clone(),
            format!("{weight}, {}", line("a\\u002eweight", "1")),
        ),
        // A key that its file lacks, a key that the index lacks, a key in the wrong file.
        (
            weight.clone(),
            format!("{weight}, {}", line("e.weight", "1")),
        ),
        (format!("{weight},"), String::new()),
        (weight.clone(), line("a.weight", "2")),
        (weight.clone(), line("A.weight", "1")),
        (weight.clone(), "\"a.weight\": null".to_owned()),
        (weight.clone(), "\"a.weight\": 1".to_owned()),
        (weight.clone(), "\"a.weight\": [\"x\"]".to_owned()),
        (weight.clone(), "\"a.weight\": {}".to_owned()),
        ("\"weight_map\"".to_owned(), "\"weight_maps\"".to_owned()),
        (
            "\"weight_map\": {".to_owned(),
            "\"weight_map\": {}, \"weight_map\": {".to_owned(),
        ),
        (
            "\"metadata\": {".to_owned(),
            "\"metadata\": {}, \"metadata\": {".to_owned(),
        ),
        (
            "\"metadata\": {".to_owned(),
            "\"metadata\": [], \"x\": {".to_owned(),
        ),
        (
            "\"metadata\": {".to_owned(),
            "\"metadata\": 1, \"x\": {".to_owned(),
        ),
        (
            "\"total_size\"".to_owned(),
            "\"d.weight\": \"b.bias\", \"total_size\"".to_owned(),
        ),
    ] {
        assert!(text.contains(&from), "{from}");
        refuse(text.replacen(&from, &to, 1).as_bytes());
        number += 1;
    }
    let deep = "[".repeat(100_000);
    for index in [
        "{}".to_owned(),
        "{\"weight_map\": null}".to_owned(),
        "{\"weight_map\": []}".to_owned(),
        format!("{{{map}, 1"),
        format!("{{\"weight_map\": {deep}"),
        format!("{{\"weight_map\": {{\"a\": {deep}"),
        format!("{{\"metadata\": {{\"x\": {deep}}}, {map}"),
        format!("{{\"x\": {deep}}}, {map}"),
        format!("{text}{text}"),
        format!("{text}x"),
        "{\"weight_map\":".repeat(100_000),
    ] {
        refuse(index.as_bytes());
        number += 1;
    }
    for byte in [0x80, 0xC0, 0xFF] {
        for place in (0..text.len()).filter(|i| text.as_bytes()[*i].is_ascii_alphabetic()) {
            let mut index = text.clone().into_bytes();
            index[place] = byte;
            refuse(&index);
            number += 1;
        }
    }
    assert!(number > 1000, "{number}");
}

#[test]
fn no_flipped_bit_of_an_index_harms() {
    let scratch = Scratch::new("flipped-index");
    let (path, text, size) = sharded(&scratch);
    let mut errors = 0;
    for bit in 0..8 * text.len() {
        let mut index = text.clone().into_bytes();
        index[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, index).unwrap();
        match read(&path, size) {
            Err(_) => errors += 1,
            // White space, an unused number, the other name of a tie.
            Ok(state) => assert!((5..=6).contains(&state.len()), "bit {bit}"),
        }
    }
    assert!(errors > 2000, "{errors}");
}

#[test]
fn damaged_shards_are_refused() {
    let scratch = Scratch::new("shards");
    let (path, _, size) = sharded(&scratch);
    let shard = |i: usize| {
        scratch
            .0
            .join(format!("model-0000{i}-of-00003.safetensors"))
    };
    let sound: Vec<Vec<u8>> = (1..=3).map(|i| std::fs::read(shard(i)).unwrap()).collect();
    let refuse = |i: usize, content: Option<&[u8]>| {
        match content {
            Some(content) => std::fs::write(shard(i), content).unwrap(),
            None => std::fs::remove_file(shard(i)).unwrap(),
        }
        let message = read(&path, size).unwrap_err().to_string();
        assert!(message.contains("model"), "{message}");
        std::fs::write(shard(i), &sound[i - 1]).unwrap();
    };
    for i in 1..=3 {
        let file = &sound[i - 1];
        refuse(i, None);
        for end in 0..file.len() {
            refuse(i, Some(&file[..end]));
        }
        refuse(i, Some(&[file, &[0_u8][..]].concat()));
        refuse(i, Some(&sound[i % 3]));
        refuse(i, Some(b"{}"));
        refuse(i, Some(&std::fs::read(&path).unwrap()));
    }
    std::fs::remove_file(shard(2)).unwrap();
    std::fs::create_dir(shard(2)).unwrap();
    assert!(read(&path, size).is_err());
}
