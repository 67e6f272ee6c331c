//! Records of a training: files of numbers, event files for TensorBoard, progress bars.
//!
//! A [`Logger`] takes named values of a step. `CSVLogger` and `JSONLinesLogger` write them as text (feature `fs`),
//! `SummaryWriter` for TensorBoard, which it also gives histograms, images, texts and hyper-parameters (feature
//! `tensorboard`). `Progress` shows bars (feature `progress`). Drawings are in [`plot`](crate::plot).
//!
//! What is logged is in the hands of the operating system when the call returns: a program that is killed loses
//! nothing of it, and a file whose last row was cut off goes on without that row.

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
