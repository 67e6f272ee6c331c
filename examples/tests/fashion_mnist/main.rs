//! The example that trains on Fashion-MNIST, on small images: its data, its recipe, that it goes on bit for bit when it is
//! killed, and what it leaves.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod data;
#[cfg(unix)]
mod killed;
#[cfg(unix)]
mod learned;
#[cfg(unix)]
mod recipe;
