//! Logs of training: files of numbers, TensorBoard event files, progress bars.
//!
//! A [`Logger`] takes the named values of a step. `CSVLogger` and `JSONLinesLogger` write them as text (feature `fs`);
//! `SummaryWriter` writes them for TensorBoard, and also histograms, images, text and hyperparameters (feature
//! `tensorboard`). `Progress` shows bars (feature `progress`). Charts are in [`plot`](crate::plot).
//!
//! Logged values have been passed to the operating system when the call returns: a program that is killed loses nothing,
//! and a file whose last row is truncated continues without that row.

#[cfg(feature = "fs")]
mod append;
#[cfg(feature = "fs")]
mod csv;
#[cfg(feature = "fs")]
mod json_lines;
mod logger;
#[cfg(feature = "progress")]
mod progress;
#[cfg(feature = "tensorboard")]
mod tensorboard;

#[cfg(feature = "fs")]
pub use csv::CSVLogger;
#[cfg(feature = "fs")]
pub use json_lines::JSONLinesLogger;
pub use logger::Logger;
#[cfg(feature = "progress")]
pub use progress::{Progress, ProgressEpoch};
#[cfg(feature = "tensorboard")]
pub use tensorboard::{HParam, SummaryWriter};
