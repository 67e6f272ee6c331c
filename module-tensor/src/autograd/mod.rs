//! Gradients: the engine that propagates them backward through the graph.
//!
//! [`Tensor::backward`](crate::Tensor::backward) accumulates gradients in all leaves, as in PyTorch. The functions here do more:
//!
//! | function | does |
//! |---|---|
//! | [`grad`](grad()), [`grad_with`] | return the gradients of chosen tensors, and can be differentiated again |
//! | [`gradcheck`](gradcheck()), [`gradgradcheck`] | compare the gradients of a function with finite differences, to first and second order |
//! | [`detect_anomaly`], [`is_anomaly_enabled`] | find the first gradient that is not finite |
//! | [`watch_passes`] | calls a closure as each backward pass on this thread begins and ends |
//! | [`check_gradient`] | checks the shape and dtype of a gradient, for operations of your own |
//!
//! An operation of your own is a [`Function`](crate::Function).

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
