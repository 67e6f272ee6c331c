//! What the tests of whole behavior share.

pub mod digits;
pub mod files;
pub mod layers;
pub mod long_run;
pub mod memory;
pub mod processes;

pub use module_conformance::golden;
