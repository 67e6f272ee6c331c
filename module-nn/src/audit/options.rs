use crate::Select;

use super::kind::FindingKind;

/// The thresholds beyond which numbers become findings.
///
/// # Example
///
/// ```
/// use module_nn::audit::{Audit, AuditThresholds, FindingKind};
/// use module_nn::prelude::*;
///
/// let defaults = AuditThresholds::default();
/// assert_eq!((defaults.dead_units, defaults.update_ratio), (0.9, 3.0));
/// // A rate that moves the weight by much more than its size is found, unless that is intended.
/// let model = LinearConfig::new(4, 2).bias(false).build()?;
/// let mut optimizer = SGD::new(&model, 1e3)?;
/// let mut step = |_| {
///     model.zero_grad();
///     let loss = model.call(Tensor::randn([8, 4], DType::F32)?)?.square()?.mean(..)?;
///     loss.backward()?;
///     optimizer.step(&model)?;
///     Ok(loss)
/// };
/// let report = Audit::new(&model).steps(1).run(&mut step)?;
/// assert!(report.of_kind(FindingKind::LargeUpdate).next().is_some());
/// let report = Audit::new(&model).steps(1).thresholds(|it| it.update_ratio = 1e12).run(step)?;
/// assert!(report.of_kind(FindingKind::LargeUpdate).next().is_none());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AuditThresholds {
    /// The fraction of a layer's units that must be inactive for every sample; 0.9. (At the start, half of them can well
    /// be, before a narrow layer.)
    pub dead_units: f64,
    /// The number of samples for which a unit must be inactive to count as dead; 32.
    pub dead_unit_samples: usize,
    /// The norm of a weight's gradient relative to the weight's, compared with the parameter for which this is largest;
    /// 1e-7.
    pub vanishing: f64,
    /// The root mean square of a module's output values, relative to that of the model's input; 1e6.
    pub exploding: f64,
    /// The norm of a step relative to that of the weight; 3. 0.0001 to 0.1 is usual.
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

/// An intended finding.
#[derive(Clone, Debug)]
pub(super) struct Exception {
    pub(super) kind: FindingKind,
    pub(super) select: Select,
    pub(super) reason: String,
}

/// The declarations to an audit.
#[derive(Clone, Debug)]
pub(super) struct AuditOptions {
    pub(super) steps: usize,
    pub(super) thresholds: AuditThresholds,
    /// Whether gradients are accumulated over steps on purpose.
    pub(super) accumulates: bool,
    /// The batch dimension, if it was declared.
    pub(super) batch_dim: Option<usize>,
    /// The learning rates of the optimizers that were declared.
    pub(super) learning_rates: Vec<f64>,
    /// The keys that a load should have set but did not.
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
