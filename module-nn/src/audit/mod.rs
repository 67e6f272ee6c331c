//! Finds out why a training run learns nothing: [`Audit`] watches two steps and reports what is wrong.

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
