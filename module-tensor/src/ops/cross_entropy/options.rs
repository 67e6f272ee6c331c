//! The options of the classification losses.

use serde::{Deserialize, Serialize};

use crate::tensor::Tensor;

/// The reduction of the losses of the elements.
///
/// # Example
///
/// ```
/// use module_tensor::{NllLossOptions, Reduction, Tensor};
///
/// let (scores, classes) = (Tensor::from([[-1.0_f32, -2.0]; 2]), Tensor::from([0_i64, 1]));
/// let options = NllLossOptions::new().reduction(Reduction::None);
/// assert_eq!(scores.nll_loss(&classes, options)?.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
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
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{CrossEntropyOptions, Reduction, Tensor};
    ///
    /// let (logits, classes) = (Tensor::from([[0.0_f32, 0.0]]), Tensor::from([1_i64]));
    /// let options = CrossEntropyOptions::new().reduction(Reduction::Sum);
    /// assert_eq!(logits.cross_entropy(&classes, options)?.item::<f32>()?, std::f32::consts::LN_2);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
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
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{NllLossOptions, Tensor};
    ///
    /// let (scores, classes) = (Tensor::from([[-1.0_f32, -2.0]]), Tensor::from([1_i64]));
    /// assert_eq!(scores.nll_loss(&classes, NllLossOptions::new())?.item::<f32>()?, 2.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
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
