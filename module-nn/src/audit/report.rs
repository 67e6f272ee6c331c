use std::cmp::Reverse;
use std::fmt;

use serde::Serialize;

use super::check::Check;
use super::error::AuditError;
use super::finding::Finding;
use super::kind::{FindingKind, Severity};
use super::options::Exception;
use super::record::Record;
use crate::Result;

/// The findings of an [`Audit`](super::Audit). It prints as a table with a cause and a fix for each finding, and serializes
/// for programs.
///
/// # Example
///
/// ```
/// use module_nn::audit::{AllowedFinding, Audit, AuditReport, FindingKind, Severity, UnusedException};
/// use module_nn::prelude::*;
///
/// // The second layer is not used yet.
/// let model = [Linear::new(4, 2)?, Linear::new(2, 2)?];
/// let mut optimizer = SGD::new(&model, 0.1)?;
/// let step = |_| {
///     model.zero_grad();
///     let loss = model[0].call(Tensor::randn([8, 4], DType::F32)?)?.square()?.mean(..)?;
///     loss.backward()?;
///     optimizer.step(&model)?;
///     Ok(loss)
/// };
/// let report: AuditReport = Audit::new(&model)
///     .allow(FindingKind::UnreachedParameter, "1", "it comes next")
///     .allow(FindingKind::DeadUnits, "0", "there is no activation")
///     .run(step)?;
/// let allowed: &[AllowedFinding] = report.allowed();
/// assert_eq!((allowed[0].finding.path.as_str(), allowed[0].reason.as_str()), ("1", "it comes next"));
/// let unused: &[UnusedException] = report.unused_exceptions();
/// assert_eq!(unused[0].kind, FindingKind::DeadUnits);
/// assert!(report.to_string().contains("allowed: error[unreached-parameter] 1:"));
/// report.deny(Severity::Error)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Serialize)]
#[must_use = "the findings are in it; `deny` makes an error of them"]
pub struct AuditReport {
    pub(super) steps: usize,
    pub(super) modules: usize,
    pub(super) parameters: usize,
    pub(super) findings: Vec<Finding>,
    pub(super) allowed: Vec<AllowedFinding>,
    pub(super) unused: Vec<UnusedException>,
}

/// A finding that was [allowed](super::Audit::allow).
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct AllowedFinding {
    /// The finding.
    pub finding: Finding,
    /// Why it is intended.
    pub reason: String,
}

/// An exception without a finding.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct UnusedException {
    /// The kind that was allowed.
    pub kind: FindingKind,
    /// The paths for which it was allowed.
    pub select: String,
    /// The reason given.
    pub reason: String,
}

impl AuditReport {
    /// The findings of these checks.
    pub(super) fn of(record: &Record<'_>, checks: &[&dyn Check]) -> Self {
        let mut found = Vec::new();
        for check in checks {
            check.check(record, &mut found);
        }
        let exceptions = &record.options.exceptions;
        let mut used = vec![false; exceptions.len()];
        let (mut findings, mut allowed) = (Vec::new(), Vec::new());
        for finding in found {
            let covers =
                |it: &Exception| it.kind == finding.kind && it.select.covers(&finding.path);
            match exceptions.iter().position(covers) {
                Some(index) => {
                    used[index] = true;
                    let reason = exceptions[index].reason.clone();
                    allowed.push(AllowedFinding { finding, reason });
                }
                None => findings.push(finding),
            }
        }
        // The most severe first; otherwise in the order of the checks.
        findings.sort_by_key(|finding: &Finding| Reverse(finding.severity));
        let unused = exceptions.iter().zip(used).filter(|(_, used)| !used);
        let unused = unused.map(|(exception, _)| UnusedException {
            kind: exception.kind,
            select: exception.select.to_string(),
            reason: exception.reason.clone(),
        });
        Self {
            steps: record.steps.len(),
            modules: record.modules.len(),
            parameters: record.parameters.len(),
            findings,
            allowed,
            unused: unused.collect(),
        }
    }

    /// The findings that were not allowed, the most severe first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The findings of one kind.
    pub fn of_kind(&self, kind: FindingKind) -> impl Iterator<Item = &Finding> {
        self.findings
            .iter()
            .filter(move |finding| finding.kind == kind)
    }

    /// The findings that were allowed, with the reasons.
    pub fn allowed(&self) -> &[AllowedFinding] {
        &self.allowed
    }

    /// The exceptions without a finding, which can be removed.
    pub fn unused_exceptions(&self) -> &[UnusedException] {
        &self.unused
    }

    /// Whether there are no findings other than allowed ones.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Returns findings at least as severe as `severity` as an error.
    ///
    /// # Errors
    ///
    /// [`AuditError::Denied`] with these findings.
    pub fn deny(&self, severity: Severity) -> Result<()> {
        let denied = self
            .findings
            .iter()
            .filter(|finding| finding.severity >= severity);
        let findings: Vec<Finding> = denied.cloned().collect();
        match findings.is_empty() {
            true => Ok(()),
            false => Err(AuditError::Denied { severity, findings }.into()),
        }
    }
}

impl fmt::Display for AuditReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let count = |severity| {
            let findings = self.findings.iter();
            findings
                .filter(|finding| finding.severity == severity)
                .count()
        };
        let (errors, warnings, notes) = (
            count(Severity::Error),
            count(Severity::Warning),
            count(Severity::Note),
        );
        write!(
            f,
            "audit of {} step{}, {} module{}, {} parameter{}: ",
            self.steps,
            plural(self.steps),
            self.modules,
            plural(self.modules),
            self.parameters,
            plural(self.parameters)
        )?;
        match self.is_clean() {
            true => writeln!(f, "nothing found")?,
            false => writeln!(
                f,
                "{errors} error{}, {warnings} warning{}, {notes} note{}",
                plural(errors),
                plural(warnings),
                plural(notes)
            )?,
        }
        for finding in &self.findings {
            writeln!(f, "\n{finding}")?;
            let lines = [("cause", &finding.cause), ("cure", &finding.cure)];
            for (title, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
                writeln!(f, "  {title}: {text}")?;
            }
            if !finding.numbers.is_empty() {
                let numbers = finding.numbers.iter();
                let numbers = numbers.map(|(name, value)| format!("{name} = {}", Rounded(*value)));
                writeln!(f, "  numbers: {}", numbers.collect::<Vec<_>>().join(", "))?;
            }
        }
        for AllowedFinding { finding, reason } in &self.allowed {
            writeln!(f, "\nallowed: {finding}\n  reason: {reason}")?;
        }
        for UnusedException {
            kind,
            select,
            reason,
        } in &self.unused
        {
            writeln!(
                f,
                "\nallowed and not found: {kind} at {select}\n  reason: {reason}"
            )?;
        }
        Ok(())
    }
}

/// A number in as few digits as make it recognizable.
struct Rounded(f64);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            value if value == value.trunc() && value.abs() < 1e7 => write!(f, "{value}"),
            value if (1e-3..1e4).contains(&value.abs()) => write!(f, "{value:.4}"),
            value => write!(f, "{value:.3e}"),
        }
    }
}
