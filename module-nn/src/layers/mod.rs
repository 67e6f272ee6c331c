//! Layers, by family. Each has PyTorch's name, arguments, defaults, state-dict keys, printed form and initial weights.
//!
//! A layer is made by `new`, with PyTorch's defaults, or from its configuration, whose setters have the names of PyTorch's
//! arguments: `Conv2dConfig::new(3, 16, 3).padding(1).build()?`. It runs by [`call`](crate::Call::call). Losses are in
//! [`loss`](crate::loss); the computations alone are methods of [`Tensor`](crate::Tensor) and functions of
//! [`functional`](crate::functional).
//!
//! | family | layers |
//! |---|---|
//! | linear | [`Linear`], [`TransposedLinear`], [`Bilinear`], [`Identity`] |
//! | convolution | [`Conv1d`], [`Conv2d`], [`Conv3d`] (all three: [`Conv`]); [`ConvTranspose1d`], [`ConvTranspose2d`], [`ConvTranspose3d`] ([`ConvTranspose`]); [`Conv2dNormActivation`]; [`Fold`], [`Unfold`] |
//! | pooling | [`MaxPool1d`], [`MaxPool2d`], [`MaxPool3d`] ([`MaxPool`], with positions by [`WithIndices`]); [`MaxUnpool1d`], [`MaxUnpool2d`], [`MaxUnpool3d`] ([`MaxUnpool`]); [`FractionalMaxPool2d`], [`FractionalMaxPool3d`] ([`FractionalMaxPool`]); [`AdaptiveMaxPool1d`], [`AdaptiveMaxPool2d`], [`AdaptiveMaxPool3d`] ([`AdaptiveMaxPool`]); [`AvgPool1d`], [`AvgPool2d`], [`AvgPool3d`] ([`AvgPool`]); [`AdaptiveAvgPool1d`], [`AdaptiveAvgPool2d`], [`AdaptiveAvgPool3d`] ([`AdaptiveAvgPool`]); [`LPPool1d`], [`LPPool2d`], [`LPPool3d`] ([`LPPool`]) |
//! | normalization | [`BatchNorm1d`], [`BatchNorm2d`], [`BatchNorm3d`] ([`BatchNorm`]), over several processes by [`SyncBatchNorm`] and [`convert_sync_batchnorm`](convert_sync_batchnorm()), with constant statistics [`FrozenBatchNorm2d`]; [`InstanceNorm1d`], [`InstanceNorm2d`], [`InstanceNorm3d`] ([`InstanceNorm`]); [`LayerNorm`], [`LayerNorm2d`], [`RMSNorm`], [`GroupNorm`], [`LocalResponseNorm`], [`CrossMapLRN2d`]; one of several by [`NormLayer`] |
//! | activation | [`ReLU`], [`ReLU6`], [`LeakyReLU`], [`PReLU`], [`RReLU`], [`ELU`], [`CELU`], [`SELU`], [`GELU`], [`SiLU`], [`Mish`], [`GLU`], [`Sigmoid`], [`LogSigmoid`], [`Tanh`], [`Hardsigmoid`], [`Hardswish`], [`Hardtanh`], [`Hardshrink`], [`Softshrink`], [`Tanhshrink`], [`Softplus`], [`Softsign`], [`Threshold`]; one of several by [`ActivationLayer`] |
//! | softmax | [`Softmax`], [`Softmax2d`], [`Softmin`], [`LogSoftmax`], [`AdaptiveLogSoftmaxWithLoss`] |
//! | dropout | [`Dropout`], [`Dropout1d`], [`Dropout2d`], [`Dropout3d`], [`AlphaDropout`], [`FeatureAlphaDropout`], [`StochasticDepth`] |
//! | recurrent | [`RNN`], [`LSTM`], [`GRU`], and one step of each: [`RNNCell`], [`LSTMCell`], [`GRUCell`]; sequences of several lengths are in [`rnn`](crate::rnn) |
//! | attention | [`MultiheadAttention`] (with its [`NonDynamicallyQuantizableLinear`]), [`GroupedQueryAttention`], [`KeyValueCache`] |
//! | transformers | [`TransformerEncoderLayer`], [`TransformerEncoder`], [`TransformerDecoderLayer`], [`TransformerDecoder`], [`Transformer`] |
//! | positions | [`RotaryEmbedding`], with [`RotaryScaling`] and [`PositionLayout`]; [`SinusoidalPositionEmbedding`] |
//! | embedding | [`Embedding`], [`EmbeddingBag`] |
//! | padding | [`ZeroPad1d`], [`ZeroPad2d`], [`ZeroPad3d`] ([`ZeroPad`]); [`ConstantPad1d`], [`ConstantPad2d`], [`ConstantPad3d`] ([`ConstantPad`]); [`ReflectionPad1d`], [`ReflectionPad2d`], [`ReflectionPad3d`] ([`ReflectionPad`]); [`ReplicationPad1d`], [`ReplicationPad2d`], [`ReplicationPad3d`] ([`ReplicationPad`]); [`CircularPad1d`], [`CircularPad2d`], [`CircularPad3d`] ([`CircularPad`]) |
//! | shape | [`Flatten`], [`Unflatten`], [`Permute`], [`ChannelShuffle`], [`PixelShuffle`], [`PixelUnshuffle`] |
//! | resizing | [`Upsample`], [`UpsamplingNearest2d`], [`UpsamplingBilinear2d`] |
//! | distance | [`CosineSimilarity`], [`PairwiseDistance`] |
//! | vision | [`SqueezeExcitation`] |
//! | containers | [`Sequential`], [`ModuleList`], [`ModuleDict`], [`ParameterList`], [`ParameterDict`] |
//!
//! Arguments with a few possible values are enums: [`Padding`], [`PaddingMode`], [`InterpolateMode`], [`Approximate`], [`BagMode`],
//! [`RNNNonlinearity`], [`TransformerActivation`], [`StochasticDepthMode`]. [`Sizes`] is one size for all dimensions, or one for
//! each.
//!
//! PyTorch's `inplace` arguments do not exist here: tensors never change, and a kernel writes in place by itself if nothing
//! else holds the memory.

