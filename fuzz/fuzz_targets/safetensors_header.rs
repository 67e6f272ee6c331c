//! Headers of safetensors files: the input is the JSON and, after a line feed, the elements.
#![no_main]

#[path = "../common.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&byte| byte == b'\n');
    let (header, elements) = input.split_at(end.unwrap_or(input.len()));
    let length = (header.len() as u64).to_le_bytes();
    let elements = elements.get(1..).unwrap_or_default();
    common::read("file.safetensors", [&length, header, elements].concat(), None);
    // Including false lengths.
    common::read("file.safetensors", input.to_vec(), None);
});
