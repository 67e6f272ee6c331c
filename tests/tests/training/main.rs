//! Optimizers, and training as a whole.

mod activation_checkpoint;
mod audit;
mod autocast;
mod averaging;
mod clip_grads;
mod curves;
mod data;
mod devices;
mod golden_optim;
mod lbfgs;
mod lbfgs_runs;
mod logs;
mod lora;
mod metrics;
mod optimizer_runs;
mod optimizers;
mod peft;
mod random_networks;
mod resumed;
mod schedules;
mod special_files;
mod threads;
mod torch_optimizers;
mod training;
