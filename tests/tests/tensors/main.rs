//! Tensors: operations compared with PyTorch and with loops, accuracy, invalid arguments, other devices, printing.

mod accepted_arguments;
mod accuracy;
mod conveniences;
mod creation;
mod golden_ops;
mod index_dtypes;
mod magnitudes;
mod mirror;
mod packed;
mod peer_databases;
mod printing;
mod quantized;
mod random_calls;
mod random_ops;
mod random_programs;
mod unchanged;
mod wrong_arguments;
