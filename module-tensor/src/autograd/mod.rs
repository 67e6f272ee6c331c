//! The engine that runs gradients backwards through the graph.

mod anomaly;
mod backward;
mod engine;
mod grad;
mod gradcheck;
mod options;
mod pending;
mod watch;

pub use anomaly::{detect_anomaly, is_anomaly_enabled};
pub use grad::{grad, grad_with};
#[cfg(test)]
pub(crate) use gradcheck::slopes;
pub use gradcheck::{gradcheck, gradgradcheck};
pub use options::BackwardOptions;
pub use watch::{PassEvent, watch_passes};

pub use crate::tensor::check_gradient;

#[cfg(test)]
mod tests;
