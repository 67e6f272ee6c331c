//! Published models: checkpoints of their libraries load without a renamed key, and outputs, gradients of
//! all parameters and buffers are those of the original.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod compare;
mod ddpm;
mod healthy;
mod language;
mod lines;
mod resnet;
mod vision;
mod whisper;
mod word_language_model;
