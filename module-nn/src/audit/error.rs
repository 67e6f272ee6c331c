use std::fmt;

use super::finding::Finding;
use super::kind::Severity;
use crate::Error;

/// The errors of an audit; found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AuditError {
    /// Findings at least as severe as [`AuditReport::deny`](super::AuditReport::deny) was given.
    Denied {
        /// The lowest severity that is denied.
        severity: Severity,
        /// The findings.
        findings: Vec<Finding>,
    },
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Denied { severity, findings } = self;
        let plural = if findings.len() == 1 { "" } else { "s" };
        let count = findings.len();
        write!(
            f,
            "audit: {count} finding{plural} of severity {severity} or worse"
        )?;
        for finding in findings {
            write!(f, "\n  {finding}; {}", finding.cure)?;
        }
        Ok(())
    }
}

impl std::error::Error for AuditError {}

impl From<AuditError> for Error {
    fn from(error: AuditError) -> Self {
        Self::custom(error)
    }
}
