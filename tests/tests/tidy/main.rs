//! What the repository promises about itself: sizes of files, imports, documentation, words and packages.
//!
//! Other programs check what needs the library: that every layer is in the registry (`layers/every_layer.rs`), that every
//! pitfall has a test (`modules/pitfalls/table.rs`), and that every file of tests is compiled (`modules/readme.rs`).
#![allow(clippy::panic, clippy::unwrap_used)]

mod changelog;
mod circles;
mod docs;
mod documents;
mod examples;
mod features;
mod files;
mod imports;
mod lengths;
mod machines;
mod manifest;
mod packages;
mod vocabulary;
mod words;
