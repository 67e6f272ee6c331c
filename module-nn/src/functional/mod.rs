//! What layers compute, as functions of tensors: PyTorch's `torch.nn.functional`.

mod cross_entropy;
mod linear;
mod local_response_norm;

pub use cross_entropy::{CrossEntropyOptions, Reduction, cross_entropy};
pub(crate) use linear::check_shape;
pub use linear::linear;
pub use local_response_norm::local_response_norm;
pub use module_core::PadMode;
