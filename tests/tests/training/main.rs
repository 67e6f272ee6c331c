//! Optimizers, and training as a whole.

mod activation_checkpoint;
mod clip_grads;
mod data;
mod golden_optim;
mod lbfgs;
mod optimizer_runs;
mod optimizers;
mod schedules;
mod threads;
mod torch_optimizers;
mod training;
