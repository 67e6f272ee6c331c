//! Optimizers, and training as a whole.

mod data;
mod golden_optim;
mod optimizers;
mod threads;
mod training;
