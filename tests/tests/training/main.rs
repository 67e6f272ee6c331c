//! Optimizers, and training as a whole.

mod clip_grads;
mod golden_optim;
mod lbfgs;
mod optimizer_runs;
mod optimizers;
mod threads;
mod training;
