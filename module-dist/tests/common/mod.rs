//! What several tests use.

// Each test program uses a part of it, and includes it as a private module.
#![allow(dead_code, unreachable_pub)]

pub mod equality;
pub mod nets;
pub mod parallel;
pub mod sharding;
pub mod training;
pub mod wrapped;
