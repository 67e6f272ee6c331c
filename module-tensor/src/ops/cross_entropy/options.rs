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
    ///
    /// ```
    /// use module_tensor::{CrossEntropyOptions, Reduction, Tensor, Tolerance};
    ///
    /// // The probabilities 3/4 and 1/4, twice.
    /// let logits = Tensor::from([[3.0_f64.ln(), 0.0]; 2]);
    /// let classes = Tensor::from([0_i64, 1]);
    /// let loss = |options| logits.cross_entropy(&classes, options);
    /// let close = |loss: Tensor, expected: f64| loss.allclose(&Tensor::from(expected), Tolerance::new());
    /// let (a, b) = (-0.75_f64.ln(), -0.25_f64.ln());
    ///
    /// assert!(close(loss(CrossEntropyOptions::new().ignore_index(1))?, a)?);
    /// let weight = Tensor::from([10.0, 1.0]);
    /// let weighted = CrossEntropyOptions::new().weight(&weight).reduction(Reduction::Sum);
    /// assert!(close(loss(weighted)?, 10.0 * a + b)?);
    /// // A tenth of each target is spread over both classes.
    /// let smoothed = CrossEntropyOptions::new().label_smoothing(0.1).ignore_index(1);
    /// assert!(close(loss(smoothed)?, 0.95 * a + 0.05 * b)?);
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
    ///
    /// ```
    /// use module_tensor::{NllLossOptions, Tensor};
    ///
    /// let scores = Tensor::from([[-1.0_f32, -2.0], [-3.0, -4.0]]);
    /// let (classes, weight) = (Tensor::from([1_i64, 0]), Tensor::from([3.0_f32, 1.0]));
    /// let loss = |options| scores.nll_loss(&classes, options)?.item::<f32>();
    /// assert_eq!(loss(NllLossOptions::new().weight(&weight))?, (1.0 * 2.0 + 3.0 * 3.0) / 4.0);
    /// assert_eq!(loss(NllLossOptions::new().ignore_index(0))?, 2.0);
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
