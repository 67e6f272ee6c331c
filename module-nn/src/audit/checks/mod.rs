//! What is looked for: one file for each check, or for two that belong together.

mod cut;
mod dead_units;
mod double_softmax;
mod eval_mode;
mod frozen;
mod gradient_scale;
mod non_finite;
mod optimizer;
mod stale_gradient;
mod symmetric;
mod unreached;
mod unregistered;
mod update_size;

use super::check::Check;

/// Every check, in the order in which their findings are reported: causes before what follows from them.
pub(super) const CHECKS: &[&dyn Check] = &[
    &cut::CutGraph,
    &unreached::UnreachedParameter,
    &unregistered::UnregisteredParameter,
    &eval_mode::EvalModeTraining,
    &stale_gradient::StaleGradient,
    &non_finite::NonFiniteValue,
    &double_softmax::DoubleSoftmax,
    &symmetric::SymmetricUnits,
    &dead_units::DeadUnits,
    &gradient_scale::GradientScale,
    &update_size::UpdateSize,
    &frozen::FrozenParameterMoved,
    &frozen::FrozenStatisticsDrift,
    &optimizer::OptimizerMissesParameter,
];