mod activation_layer;
mod adaptive_avg_pool;
mod adaptive_log_softmax;
mod adaptive_max_pool;
mod alpha_dropout;
mod avg_pool;
mod batch_norm;
mod bilinear;
mod causal;
mod celu;
pub(crate) mod channel_norm;
mod channel_shuffle;
mod circular_pad;
mod constant_pad;
mod conv;
mod conv_norm_activation;
mod conv_transpose;
mod convert_sync_batchnorm;
mod cosine_similarity;
mod cross_map_lrn2d;
mod dropout;
mod dropout1d;
mod dropout2d;
mod dropout3d;
mod elu;
mod embedding;
mod embedding_bag;
mod feature_alpha_dropout;
mod flatten;
mod fold;
mod fractional_max_pool;
mod frozen_batch_norm2d;
mod gelu;
mod glu;
mod group_norm;
mod grouped_query_attention;
mod gru;
mod gru_cell;
mod hardshrink;
mod hardsigmoid;
mod hardswish;
mod hardtanh;
mod instance_norm;
mod key_value_cache;
mod layer_norm;
mod layer_norm2d;
mod leaky_relu;
mod linear;
mod local_response_norm;
mod log_sigmoid;
mod log_softmax;
mod lp_pool;
mod lstm;
mod lstm_cell;
mod max_pool;
mod max_unpool;
mod mish;
mod multihead_attention;
mod padding_mode;
mod pairwise_distance;
mod parts;
mod permute;
mod pixel_shuffle;
mod pixel_unshuffle;
mod position;
mod prelu;
mod recurrent;
mod recurrent_cell;
mod reflection_pad;
mod relu;
mod relu6;
mod replication_pad;
mod rms_norm;
mod rnn;
mod rnn_cell;
mod rotary_embedding;
mod rotary_scaling;
mod rrelu;
mod selu;
mod sigmoid;
mod silu;
mod sinusoidal_position_embedding;
mod softmax;
mod softmax2d;
mod softmin;
mod softplus;
mod softshrink;
mod softsign;
mod spatial;
mod squeeze_excitation;
mod stochastic_depth;
mod sync_batch_norm;
mod tanh;
mod tanhshrink;
mod threshold;
mod transformer;
mod transposed_linear;
mod unflatten;
mod unfold;
mod upsample;
mod upsampling_bilinear2d;
mod upsampling_nearest2d;
mod with_indices;
mod zero_pad;

