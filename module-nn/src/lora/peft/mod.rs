//! PEFT's files, read and written: `adapter_config.json` and `adapter_model.safetensors`.
//!
//! [`names`] holds PEFT's rules for which modules are meant, [`fields`] the fields of the configuration, and [`keys`] the
//! key of each tensor.

mod adapter;
mod config;
mod error;
mod exchange;
mod fields;
#[cfg(feature = "fs")]
mod files;
mod keys;
mod names;
mod read;
mod write;

pub use adapter::PeftAdapter;
pub use config::PeftConfig;
pub use error::PeftError;
#[cfg(feature = "fs")]
pub use files::{load_pretrained, save_pretrained};
pub use names::TargetModules;
