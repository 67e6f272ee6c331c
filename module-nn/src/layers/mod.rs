//! Layers, one file each.

mod adaptive_avg_pool;
mod adaptive_max_pool;
mod avg_pool;
mod batch_norm;
mod batch_norm1d;
mod batch_norm2d;
mod channel_shuffle;
mod circular_pad;
mod constant_pad;
mod conv;
mod conv_transpose;
mod dropout;
mod flatten;
mod fold;
mod fractional_max_pool;
mod linear;
mod lp_pool;
mod max_pool;
mod max_unpool;
mod pixel_shuffle;
mod pixel_unshuffle;
mod reflection_pad;
mod relu;
mod replication_pad;
mod spatial;
mod unflatten;
mod unfold;
mod upsample;
mod upsampling_bilinear2d;
mod upsampling_nearest2d;
mod with_indices;
mod zero_pad;

pub use adaptive_avg_pool::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool1dConfig, AdaptiveAvgPool2d,
    AdaptiveAvgPool2dConfig, AdaptiveAvgPool3d, AdaptiveAvgPool3dConfig, AdaptiveAvgPoolConfig,
};
pub use adaptive_max_pool::{
    AdaptiveMaxPool, AdaptiveMaxPool1d, AdaptiveMaxPool1dConfig, AdaptiveMaxPool2d,
    AdaptiveMaxPool2dConfig, AdaptiveMaxPool3d, AdaptiveMaxPool3dConfig, AdaptiveMaxPoolConfig,
};
pub use avg_pool::{
    AvgPool, AvgPool1d, AvgPool1dConfig, AvgPool2d, AvgPool2dConfig, AvgPool3d, AvgPool3dConfig,
    AvgPoolConfig,
};
pub use batch_norm::{BatchNorm1dConfig, BatchNorm2dConfig, BatchNormConfig};
pub use batch_norm1d::BatchNorm1d;
pub use batch_norm2d::BatchNorm2d;
pub use channel_shuffle::{ChannelShuffle, ChannelShuffleConfig};
pub use circular_pad::{
    CircularPad, CircularPad1d, CircularPad1dConfig, CircularPad2d, CircularPad2dConfig,
    CircularPad3d, CircularPad3dConfig, CircularPadConfig,
};
pub use constant_pad::{
    ConstantPad, ConstantPad1d, ConstantPad1dConfig, ConstantPad2d, ConstantPad2dConfig,
    ConstantPad3d, ConstantPad3dConfig, ConstantPadConfig,
};
pub use conv::{
    Conv, Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, Conv3d, Conv3dConfig, ConvConfig, PaddingMode,
};
pub use conv_transpose::{
    ConvTranspose, ConvTranspose1d, ConvTranspose1dConfig, ConvTranspose2d, ConvTranspose2dConfig,
    ConvTranspose3d, ConvTranspose3dConfig, ConvTransposeConfig,
};
pub use dropout::{Dropout, DropoutConfig};
pub use flatten::{Flatten, FlattenConfig};
pub use fold::{Fold, FoldConfig};
pub use fractional_max_pool::{
    FractionalMaxPool, FractionalMaxPool2d, FractionalMaxPool2dConfig, FractionalMaxPool3d,
    FractionalMaxPool3dConfig, FractionalMaxPoolConfig,
};
pub use linear::{Linear, LinearConfig};
pub use lp_pool::{
    LPPool, LPPool1d, LPPool1dConfig, LPPool2d, LPPool2dConfig, LPPool3d, LPPool3dConfig,
    LPPoolConfig,
};
pub use max_pool::{
    MaxPool, MaxPool1d, MaxPool1dConfig, MaxPool2d, MaxPool2dConfig, MaxPool3d, MaxPool3dConfig,
    MaxPoolConfig,
};
pub use max_unpool::{
    MaxUnpool, MaxUnpool1d, MaxUnpool1dConfig, MaxUnpool2d, MaxUnpool2dConfig, MaxUnpool3d,
    MaxUnpool3dConfig, MaxUnpoolConfig,
};
pub use module_core::{Identity, InterpolateMode, Padding, Sequential, Sizes};
pub use pixel_shuffle::{PixelShuffle, PixelShuffleConfig};
pub use pixel_unshuffle::{PixelUnshuffle, PixelUnshuffleConfig};
pub use reflection_pad::{
    ReflectionPad, ReflectionPad1d, ReflectionPad1dConfig, ReflectionPad2d, ReflectionPad2dConfig,
    ReflectionPad3d, ReflectionPad3dConfig, ReflectionPadConfig,
};
pub use relu::ReLU;
pub use replication_pad::{
    ReplicationPad, ReplicationPad1d, ReplicationPad1dConfig, ReplicationPad2d,
    ReplicationPad2dConfig, ReplicationPad3d, ReplicationPad3dConfig, ReplicationPadConfig,
};
pub use unflatten::{Unflatten, UnflattenConfig};
pub use unfold::{Unfold, UnfoldConfig};
pub use upsample::{Upsample, UpsampleConfig};
pub use upsampling_bilinear2d::{UpsamplingBilinear2d, UpsamplingBilinear2dConfig};
pub use upsampling_nearest2d::{UpsamplingNearest2d, UpsamplingNearest2dConfig};
pub use with_indices::WithIndices;
pub use zero_pad::{
    ZeroPad, ZeroPad1d, ZeroPad1dConfig, ZeroPad2d, ZeroPad2dConfig, ZeroPad3d, ZeroPad3dConfig,
    ZeroPadConfig,
};
