//! Optimizers, and training as a whole.

mod golden_optim;
mod optimizers;
mod schedules;
mod threads;
mod training;
