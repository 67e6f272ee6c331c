//! Blocks of quantized numbers in ggml's layouts: a few elements with their scales in a few bytes.

mod format;
mod numbers;
mod q4_0;
mod q4_k;
mod q6_k;
mod q8_0;
mod storage;

pub use format::BlockFormat;
pub use storage::BlockStorage;
