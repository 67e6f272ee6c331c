//! What ports of language models are made of, against Hugging Face's transformers.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod transposed;
