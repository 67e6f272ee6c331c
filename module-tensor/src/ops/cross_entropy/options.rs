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

/// The options of [`Tensor::cross_entropy`], with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug)]
pub struct CrossEntropyOptions<'a> {
    /// A weight for each class, `[classes]`.
    pub weight: Option<&'a Tensor>,
    /// A class whose elements count nothing.
    pub ignore_index: i64,
    /// How the losses of the elements are joined.
    pub reduction: Reduction,
    /// How much of the target is spread evenly over all classes.
    pub label_smoothing: f64,
}

impl Default for CrossEntropyOptions<'_> {
    fn default() -> Self {
        Self {
            weight: None,
            ignore_index: -100,
            reduction: Reduction::Mean,
            label_smoothing: 0.0,
        }
    }
}

/// The options of [`Tensor::nll_loss`], with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug)]
pub struct NllLossOptions<'a> {
    /// A weight for each class, `[classes]`.
    pub weight: Option<&'a Tensor>,
    /// A class whose elements count nothing.
    pub ignore_index: i64,
    /// How the losses of the elements are joined.
    pub reduction: Reduction,
}

impl Default for NllLossOptions<'_> {
    fn default() -> Self {
        Self {
            weight: None,
            ignore_index: -100,
            reduction: Reduction::Mean,
        }
    }
}
