//! Layers, one file each.

mod batch_norm;
mod batch_norm1d;
mod batch_norm2d;
mod conv2d;
mod dropout;
mod flatten;
mod linear;
mod max_pool2d;
mod pairwise_distance;
mod relu;

pub use batch_norm::{BatchNorm1dConfig, BatchNorm2dConfig, BatchNormConfig};
pub use batch_norm1d::BatchNorm1d;
pub use batch_norm2d::BatchNorm2d;
pub use conv2d::{Conv2d, Conv2dConfig, PaddingMode};
pub use dropout::{Dropout, DropoutConfig};
pub use flatten::{Flatten, FlattenConfig};
pub use linear::{Linear, LinearConfig};
pub use max_pool2d::{MaxPool2d, MaxPool2dConfig};
pub use module_core::{
    Identity, ModuleDict, ModuleList, Padding, ParameterDict, ParameterList, Sequential, Sizes,
};
pub use pairwise_distance::{PairwiseDistance, PairwiseDistanceConfig};
pub use relu::ReLU;
