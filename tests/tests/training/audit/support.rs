//! Two audited steps, and the expected report.

use module_nn::audit::{Audit, AuditReport, FindingKind, Severity};
use module_nn::prelude::*;

/// A typical step of most networks here: the loss, its gradients, and an optimizer step.
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

/// Rows of normally distributed numbers.
pub(super) fn rows(count: usize, features: usize) -> Result<Tensor> {
    Tensor::randn([count, features], DType::F32)
}

/// A class for each of this many rows.
pub(super) fn classes(count: usize, classes: i64) -> Result<Tensor> {
    Tensor::randint(0, classes, [count], DType::I64)
}

/// The cross-entropy of a network with three logits for each of 16 rows of six features.
pub(super) fn cross_entropy_of<M>(model: &M) -> Result<Tensor>
where
    M: Forward<Tensor, Output = Tensor>,
{
    let logits = model.call(rows(16, 6)?)?;
    CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)
}

/// Audits two steps of SGD with the result of `loss`.
pub(super) fn trained<M: Module>(
    model: &M,
    loss: impl FnMut(&M) -> Result<Tensor>,
) -> Result<AuditReport> {
    trained_by(Audit::new(model), model, loss)
}

/// The same with a configured audit.
pub(super) fn trained_by<M: Module>(
    audit: Audit<'_>,
    model: &M,
    mut loss: impl FnMut(&M) -> Result<Tensor>,
) -> Result<AuditReport> {
    let mut optimizer = SGD::new(model, 0.1)?;
    audit.run(|_| {
        let loss = loss(model)?;
        step(model, &mut optimizer, loss)
    })
}

/// Audits two steps.
pub(super) fn audited<M: Module>(
    model: &M,
    mut step: impl FnMut() -> Result<Tensor>,
) -> Result<AuditReport> {
    Audit::new(model).run(|_| step())
}

/// The forward pass of a [`Net`] through its layers.
pub(super) type Pass = fn(&Net, Tensor) -> Result<Tensor>;

/// Three layers, with a forward pass that a test provides.
#[derive(Module)]
pub(super) struct Net {
    pub(super) first: Linear,
    pub(super) second: Linear,
    pub(super) head: Linear,
    #[module(skip)]
    pass: Pass,
}

impl Net {
    /// From six features to three logits.
    pub(super) fn new(pass: Pass) -> Result<Self> {
        Ok(Self {
            first: Linear::new(6, 16)?,
            second: Linear::new(16, 16)?,
            head: Linear::new(16, 3)?,
            pass,
        })
    }

    /// One layer after another.
    pub(super) fn plain(&self, x: Tensor) -> Result<Tensor> {
        let x = self.first.call(x)?.tanh()?;
        let x = self.second.call(x)?.tanh()?;
        self.head.call(x)
    }
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        (self.pass)(self, x)
    }
}

/// Audits a [`Net`] that is trained with this forward pass, or with one layer after another.
pub(super) fn passing(bug: bool, wrong: Pass) -> Result<AuditReport> {
    let model = Net::new(if bug { wrong } else { Net::plain })?;
    trained(&model, cross_entropy_of)
}

/// Expects one finding of a kind, at a path, with the mistake, and no findings at all without it.
#[track_caller]
pub(super) fn shows(kind: FindingKind, path: &str, report: impl Fn(bool) -> Result<AuditReport>) {
    shows_all(kind, &[path], "", report);
}

/// The severity of the findings of a kind, if all have the same.
fn severity(kind: FindingKind) -> Option<Severity> {
    use FindingKind::*;
    match kind {
        DeadUnits
        | EvalModeTraining
        | FreshAfterLoad
        | SuspiciousTargets
        | SymmetricUnits
        | UnregisteredParameter => None,
        BatchLeak | BypassedCall | ExplodingGradient | LargeUpdate | PrecisionLoss
        | UnusedInput | VanishingGradient => Some(Severity::Warning),
        _ => Some(Severity::Error),
    }
}

/// The same, with a finding at each of several paths, whose messages contain a text.
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
    let seen: Vec<&str> = found.of_kind(kind).map(|it| it.path.as_str()).collect();
    assert_eq!(seen, paths, "with the mistake:\n{found}");
    for finding in found.of_kind(kind) {
        assert!(finding.message.contains(contained), "{finding:?}");
        assert_eq!(severity(kind).unwrap_or(finding.severity), finding.severity);
        for text in [&finding.message, &finding.cause, &finding.cure] {
            assert!(!text.is_empty(), "{finding:?}");
        }
    }
}
