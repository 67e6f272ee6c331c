//! The computations of layers and losses as functions of tensors: PyTorch's `torch.nn.functional`.
//!
//! Many functions of `torch.nn.functional` are methods of [`Tensor`](crate::Tensor), such as [`relu`](crate::Tensor::relu),
//! [`conv2d`](crate::Tensor::conv2d), [`softmax`](crate::Tensor::softmax) and
//! [`scaled_dot_product_attention`](crate::Tensor::scaled_dot_product_attention). The others are here.
//!
//! | group | functions |
//! |---|---|
//! | layers | [`linear`](linear()), [`bilinear`](bilinear()), [`embedding_bag`](embedding_bag()), [`lp_pool`](lp_pool()), [`local_response_norm`](local_response_norm()), [`rrelu`](rrelu()), [`gumbel_softmax`](gumbel_softmax()), [`gumbel_softmax_hard`] |
//! | losses of classes | [`cross_entropy`](cross_entropy()), [`nll_loss`], [`linear_cross_entropy`](linear_cross_entropy()), [`binary_cross_entropy`](binary_cross_entropy()), [`binary_cross_entropy_with_logits`], [`multi_margin_loss`], [`multilabel_margin_loss`], [`multilabel_soft_margin_loss`], [`soft_margin_loss`], [`hinge_embedding_loss`], [`ctc_loss`](ctc_loss()) |
//! | losses of numbers and distributions | [`mse_loss`], [`l1_loss`], [`smooth_l1_loss`], [`huber_loss`], [`kl_div`], [`kl_div_log_target`], [`gaussian_nll_loss`], [`poisson_nll_loss`] |
//! | losses of distances | [`cosine_embedding_loss`], [`margin_ranking_loss`], [`triplet_margin_loss`], [`triplet_margin_with_distance_loss`] |
//! | distances | [`cosine_similarity`], [`pairwise_distance`], [`pairwise_distance_keepdim`], [`normalize`](normalize()) |
//! | images | [`affine_grid`], [`affine_grid_align_corners`], [`grid_sample`](grid_sample()), [`pixel_shuffle`], [`pixel_unshuffle`], [`channel_shuffle`] |
//!
//! # Example
//!
//! ```
//! use module_nn::functional::{Reduction, linear, mse_loss};
//! use module_nn::prelude::*;
//!
//! let (x, weight) = (Tensor::from([[1.0_f32, 2.0]]), Tensor::from([[3.0_f32, 4.0]]));
//! let y = linear(&x, &weight, None)?;
//! assert_eq!(mse_loss(&y, &Tensor::from([[10.0_f32]]), Reduction::Mean)?.item::<f32>()?, 1.0);
//! # Ok::<(), Error>(())
//! ```

mod bilinear;
mod binary;
mod binary_cross_entropy;
mod cross_entropy;
mod ctc_loss;
mod embedding_bag;
mod embedding_distance;
mod grid_sample;
mod gumbel_softmax;
mod likelihood;
mod linear;
mod linear_cross_entropy;
mod local_response_norm;
mod loss;
mod lp_pool;
mod margin;
mod normalize;
mod regression;
mod rrelu;
mod shuffle;
mod similarity;

pub use bilinear::bilinear;
pub use binary::{binary_cross_entropy_with_logits, multilabel_soft_margin_loss, soft_margin_loss};
pub use binary_cross_entropy::binary_cross_entropy;
pub use cross_entropy::{CrossEntropyOptions, NllLossOptions, Reduction, cross_entropy, nll_loss};
pub use ctc_loss::ctc_loss;
pub use embedding_bag::{BagMode, EmbeddingBagOptions, embedding_bag};
pub use embedding_distance::{
    cosine_embedding_loss, triplet_margin_loss, triplet_margin_with_distance_loss,
};
pub use grid_sample::{affine_grid, affine_grid_align_corners, grid_sample};
pub use gumbel_softmax::{gumbel_softmax, gumbel_softmax_hard};
pub use likelihood::{
    KLDivReduction, gaussian_nll_loss, kl_div, kl_div_log_target, poisson_nll_loss,
};
pub use linear::linear;
pub use linear_cross_entropy::{
    LinearCrossEntropyArguments, LinearCrossEntropyOptions, linear_cross_entropy,
};
pub use local_response_norm::local_response_norm;
pub use lp_pool::{LpPoolOptions, lp_pool};
pub use margin::{
    hinge_embedding_loss, margin_ranking_loss, multi_margin_loss, multilabel_margin_loss,
};
pub use module_core::{GridPaddingMode, GridSampleMode, GridSampleOptions, PadMode};
pub use normalize::normalize;
pub use regression::{huber_loss, l1_loss, mse_loss, smooth_l1_loss};
pub use rrelu::rrelu;
pub use shuffle::{channel_shuffle, pixel_shuffle, pixel_unshuffle};
pub use similarity::{cosine_similarity, pairwise_distance, pairwise_distance_keepdim};

pub(crate) use embedding_bag::by_frequency;
pub(crate) use linear::check_shape;
pub(crate) use margin::check_p;
