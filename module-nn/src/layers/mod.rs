//! Layers, one file each.

mod batch_norm;
mod batch_norm1d;
mod batch_norm2d;
mod batch_norm3d;
mod conv2d;
mod dropout;
mod flatten;
mod group_norm;
mod instance_norm;
mod instance_norm1d;
mod instance_norm2d;
mod instance_norm3d;
mod layer_norm;
mod linear;
mod local_response_norm;
mod max_pool2d;
mod relu;
mod rms_norm;
mod sync_batch_norm;

pub use batch_norm::{BatchNorm1dConfig, BatchNorm2dConfig, BatchNorm3dConfig, BatchNormConfig};
pub use batch_norm1d::BatchNorm1d;
pub use batch_norm2d::BatchNorm2d;
pub use batch_norm3d::BatchNorm3d;
pub use conv2d::{Conv2d, Conv2dConfig, PaddingMode};
pub use dropout::{Dropout, DropoutConfig};
pub use flatten::{Flatten, FlattenConfig};
pub use group_norm::{GroupNorm, GroupNormConfig};
pub use instance_norm::{
    InstanceNorm1dConfig, InstanceNorm2dConfig, InstanceNorm3dConfig, InstanceNormConfig,
};
pub use instance_norm1d::InstanceNorm1d;
pub use instance_norm2d::InstanceNorm2d;
pub use instance_norm3d::InstanceNorm3d;
pub use layer_norm::{LayerNorm, LayerNormConfig};
pub use linear::{Linear, LinearConfig};
pub use local_response_norm::{LocalResponseNorm, LocalResponseNormConfig};
pub use max_pool2d::{MaxPool2d, MaxPool2dConfig};
pub use module_core::{Identity, Padding, Sequential, Sizes};
pub use relu::ReLU;
pub use rms_norm::{RMSNorm, RMSNormConfig};
pub use sync_batch_norm::{SyncBatchNorm, convert_sync_batchnorm};
