//! Losses, by the kind of their targets. Each has PyTorch's name, arguments and defaults.
//!
//! A loss is made by `new`, with PyTorch's defaults, or from its configuration; [`Loss::loss`] takes the output of a network
//! and the target. Losses of two tensors are modules too. An input and a target of different shapes are an error, where PyTorch
//! broadcasts.
//!
//! | of | losses |
//! |---|---|
//! | classes | [`CrossEntropyLoss`], [`NLLLoss`], [`LinearCrossEntropyLoss`] (with the last layer), [`MultiMarginLoss`] |
//! | several classes at once, or yes or no | [`BCEWithLogitsLoss`], [`BCELoss`], [`MultiLabelMarginLoss`], [`MultiLabelSoftMarginLoss`], [`SoftMarginLoss`], [`HingeEmbeddingLoss`] |
//! | numbers | [`MSELoss`], [`L1Loss`], [`SmoothL1Loss`], [`HuberLoss`] |
//! | distributions | [`KLDivLoss`], [`GaussianNLLLoss`], [`PoissonNLLLoss`] |
//! | distances and orders | [`CosineEmbeddingLoss`], [`MarginRankingLoss`], [`TripletMarginLoss`], [`TripletMarginWithDistanceLoss`] |
//! | sequences without alignment | [`CTCLoss`] |
//!
//! [`Reduction`] says how the losses of single elements are combined; [`KLDivReduction`] is that of [`KLDivLoss`]. The functions
//! are in [`functional`](crate::functional).

mod bce;
mod bce_with_logits;
mod cosine_embedding;
mod cross_entropy;
mod ctc;
mod gaussian_nll;
mod hinge_embedding;
mod huber;
mod kl_div;
mod l1;
mod linear_cross_entropy;
mod margin_ranking;
mod mse;
mod multi_label_margin;
mod multi_label_soft_margin;
mod multi_margin;
mod nll;
mod of_two;
mod poisson_nll;
mod shared;
mod smooth_l1;
mod soft_margin;
mod triplet_margin;
mod triplet_margin_with_distance;

pub use crate::functional::{KLDivReduction, LinearCrossEntropyOptions, Reduction};
pub use bce::{BCELoss, BCELossConfig};
pub use bce_with_logits::{BCEWithLogitsLoss, BCEWithLogitsLossConfig};
pub use cosine_embedding::{CosineEmbeddingLoss, CosineEmbeddingLossConfig};
pub use cross_entropy::{CrossEntropyLoss, CrossEntropyLossConfig};
pub use ctc::{CTCLoss, CTCLossConfig};
pub use gaussian_nll::{GaussianNLLLoss, GaussianNLLLossConfig};
pub use hinge_embedding::{HingeEmbeddingLoss, HingeEmbeddingLossConfig};
pub use huber::{HuberLoss, HuberLossConfig};
pub use kl_div::{KLDivLoss, KLDivLossConfig};
pub use l1::{L1Loss, L1LossConfig};
pub use linear_cross_entropy::{LinearCrossEntropyLoss, LinearCrossEntropyLossConfig};
pub use margin_ranking::{MarginRankingLoss, MarginRankingLossConfig};
pub use mse::{MSELoss, MSELossConfig};
pub use multi_label_margin::{MultiLabelMarginLoss, MultiLabelMarginLossConfig};
pub use multi_label_soft_margin::{MultiLabelSoftMarginLoss, MultiLabelSoftMarginLossConfig};
pub use multi_margin::{MultiMarginLoss, MultiMarginLossConfig};
pub use nll::{NLLLoss, NLLLossConfig};
pub use of_two::Loss;
pub use poisson_nll::{PoissonNLLLoss, PoissonNLLLossConfig};
use shared::{buffer, defaults, one_dimension, weights};
pub use smooth_l1::{SmoothL1Loss, SmoothL1LossConfig};
pub use soft_margin::{SoftMarginLoss, SoftMarginLossConfig};
pub use triplet_margin::{TripletMarginLoss, TripletMarginLossConfig};
pub use triplet_margin_with_distance::{
    TripletMarginWithDistanceLoss, TripletMarginWithDistanceLossConfig,
};
