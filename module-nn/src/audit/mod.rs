//! Finds out why a training run learns nothing: [`Audit`] watches two steps and reports what is wrong.
//!
//! The steps are those of your own loop, unchanged. The report ([`AuditReport`]) lists each [`Finding`] with the path
//! of the module, the observation and a remedy. [`FindingKind`] lists everything that the audit looks for:
//!
//! | group | findings |
//! |---|---|
//! | parts that are not trained | [`UnreachedParameter`](FindingKind::UnreachedParameter), [`UnregisteredParameter`](FindingKind::UnregisteredParameter), [`CutGraph`](FindingKind::CutGraph), [`OptimizerMissesParameter`](FindingKind::OptimizerMissesParameter), [`NothingMoved`](FindingKind::NothingMoved) |
//! | the wrong mode | [`EvalModeTraining`](FindingKind::EvalModeTraining), [`TrainModeEvaluation`](FindingKind::TrainModeEvaluation) |
//! | gradients and numbers | [`StaleGradient`](FindingKind::StaleGradient), [`VanishingGradient`](FindingKind::VanishingGradient), [`ExplodingGradient`](FindingKind::ExplodingGradient), [`NonFiniteValue`](FindingKind::NonFiniteValue), [`LargeUpdate`](FindingKind::LargeUpdate), [`PrecisionLoss`](FindingKind::PrecisionLoss) |
//! | units | [`SymmetricUnits`](FindingKind::SymmetricUnits), [`DeadUnits`](FindingKind::DeadUnits) |
//! | input, output and targets | [`UnusedInput`](FindingKind::UnusedInput), [`InputIndependentLoss`](FindingKind::InputIndependentLoss), [`BatchLeak`](FindingKind::BatchLeak), [`DoubleSoftmax`](FindingKind::DoubleSoftmax), [`SuspiciousTargets`](FindingKind::SuspiciousTargets) |
//! | calls | [`BypassedCall`](FindingKind::BypassedCall) |
//! | freezing and loading | [`FrozenParameterMoved`](FindingKind::FrozenParameterMoved), [`FrozenStatisticsDrift`](FindingKind::FrozenStatisticsDrift), [`FreshAfterLoad`](FindingKind::FreshAfterLoad) |
//!
//! [`Audit::allow`] declares exceptions, with a reason, and [`Audit::deny`] turns the other findings into an
//! error, for tests.

mod check;
mod checks;
mod cuts;
mod dependence;
mod engine;
mod error;
mod finding;
mod graph;
mod kind;
mod options;
mod probe;
mod record;
mod report;
mod rows;
mod run;
mod stats;
mod survey;

pub use error::AuditError;
pub use finding::Finding;
pub use kind::{FindingKind, Severity};
pub use options::AuditThresholds;
pub use report::{AllowedFinding, AuditReport, UnusedException};
pub use run::Audit;
