//! Layers, one file each.

mod batch_norm;
mod batch_norm1d;
mod batch_norm2d;
mod causal;
mod conv2d;
mod dropout;
mod flatten;
mod grouped_query_attention;
mod key_value_cache;
mod linear;
mod max_pool2d;
mod multihead_attention;
mod position;
mod relu;
mod rotary_embedding;
mod sinusoidal_position_embedding;

pub use batch_norm::{BatchNorm1dConfig, BatchNorm2dConfig, BatchNormConfig};
pub use batch_norm1d::BatchNorm1d;
pub use batch_norm2d::BatchNorm2d;
pub use conv2d::{Conv2d, Conv2dConfig, PaddingMode};
pub use dropout::{Dropout, DropoutConfig};
pub use flatten::{Flatten, FlattenConfig};
pub use grouped_query_attention::{
    GroupedQueryAttention, GroupedQueryAttentionConfig, GroupedQueryAttentionInput,
};
pub use key_value_cache::KeyValueCache;
pub use linear::{Linear, LinearConfig};
pub use max_pool2d::{MaxPool2d, MaxPool2dConfig};
pub use module_core::{Identity, Padding, Sequential, Sizes};
pub use multihead_attention::{
    MultiheadAttention, MultiheadAttentionConfig, MultiheadAttentionInput,
    NonDynamicallyQuantizableLinear,
};
pub use position::PositionLayout;
pub use relu::ReLU;
pub use rotary_embedding::{RotaryEmbedding, RotaryEmbeddingConfig, RotaryScaling};
pub use sinusoidal_position_embedding::{
    SinusoidalPositionEmbedding, SinusoidalPositionEmbeddingConfig,
};
