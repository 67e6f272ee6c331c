//! Indices of shards, in a directory that does not exist: no name may lead out of it.
#![no_main]

#[path = "../common.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    common::read("model.safetensors.index.json", input.to_vec(), None);
});
