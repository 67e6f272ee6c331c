//! What layers compute, as functions of tensors: PyTorch's `torch.nn.functional`.

mod batch_norm;
mod cross_entropy;
mod linear;

pub(crate) use batch_norm::{batch_statistics, normalise_channels};
pub use cross_entropy::{CrossEntropyOptions, Reduction, cross_entropy};
pub(crate) use linear::check_shape;
pub use linear::linear;
pub use module_core::PadMode;
