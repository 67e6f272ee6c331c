//! What the tests of whole behaviour share.

pub mod digits;
pub mod files;
pub mod golden;
pub mod layers;
pub mod resnet;
