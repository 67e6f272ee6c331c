//! Shard indices in a directory that does not exist: no file name may escape from it.
#![no_main]

#[path = "../common.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    common::read("model.safetensors.index.json", input.to_vec(), None);
});
