use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::kind::{FindingKind, Severity};

/// One thing that an [`Audit`](super::Audit) found.
///
/// # Example
///
/// ```
/// use module_nn::audit::{Audit, Finding, Severity};
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
/// let finding: &Finding = &report.findings()[0];
/// assert_eq!((finding.severity, finding.path.as_str()), (Severity::Error, ""));
/// assert!(finding.to_string().starts_with("error[nothing-moved] model: "));
/// println!("{}: {}", finding.cause, finding.cure);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of problem.
    pub kind: FindingKind,
    /// Its severity.
    pub severity: Severity,
    /// The path of the module or tensor; empty for the model itself.
    pub path: String,
    /// The observation.
    pub message: String,
    /// The cause, as far as it can be determined.
    pub cause: String,
    /// The remedy.
    pub cure: String,
    /// Measurements, by name.
    pub numbers: BTreeMap<&'static str, f64>,
}

impl Finding {
    pub(super) fn new(kind: FindingKind, severity: Severity, path: &str) -> Self {
        Self {
            kind,
            severity,
            path: path.to_owned(),
            message: String::new(),
            cause: String::new(),
            cure: String::new(),
            numbers: BTreeMap::new(),
        }
    }

    pub(super) fn error(kind: FindingKind, path: &str) -> Self {
        Self::new(kind, Severity::Error, path)
    }

    pub(super) fn warning(kind: FindingKind, path: &str) -> Self {
        Self::new(kind, Severity::Warning, path)
    }

    pub(super) fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    pub(super) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = cause.into();
        self
    }

    pub(super) fn cure(mut self, cure: impl Into<String>) -> Self {
        self.cure = cure.into();
        self
    }

    pub(super) fn number(mut self, name: &'static str, value: f64) -> Self {
        self.numbers.insert(name, value);
        self
    }
}

/// `error[unreached-parameter] mlp.0.weight: the loss does not depend on it`, without cause and fix.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            severity,
            path,
            message,
            ..
        } = self;
        let path = if path.is_empty() { "model" } else { path };
        write!(f, "{severity}[{kind}] {path}: {message}")
    }
}
