//! Layers and losses compared with PyTorch, including initial weights, and checks of every layer.

mod attention;
mod every_layer;
mod extreme_arguments;
mod golden_init;
mod golden_layer_families;
mod golden_rnn;
mod initialization;
mod language;
mod own_layer;
mod parametrize;
mod parts;
mod timm_inits;
