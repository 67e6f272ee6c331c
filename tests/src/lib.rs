//! What the tests of whole behaviour share.

pub mod digits;
pub mod golden;
pub mod layers;
