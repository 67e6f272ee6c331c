//! What layers compute, as functions of tensors: PyTorch's `torch.nn.functional`.

mod bilinear;
mod cross_entropy;
mod embedding_bag;
mod linear;
mod local_response_norm;
mod similarity;

pub use bilinear::bilinear;
pub use cross_entropy::{CrossEntropyOptions, Reduction, cross_entropy};
pub use embedding_bag::{BagMode, EmbeddingBagOptions, embedding_bag};
pub(crate) use embedding_bag::{by_frequency, indices};
pub(crate) use linear::check_shape;
pub use linear::linear;
pub use local_response_norm::local_response_norm;
pub use module_core::PadMode;
pub use similarity::{cosine_similarity, pairwise_distance};
