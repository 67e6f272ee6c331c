//! The example that trains on Fashion-MNIST, on small images: its data, and that it goes on bit for bit when it is killed.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod data;
#[cfg(unix)]
mod killed;
