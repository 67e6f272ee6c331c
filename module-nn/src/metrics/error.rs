use std::fmt;

use module_core::{DType, Error, Shape};

/// Errors of metrics; found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_nn::metrics::{Accuracy, Metric, MetricError};
/// use module_nn::prelude::*;
///
/// let mut accuracy = Accuracy::new(3)?;
/// let error = accuracy.update(&Tensor::from([0_i64, 1]), &Tensor::from([0_i64, 7])).unwrap_err();
/// match error.downcast_ref::<MetricError>() {
///     Some(MetricError::Class { class, num_classes, .. }) => assert_eq!((*class, *num_classes), (7, 3)),
///     _ => unreachable!("{error}"),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MetricError {
    /// No data: there was no batch, or everything was ignored.
    Empty {
        /// The metric.
        metric: &'static str,
    },

    /// Predictions and targets with incompatible shapes.
    Shapes {
        /// The metric.
        metric: &'static str,
        /// The shape of the predictions.
        preds: Shape,
        /// The shape of the targets.
        target: Shape,
        /// The shapes that they must have.
        expected: String,
    },

    /// A tensor with an unsuitable dtype.
    DType {
        /// The metric.
        metric: &'static str,
        /// `preds` or `target`.
        what: &'static str,
        /// Its dtype.
        dtype: DType,
        /// The dtypes that it may have.
        expected: &'static str,
    },

    /// A class that does not exist.
    Class {
        /// The metric.
        metric: &'static str,
        /// `preds` or `target`.
        what: &'static str,
        /// The class.
        class: i64,
        /// The number of classes.
        num_classes: usize,
    },

    /// A score outside `[0, 1]` where probabilities are needed.
    Probability {
        /// The metric.
        metric: &'static str,
        /// The score.
        value: f64,
    },

    /// A class without samples, or with all of them, for which the metric is not defined.
    OneClass {
        /// The metric.
        metric: &'static str,
        /// The class.
        class: usize,
        /// The samples of this class.
        positives: usize,
        /// The samples of other classes.
        negatives: usize,
    },

    /// Fewer samples than the metric needs.
    TooFew {
        /// The metric.
        metric: &'static str,
        /// The samples seen.
        samples: usize,
        /// How many there must be.
        least: usize,
    },
}

impl fmt::Display for MetricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { metric } => write!(
                f,
                "{metric}: no data was counted; call `update` before `compute`"
            ),
            Self::Shapes {
                metric,
                preds,
                target,
                expected,
            } => write!(
                f,
                "{metric}: preds have shape {preds} and target {target}; {expected}"
            ),
            Self::DType {
                metric,
                what,
                dtype,
                expected,
            } => write!(f, "{metric}: {what} has dtype {dtype}; give {expected}"),
            Self::Class {
                metric,
                what,
                class,
                num_classes,
            } => write!(
                f,
                "{metric}: {what} has class {class}, and there are {num_classes} classes, counted from 0; increase \
                 the number of classes, or set `ignore_index` if it marks what is not counted"
            ),
            Self::Probability { metric, value } => write!(
                f,
                "{metric}: preds has {value}, which is not a probability; set `from_logits` to true if these are \
                 logits"
            ),
            Self::OneClass {
                metric,
                class,
                positives,
                negatives,
            } => write!(
                f,
                "{metric}: class {class} has {positives} sample(s), and the others have {negatives}; it is \
                 defined only where both have at least one"
            ),
            Self::TooFew {
                metric,
                samples,
                least,
            } => write!(
                f,
                "{metric}: got {samples} sample(s), and needs at least {least}"
            ),
        }
    }
}

impl std::error::Error for MetricError {}

impl From<MetricError> for Error {
    fn from(error: MetricError) -> Self {
        Self::custom(error)
    }
}
