//! Layers, one file each.

mod batch_norm;
mod batch_norm1d;
mod batch_norm2d;
mod conv2d;
mod dropout;
mod flatten;
mod gru;
mod gru_cell;
mod linear;
mod lstm;
mod lstm_cell;
mod max_pool2d;
mod recurrent;
mod recurrent_cell;
mod relu;
mod rnn;
mod rnn_cell;

pub use batch_norm::{BatchNorm1dConfig, BatchNorm2dConfig, BatchNormConfig};
pub use batch_norm1d::BatchNorm1d;
pub use batch_norm2d::BatchNorm2d;
pub use conv2d::{Conv2d, Conv2dConfig, PaddingMode};
pub use dropout::{Dropout, DropoutConfig};
pub use flatten::{Flatten, FlattenConfig};
pub use gru::{GRU, GRUConfig};
pub use gru_cell::{GRUCell, GRUCellConfig};
pub use linear::{Linear, LinearConfig};
pub use lstm::{LSTM, LSTMConfig};
pub use lstm_cell::{LSTMCell, LSTMCellConfig};
pub use max_pool2d::{MaxPool2d, MaxPool2dConfig};
pub use module_core::{Identity, Padding, Sequential, Sizes};
pub use relu::ReLU;
pub use rnn::{RNN, RNNConfig, RNNNonlinearity};
pub use rnn_cell::{RNNCell, RNNCellConfig};
