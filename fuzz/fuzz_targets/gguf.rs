//! GGUF files: the input as it is, and after a header that every file of version 3 has.
#![no_main]

#[path = "../common.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    common::read("file.gguf", input.to_vec(), None);
    common::read("file.gguf", [b"GGUF\x03\0\0\0", input].concat(), None);
});
