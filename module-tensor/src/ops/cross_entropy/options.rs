//! How losses of classification are computed and joined.

use serde::{Deserialize, Serialize};

use crate::tensor::Tensor;

/// How a loss joins the losses of its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduction {
    /// Not at all.
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
            /// A class whose elements count nothing.
            ignore_index: i64 = -100,
            /// How the losses of the elements are joined.
            reduction: Reduction = Reduction::Mean,
            /// How much of the target is spread evenly over all classes.
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
            /// A class whose elements count nothing.
            ignore_index: i64 = -100,
            /// How the losses of the elements are joined.
            reduction: Reduction = Reduction::Mean,
        }
    }
}
