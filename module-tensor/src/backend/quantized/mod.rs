//! Packed storages of quantized weights in host memory.

mod ggml;
mod int4;
mod int8;
mod nf4;
mod shared;

pub use ggml::{BlockFormat, BlockStorage};
pub use int4::{Int4Parts, Int4Storage};
pub use int8::{Int8Parts, Int8Storage};
pub use nf4::{Nf4Absmax, Nf4Parts, Nf4Storage};
