use std::fmt;

use super::finding::Finding;
use super::kind::Severity;
use crate::Error;

/// The errors of an audit; found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_nn::audit::{Audit, AuditError, Severity};
/// use module_nn::prelude::*;
///
/// // No step of an optimizer.
/// let model = Linear::new(4, 2)?;
/// let report = Audit::new(&model).run(|_| {
///     model.zero_grad();
///     let loss = model.call(Tensor::randn([8, 4], DType::F32)?)?.square()?.mean(..)?;
///     loss.backward()?;
///     Ok(loss)
/// })?;
/// let error = report.deny(Severity::Warning).unwrap_err();
/// match error.downcast_ref::<AuditError>() {
///     Some(AuditError::Denied { findings, .. }) => assert_eq!(findings[0].kind.name(), "nothing-moved"),
///     _ => unreachable!("{error}"),
/// }
/// # Ok::<(), Error>(())
/// ```
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
