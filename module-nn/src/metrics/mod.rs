//! Metrics: the quality of predictions, accumulated over the batches of an epoch. Names and definitions are
//! torchmetrics'.
//!
//! A [`Metric`] takes batches with [`update`](Metric::update) and returns its value over all of them with
//! [`compute`](Metric::compute); [`reset`](Metric::reset) begins the next epoch. It is [`Stateful`], so that an epoch can
//! be resumed, and [`merge`](Metric::merge) combines the data of several workers or ranks.
//!
//! | metric | of |
//! |---|---|
//! | [`Accuracy`], [`Precision`], [`Recall`], [`F1Score`] | classes, or logits or probabilities of classes |
//! | [`ConfusionMatrix`] | the same |
//! | [`AUROC`] | probabilities or logits |
//! | [`Perplexity`] | logits of tokens |
//! | [`MeanSquaredError`], [`MeanAbsoluteError`], [`R2Score`] | numbers |
//! | [`MeanMetric`], [`RunningMean`] | any values, such as losses |
//!
//! Values are computed in `f64`. Without any data, `compute` returns an error ([`MetricError::Empty`]), not NaN.
//!
//! # Example
//!
//! ```
//! use module_nn::metrics::{Accuracy, Average, F1ScoreConfig, Metric};
//! use module_nn::prelude::*;
//!
//! let f1 = F1ScoreConfig::new(3).average(Average::Macro).build()?;
//! let mut metrics: Vec<Box<dyn Metric>> = vec![Box::new(Accuracy::new(3)?), Box::new(f1)];
//! let logits = Tensor::from([[2.0_f32, 0.0, 1.0], [0.0, 3.0, 1.0], [0.0, 3.0, 1.0]]);
//! let target = Tensor::from([0_i64, 1, 2]);
//! for metric in &mut metrics {
//!     metric.update(&logits, &target)?;
//!     println!("{} {:.3}", metric.name(), metric.value()?);
//! }
//! assert_eq!(metrics[0].value()?, 2.0 / 3.0);
//! # Ok::<(), Error>(())
//! ```
//!
//! [`Stateful`]: module_core::Stateful

mod accuracy;
mod auroc;
mod classes;
mod confusion_matrix;
mod error;
mod mean;
mod mean_metric;
mod metric;
mod perplexity;
mod precision_recall;
mod r2_score;
mod read;
mod running_mean;
mod scores;
mod task;
mod totals;

pub use accuracy::{Accuracy, AccuracyConfig};
pub use auroc::{AUROC, AUROCConfig};
pub use confusion_matrix::{ConfusionMatrix, ConfusionMatrixConfig, Normalize};
pub use error::MetricError;
pub use mean::{MeanAbsoluteError, MeanSquaredError, MeanSquaredErrorConfig};
pub use mean_metric::MeanMetric;
pub use metric::Metric;
pub use perplexity::{Perplexity, PerplexityConfig};
pub use precision_recall::{
    F1Score, F1ScoreConfig, Precision, PrecisionConfig, Recall, RecallConfig,
};
pub use r2_score::R2Score;
pub use running_mean::{RunningMean, RunningMeanConfig};
pub use task::{Average, Task};