pub use crate::functional::BagMode;
pub use activation_layer::{ActivationLayer, NormLayer};
pub use adaptive_avg_pool::{
    AdaptiveAvgPool, AdaptiveAvgPool1d, AdaptiveAvgPool1dConfig, AdaptiveAvgPool2d,
    AdaptiveAvgPool2dConfig, AdaptiveAvgPool3d, AdaptiveAvgPool3dConfig, AdaptiveAvgPoolConfig,
};
pub use adaptive_log_softmax::{AdaptiveLogSoftmaxWithLoss, AdaptiveLogSoftmaxWithLossConfig};
pub use adaptive_max_pool::{
    AdaptiveMaxPool, AdaptiveMaxPool1d, AdaptiveMaxPool1dConfig, AdaptiveMaxPool2d,
    AdaptiveMaxPool2dConfig, AdaptiveMaxPool3d, AdaptiveMaxPool3dConfig, AdaptiveMaxPoolConfig,
};
pub use alpha_dropout::{AlphaDropout, AlphaDropoutConfig};
pub use avg_pool::{
    AvgPool, AvgPool1d, AvgPool1dConfig, AvgPool2d, AvgPool2dConfig, AvgPool3d, AvgPool3dConfig,
    AvgPoolConfig,
};
pub use batch_norm::{
    BatchNorm, BatchNorm1d, BatchNorm1dConfig, BatchNorm2d, BatchNorm2dConfig, BatchNorm3d,
    BatchNorm3dConfig, BatchNormConfig,
};
pub use bilinear::{Bilinear, BilinearConfig};
pub use celu::{CELU, CELUConfig};
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
    Conv, Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, Conv3d, Conv3dConfig, ConvConfig,
};
pub use conv_norm_activation::{Conv2dNormActivation, Conv2dNormActivationConfig};
pub use conv_transpose::{
    ConvTranspose, ConvTranspose1d, ConvTranspose1dConfig, ConvTranspose2d, ConvTranspose2dConfig,
    ConvTranspose3d, ConvTranspose3dConfig, ConvTransposeConfig,
};
pub use convert_sync_batchnorm::convert_sync_batchnorm;
pub use cosine_similarity::{CosineSimilarity, CosineSimilarityConfig};
pub use cross_map_lrn2d::{CrossMapLRN2d, CrossMapLRN2dConfig};
pub use dropout::{Dropout, DropoutConfig};
pub use dropout1d::{Dropout1d, Dropout1dConfig};
pub use dropout2d::{Dropout2d, Dropout2dConfig};
pub use dropout3d::{Dropout3d, Dropout3dConfig};
pub use elu::{ELU, ELUConfig};
pub use embedding::{Embedding, EmbeddingConfig};
pub use embedding_bag::{EmbeddingBag, EmbeddingBagConfig};
pub use feature_alpha_dropout::{FeatureAlphaDropout, FeatureAlphaDropoutConfig};
pub use flatten::{Flatten, FlattenConfig};
pub use fold::{Fold, FoldConfig};
pub use fractional_max_pool::{
    FractionalMaxPool, FractionalMaxPool2d, FractionalMaxPool2dConfig, FractionalMaxPool3d,
    FractionalMaxPool3dConfig, FractionalMaxPoolConfig,
};
pub use frozen_batch_norm2d::{FrozenBatchNorm2d, FrozenBatchNorm2dConfig};
pub use gelu::{Approximate, GELU, GELUConfig};
pub use glu::{GLU, GLUConfig};
pub use group_norm::{GroupNorm, GroupNormConfig};
pub use grouped_query_attention::{
    GroupedQueryAttention, GroupedQueryAttentionConfig, GroupedQueryAttentionInput,
};
pub use gru::{GRU, GRUConfig};
pub use gru_cell::{GRUCell, GRUCellConfig};
pub use hardshrink::{Hardshrink, HardshrinkConfig};
pub use hardsigmoid::Hardsigmoid;
pub use hardswish::Hardswish;
pub use hardtanh::{Hardtanh, HardtanhConfig};
pub use instance_norm::{
    InstanceNorm, InstanceNorm1d, InstanceNorm1dConfig, InstanceNorm2d, InstanceNorm2dConfig,
    InstanceNorm3d, InstanceNorm3dConfig, InstanceNormConfig,
};
pub use key_value_cache::KeyValueCache;
pub use layer_norm::{LayerNorm, LayerNormConfig};
pub use layer_norm2d::{LayerNorm2d, LayerNorm2dConfig};
pub use leaky_relu::{LeakyReLU, LeakyReLUConfig};
pub use linear::{Linear, LinearConfig};
pub use local_response_norm::{LocalResponseNorm, LocalResponseNormConfig};
pub use log_sigmoid::LogSigmoid;
pub use log_softmax::{LogSoftmax, LogSoftmaxConfig};
pub use lp_pool::{
    LPPool, LPPool1d, LPPool1dConfig, LPPool2d, LPPool2dConfig, LPPool3d, LPPool3dConfig,
    LPPoolConfig,
};
pub use lstm::{LSTM, LSTMConfig};
pub use lstm_cell::{LSTMCell, LSTMCellConfig};
pub use max_pool::{
    MaxPool, MaxPool1d, MaxPool1dConfig, MaxPool2d, MaxPool2dConfig, MaxPool3d, MaxPool3dConfig,
    MaxPoolConfig,
};
pub use max_unpool::{
    MaxUnpool, MaxUnpool1d, MaxUnpool1dConfig, MaxUnpool2d, MaxUnpool2dConfig, MaxUnpool3d,
    MaxUnpool3dConfig, MaxUnpoolConfig,
};
pub use mish::Mish;
pub use module_core::{
    Identity, InterpolateMode, ModuleDict, ModuleList, Padding, ParameterDict, ParameterList,
    Sequential, Sizes,
};
pub use multihead_attention::{
    MultiheadAttention, MultiheadAttentionConfig, MultiheadAttentionInput,
    NonDynamicallyQuantizableLinear,
};
pub use padding_mode::PaddingMode;
pub use pairwise_distance::{PairwiseDistance, PairwiseDistanceConfig};
pub use permute::{Permute, PermuteConfig};
pub use pixel_shuffle::{PixelShuffle, PixelShuffleConfig};
pub use pixel_unshuffle::{PixelUnshuffle, PixelUnshuffleConfig};
pub use position::PositionLayout;
pub use prelu::{PReLU, PReLUConfig};
pub use reflection_pad::{
    ReflectionPad, ReflectionPad1d, ReflectionPad1dConfig, ReflectionPad2d, ReflectionPad2dConfig,
    ReflectionPad3d, ReflectionPad3dConfig, ReflectionPadConfig,
};
pub use relu::ReLU;
pub use relu6::ReLU6;
pub use replication_pad::{
    ReplicationPad, ReplicationPad1d, ReplicationPad1dConfig, ReplicationPad2d,
    ReplicationPad2dConfig, ReplicationPad3d, ReplicationPad3dConfig, ReplicationPadConfig,
};
pub use rms_norm::{RMSNorm, RMSNormConfig};
pub use rnn::{RNN, RNNConfig, RNNNonlinearity};
pub use rnn_cell::{RNNCell, RNNCellConfig};
pub use rotary_embedding::{RotaryEmbedding, RotaryEmbeddingConfig};
pub use rotary_scaling::RotaryScaling;
pub use rrelu::{RReLU, RReLUConfig};
pub use selu::SELU;
pub use sigmoid::Sigmoid;
pub use silu::SiLU;
pub use sinusoidal_position_embedding::{
    SinusoidalPositionEmbedding, SinusoidalPositionEmbeddingConfig,
};
pub use softmax::{Softmax, SoftmaxConfig};
pub use softmax2d::Softmax2d;
pub use softmin::{Softmin, SoftminConfig};
pub use softplus::{Softplus, SoftplusConfig};
pub use softshrink::{Softshrink, SoftshrinkConfig};
pub use softsign::Softsign;
pub use squeeze_excitation::{SqueezeExcitation, SqueezeExcitationConfig};
pub use stochastic_depth::{StochasticDepth, StochasticDepthConfig, StochasticDepthMode};
pub use sync_batch_norm::SyncBatchNorm;
pub use tanh::Tanh;
pub use tanhshrink::Tanhshrink;
pub use threshold::{Threshold, ThresholdConfig};
pub use transformer::{
    Transformer, TransformerActivation, TransformerConfig, TransformerDecoder,
    TransformerDecoderConfig, TransformerDecoderInput, TransformerDecoderLayer,
    TransformerDecoderLayerConfig, TransformerDecoderLayerInput, TransformerEncoder,
    TransformerEncoderConfig, TransformerEncoderInput, TransformerEncoderLayer,
    TransformerEncoderLayerConfig, TransformerEncoderLayerInput, TransformerInput,
};
pub use transposed_linear::{TransposedLinear, TransposedLinearConfig};
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
