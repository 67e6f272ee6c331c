//! `module-conformance` checks whether a device computes the same as PyTorch.
//!
//! Each family of operations was recorded with PyTorch: about 8,000 calls with inputs of several memory layouts, dtypes and
//! edge cases, most of them with gradients. [`check`] makes every call on a [`Device`] and reports the differences; a crate
//! that provides a device calls it in a test:
//!
//! ```
//! use module_conformance::{Device, suites};
//!
//! # let device = Device::cpu();
//! let suite = suites().into_iter().find(|suite| suite.name() == "ops_products");
//! let failures = suite.unwrap().check(&device);
//! assert!(failures.is_empty(), "{}", failures.join("\n"));
//! ```
//!
//! `tests/golden` contains the recordings and describes how they were made.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

/// `x.plain(…)`, or `x.other(…)` if the condition holds: for recorded booleans that are separate methods here.
#[macro_export]
macro_rules! either {
    ($condition:expr, $x:expr, $plain:ident / $other:ident $(, $argument:expr)* $(,)?) => {
        if $condition {
            $x.$other($($argument),*)
        } else {
            $x.$plain($($argument),*)
        }
    };
}

mod differences;
pub mod golden;
pub mod ops;
mod suite;

pub use differences::is_refused;
pub use module_core::Device;
pub use suite::{Suite, check, suites};
