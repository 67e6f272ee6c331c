use serde::{Deserialize, Serialize};

use crate::Argument;

/// The task of a classification metric. A number means that many classes.
///
/// # Example
///
/// ```
/// use module_nn::metrics::{Accuracy, Metric, Task};
/// use module_nn::prelude::*;
///
/// let mut accuracy = Accuracy::new(Task::Binary)?;
/// accuracy.update(&Tensor::from([0.2_f32, 0.9, 0.6]), &Tensor::from([0_i64, 1, 0]))?;
/// assert_eq!(accuracy.value()?, 2.0 / 3.0);
/// assert_eq!((Task::Binary.num_classes(), Task::from(5).num_classes()), (2, 5));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Two classes: predictions have the shape of the targets, which are 0 and 1. Floating-point predictions are
    /// probabilities of 1.
    Binary,
    /// Several classes: predictions `[N, C, …]` of scores for each class, or classes in the shape of the targets `[N, …]`.
    Multiclass(usize),
}

impl Task {
    /// The number of classes; 2 for a binary task.
    pub fn num_classes(self) -> usize {
        match self {
            Self::Binary => 2,
            Self::Multiclass(classes) => classes,
        }
    }
}

impl From<usize> for Task {
    fn from(num_classes: usize) -> Self {
        Self::Multiclass(num_classes)
    }
}

impl Argument<Task> for usize {
    fn argument(self) -> Task {
        self.into()
    }
}

/// How the scores of classes are combined. A binary task has only the score of class 1, whatever the average.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Average {
    /// One score over all samples, whatever their class.
    Micro,
    /// The mean over the classes that occur, as a target or as a prediction.
    Macro,
    /// The mean over the classes, each counted by its number of targets.
    Weighted,
    /// The score of each class.
    None,
}
