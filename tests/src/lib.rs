//! What the tests of whole behaviour share.

pub mod golden;
