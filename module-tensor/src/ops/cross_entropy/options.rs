//! The options of the classification losses.

use serde::{Deserialize, Serialize};

use crate::tensor::Tensor;

/// The reduction of the losses of the elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduction {
    /// No reduction.
    None,
    /// Their mean, weighted if the loss has weights.
    #[default]
    Mean,
    /// Their sum.
    Sum,
}

crate::options! {
    /// The options of [`Tensor::cross_entropy`], with PyTorch's names and defaults.
    #[derive(Clone, Copy, Debug)]
    pub struct CrossEntropyOptions<'a> {
        optional {
            /// A weight for each class, `[classes]`.
            weight: Option<&'a Tensor> = None,
            /// The class whose elements do not contribute to the loss.
            ignore_index: i64 = -100,
            /// The reduction of the losses of the elements.
            reduction: Reduction = Reduction::Mean,
            /// The fraction of the target that is spread uniformly over all classes.
            label_smoothing: f64 = 0.0,
        }
    }
}

crate::options! {
    /// The options of [`Tensor::nll_loss`], with PyTorch's names and defaults.
    #[derive(Clone, Copy, Debug)]
    pub struct NllLossOptions<'a> {
        optional {
            /// A weight for each class, `[classes]`.
            weight: Option<&'a Tensor> = None,
            /// The class whose elements do not contribute to the loss.
            ignore_index: i64 = -100,
            /// The reduction of the losses of the elements.
            reduction: Reduction = Reduction::Mean,
        }
    }
}
