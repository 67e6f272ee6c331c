//! What several tests use.

// Each test program uses a part of it.
#![allow(dead_code)]

pub mod equality;
pub mod nets;
pub mod training;
pub mod wrapped;
