use crate::Select;

use super::kind::FindingKind;

/// The bounds beyond which numbers become findings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AuditThresholds {
    /// The fraction of the units of a layer that are silent for every sample; 0.9. (At the start, half of them may well be, in front of a narrow layer.)
    pub dead_units: f64,
    /// How many samples a unit must be silent for to be called dead; 32.
    pub dead_unit_samples: usize,
    /// The norm of a weight's gradient as a part of the weight's, relative to that of the parameter where this is
    /// the largest; 1e-7.
    pub vanishing: f64,
    /// The root mean square of values that a module gives, relative to those of the model's input; 1e6.
    pub exploding: f64,
    /// The norm of a step as a part of that of the weight; 3. Usual are 0.0001 to 0.1.
    pub update_ratio: f64,
}

impl Default for AuditThresholds {
    fn default() -> Self {
        Self {
            dead_units: 0.9,
            dead_unit_samples: 32,
            vanishing: 1e-7,
            exploding: 1e6,
            update_ratio: 3.0,
        }
    }
}

/// A finding that is meant to be.
#[derive(Clone, Debug)]
pub(super) struct Exception {
    pub(super) kind: FindingKind,
    pub(super) select: Select,
    pub(super) reason: String,
}

/// What an audit was told.
#[derive(Clone, Debug)]
pub(super) struct AuditOptions {
    pub(super) steps: usize,
    pub(super) thresholds: AuditThresholds,
    /// Whether gradients are meant to be added up over steps.
    pub(super) accumulates: bool,
    /// The dimension of the batch, where it was declared.
    pub(super) batch_dim: Option<usize>,
    /// The learning rates of the optimizers that it was shown.
    pub(super) learning_rates: Vec<f64>,
    /// The keys that a load was meant to bring and did not.
    pub(super) not_loaded: Vec<String>,
    pub(super) exceptions: Vec<Exception>,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self {
            steps: 2,
            thresholds: AuditThresholds::default(),
            accumulates: false,
            batch_dim: None,
            learning_rates: Vec::new(),
            not_loaded: Vec::new(),
            exceptions: Vec::new(),
        }
    }
}
