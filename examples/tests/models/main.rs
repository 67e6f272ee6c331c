//! Published models: checkpoints of their libraries load without a renamed key, and outputs, gradients of
//! all parameters and buffers are those of the original.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod clip;
mod compare;
mod ddpm;
mod healthy;
mod language;
mod lines;
mod resnet;
mod t5;
mod vision;
mod whisper;
mod word_language_model;
