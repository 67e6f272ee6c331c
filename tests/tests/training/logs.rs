//! Loggers, event files and plots.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod event_files;
mod plots;
mod tables;
