//! What is looked for: one file for each check.

mod batch_leak;
mod bypassed_call;
mod fresh_after_load;
mod input_independent;
mod precision_loss;
mod targets;
mod train_mode_evaluation;
mod unreached;
mod unused_input;

use super::check::Check;

/// Every check, in the order in which their findings are reported: causes before what follows from them.
pub(super) const CHECKS: &[&dyn Check] = &[
    &unreached::UnreachedParameter,
    &targets::SuspiciousTargets,
    &fresh_after_load::FreshAfterLoad,
    &input_independent::InputIndependentLoss,
    &unused_input::UnusedInput,
    &batch_leak::BatchLeak,
    &precision_loss::PrecisionLoss,
    &bypassed_call::BypassedCall,
];

/// Those of an evaluation, which trains nothing.
pub(super) const CHECKS_OF_EVALUATION: &[&dyn Check] = &[
    &train_mode_evaluation::TrainModeEvaluation,
    &fresh_after_load::FreshAfterLoad,
];
