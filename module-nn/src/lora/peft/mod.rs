//! The files of PEFT, both ways: `adapter_config.json` and `adapter_model.safetensors`.
//!
//! [`names`] is PEFT's rules of which modules are meant, [`fields`] are the fields of the configuration, and [`keys`] says
//! under which key each tensor is.

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
