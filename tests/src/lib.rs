//! Shared code of the integration tests.

pub mod digits;
pub mod drawn;
pub mod files;
pub mod layers;
pub mod long_run;
pub mod memory;
pub mod on_device;
pub mod processes;
pub mod quantized;

pub use module_conformance::golden;
