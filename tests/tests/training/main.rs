//! Optimizers, and training as a whole.

mod autocast;
mod clip_grads;
mod data;
mod golden_optim;
mod lbfgs;
mod optimizer_runs;
mod optimizers;
mod schedules;
mod threads;
mod training;
