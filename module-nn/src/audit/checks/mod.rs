//! The checks: one file for each, or for two that belong together.

mod batch_leak;
mod bypassed_call;
mod cut;
mod dead_units;
mod double_softmax;
mod eval_mode;
mod fresh_after_load;
mod frozen;
mod gradient_scale;
mod input_independent;
mod non_finite;
mod optimizer;
mod precision_loss;
mod stale_gradient;
mod symmetric;
mod targets;
mod train_mode_evaluation;
mod unreached;
mod unregistered;
mod unused_input;
mod update_size;

use super::check::Check;

/// Every check, in the order in which their findings are reported: causes before consequences.
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
    &targets::SuspiciousTargets,
    &fresh_after_load::FreshAfterLoad,
    &input_independent::InputIndependentLoss,
    &unused_input::UnusedInput,
    &batch_leak::BatchLeak,
    &precision_loss::PrecisionLoss,
    &bypassed_call::BypassedCall,
];

/// The checks of an evaluation, which trains nothing.
pub(super) const CHECKS_OF_EVALUATION: &[&dyn Check] = &[
    &train_mode_evaluation::TrainModeEvaluation,
    &fresh_after_load::FreshAfterLoad,
];
