//! Layers, one file each.

mod batch_norm;
mod batch_norm1d;
mod batch_norm2d;
mod batch_norm3d;
mod causal;
mod conv2d;
mod dropout;
mod flatten;
mod group_norm;
mod grouped_query_attention;
mod instance_norm;
mod instance_norm1d;
mod instance_norm2d;
mod instance_norm3d;
mod key_value_cache;
mod layer_norm;
mod linear;
mod local_response_norm;
mod max_pool2d;
mod multihead_attention;
mod position;
mod relu;
mod rms_norm;
mod rotary_embedding;
mod sinusoidal_position_embedding;
mod sync_batch_norm;
mod transformer;

pub use batch_norm::{BatchNorm1dConfig, BatchNorm2dConfig, BatchNorm3dConfig, BatchNormConfig};
pub use batch_norm1d::BatchNorm1d;
pub use batch_norm2d::BatchNorm2d;
pub use batch_norm3d::BatchNorm3d;
pub use conv2d::{Conv2d, Conv2dConfig, PaddingMode};
pub use dropout::{Dropout, DropoutConfig};
pub use flatten::{Flatten, FlattenConfig};
pub use group_norm::{GroupNorm, GroupNormConfig};
pub use grouped_query_attention::{
    GroupedQueryAttention, GroupedQueryAttentionConfig, GroupedQueryAttentionInput,
};
pub use instance_norm::{
    InstanceNorm1dConfig, InstanceNorm2dConfig, InstanceNorm3dConfig, InstanceNormConfig,
};
pub use instance_norm1d::InstanceNorm1d;
pub use instance_norm2d::InstanceNorm2d;
pub use instance_norm3d::InstanceNorm3d;
pub use key_value_cache::KeyValueCache;
pub use layer_norm::{LayerNorm, LayerNormConfig};
pub use linear::{Linear, LinearConfig};
pub use local_response_norm::{LocalResponseNorm, LocalResponseNormConfig};
pub use max_pool2d::{MaxPool2d, MaxPool2dConfig};
pub use module_core::{Identity, Padding, Sequential, Sizes};
pub use multihead_attention::{
    MultiheadAttention, MultiheadAttentionConfig, MultiheadAttentionInput,
    NonDynamicallyQuantizableLinear,
};
pub use position::PositionLayout;
pub use relu::ReLU;
pub use rms_norm::{RMSNorm, RMSNormConfig};
pub use rotary_embedding::{RotaryEmbedding, RotaryEmbeddingConfig, RotaryScaling};
pub use sinusoidal_position_embedding::{
    SinusoidalPositionEmbedding, SinusoidalPositionEmbeddingConfig,
};
pub use sync_batch_norm::{SyncBatchNorm, convert_sync_batchnorm};
pub use transformer::{
    Transformer, TransformerActivation, TransformerConfig, TransformerDecoder,
    TransformerDecoderConfig, TransformerDecoderInput, TransformerDecoderLayer,
    TransformerDecoderLayerConfig, TransformerDecoderLayerInput, TransformerEncoder,
    TransformerEncoderConfig, TransformerEncoderInput, TransformerEncoderLayer,
    TransformerEncoderLayerConfig, TransformerEncoderLayerInput, TransformerInput,
};
