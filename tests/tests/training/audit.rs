//! The audit of training: a finding for each silent failure, and none for networks that train as they should.
#![allow(clippy::unwrap_used)]

mod healthy;
mod support;
