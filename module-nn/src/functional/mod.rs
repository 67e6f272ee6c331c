//! What layers compute, as functions of tensors: PyTorch's `torch.nn.functional`.

mod binary;
mod cross_entropy;
mod ctc_loss;
mod embedding_distance;
mod likelihood;
mod linear;
mod loss;
mod margin;
mod regression;

pub use binary::{
    binary_cross_entropy, binary_cross_entropy_with_logits, multilabel_soft_margin_loss,
    soft_margin_loss,
};
pub use cross_entropy::{CrossEntropyOptions, NllLossOptions, Reduction, cross_entropy, nll_loss};
pub use ctc_loss::ctc_loss;
pub use embedding_distance::{
    cosine_embedding_loss, pairwise_distance, triplet_margin_loss,
    triplet_margin_with_distance_loss,
};
pub use likelihood::{KLDivReduction, gaussian_nll_loss, kl_div, poisson_nll_loss};
pub(crate) use linear::check_shape;
pub use linear::linear;
pub(crate) use margin::check_p;
pub use margin::{
    hinge_embedding_loss, margin_ranking_loss, multi_margin_loss, multilabel_margin_loss,
};
pub use module_core::PadMode;
pub use regression::{huber_loss, l1_loss, mse_loss, smooth_l1_loss};
