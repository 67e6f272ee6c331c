//! Two audited steps, and what is expected of their report.

use module_nn::audit::{Audit, AuditReport, FindingKind};
use module_nn::prelude::*;

/// A step of most networks here: the loss, its gradients, and a step of the optimizer.
pub(super) fn step<M: Module>(
    model: &M,
    optimizer: &mut dyn Optimizer,
    loss: Tensor,
) -> Result<Tensor> {
    model.zero_grad();
    loss.backward()?;
    optimizer.step(model)?;
    Ok(loss)
}

/// Rows of numbers drawn from the normal distribution.
pub(super) fn rows(count: usize, features: usize) -> Result<Tensor> {
    Tensor::randn([count, features], DType::F32)
}

/// A class for each of so many rows.
pub(super) fn classes(count: usize, classes: i64) -> Result<Tensor> {
    Tensor::randint(0, classes, [count], DType::I64)
}

/// Audits two steps.
pub(super) fn audited<M: Module>(
    model: &M,
    step: impl FnMut() -> Result<Tensor>,
) -> Result<AuditReport> {
    audited_by(Audit::new(model), step)
}

/// The same, by an audit that was told more.
pub(super) fn audited_by(
    audit: Audit<'_>,
    mut step: impl FnMut() -> Result<Tensor>,
) -> Result<AuditReport> {
    audit.run(|_| step())
}

/// Expects the finding of a kind at a path with the mistake, and none at all without it.
#[track_caller]
pub(super) fn shows(kind: FindingKind, path: &str, report: impl Fn(bool) -> Result<AuditReport>) {
    shows_all(kind, &[path], "", report);
}

/// The same, with findings at several paths, whose messages contain a text.
#[track_caller]
pub(super) fn shows_all(
    kind: FindingKind,
    paths: &[&str],
    contained: &str,
    report: impl Fn(bool) -> Result<AuditReport>,
) {
    let clean = fork_rng(0, || report(false)).unwrap();
    assert!(clean.is_clean(), "without the mistake:\n{clean}");
    let found = fork_rng(0, || report(true)).unwrap();
    for path in paths {
        let finding = found.of_kind(kind).find(|finding| finding.path == *path);
        let finding = finding.unwrap_or_else(|| panic!("no {kind} at `{path}`:\n{found}"));
        assert!(finding.message.contains(contained), "{finding:?}");
        for text in [&finding.message, &finding.cause, &finding.cure] {
            assert!(!text.is_empty(), "{finding:?}");
        }
    }
}
