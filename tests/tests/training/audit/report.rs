//! The text of a report, and that an audit changes nothing.

use module_nn::audit::{AuditError, FindingKind, Severity};
use module_nn::prelude::*;

use super::support::{classes, rows, step};

/// A network whose middle layer is not called.
#[derive(Module)]
struct Net {
    conv: Conv2d,
    norm: BatchNorm2d,
    spare: Linear,
    dropout: Dropout,
    head: Linear,
}

impl Net {
    fn new() -> Result<Self> {
        Ok(Self {
            conv: Conv2d::new(1, 4, 3)?,
            norm: BatchNorm2d::new(4)?,
            spare: Linear::new(3, 3)?,
            dropout: Dropout::new(0.5)?,
            head: Linear::new(16, 3)?,
        })
    }
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.norm.call(self.conv.call(x)?)?.relu()?;
        self.head.call(self.dropout.call(x.flatten(1, -1)?)?)
    }
}

fn train(model: &Net, optimizer: &mut AdamW) -> Result<Tensor> {
    let logits = model.call(rows(16, 16)?.reshape([16, 1, 4, 4])?)?;
    let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
    step(model, optimizer, loss)
}

#[test]
fn a_report_prints_serializes_and_denies() {
    let model = Net::new().unwrap();
    let mut optimizer = AdamW::new(&model, 1e-3).unwrap();
    let report = Audit::new(&model)
        .run(|_| train(&model, &mut optimizer))
        .unwrap();
    let text = report.to_string();
    assert!(
        text.starts_with("audit of 2 steps, 6 modules, 8 parameters: 1 error"),
        "{text}"
    );
    assert!(
        text.contains("error[unreached-parameter] spare: "),
        "{text}"
    );
    assert!(
        text.contains("the last module that ran is `head` (Linear)"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::to_value(&report).unwrap();
    let finding = &json["findings"][0];
    assert_eq!(finding["kind"], "unreached-parameter");
    assert_eq!(finding["severity"], "error");
    assert_eq!(finding["path"], "spare");
    assert_eq!(finding["numbers"]["parameters"], 2.0);
    let error = report.deny(Severity::Error).unwrap_err();
    let denied = error.downcast_ref::<AuditError>().unwrap();
    assert!(matches!(denied, AuditError::Denied { findings, .. } if findings.len() == 1));
    assert!(error.to_string().contains("unreached-parameter"), "{error}");
    let denied = Audit::new(&model).deny(Severity::Warning, |_| train(&model, &mut optimizer));
    assert!(denied.is_err());
}

#[test]
fn an_exception_has_a_reason_and_is_listed() {
    let model = Net::new().unwrap();
    let mut optimizer = AdamW::new(&model, 1e-3).unwrap();
    let audit = Audit::new(&model)
        .allow(
            FindingKind::UnreachedParameter,
            "spare",
            "it is kept for old checkpoints",
        )
        .allow(FindingKind::DeadUnits, "**", "none");
    let report = audit.run(|_| train(&model, &mut optimizer)).unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.allowed()[0].finding.path, "spare");
    assert_eq!(report.unused_exceptions()[0].kind, FindingKind::DeadUnits);
    report.deny(Severity::Note).unwrap();
    let text = report.to_string();
    assert!(
        text.contains("reason: it is kept for old checkpoints"),
        "{text}"
    );

    let audit = Audit::new(&model).allow(FindingKind::DeadUnits, "**", " ");
    let error = audit.run(|_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("reason"), "{error}");
    let error = Audit::new(&model).steps(0).run(|_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("steps = 0"), "{error}");
}

#[test]
fn an_audited_training_gives_the_bits_of_a_plain_one() {
    let state = |audited: bool| {
        fork_rng(3, || {
            let model = Net::new().unwrap();
            let mut optimizer = AdamW::new(&model, 1e-3).unwrap();
            match audited {
                true => {
                    let audit = Audit::new(&model).steps(3);
                    let _ = audit.run(|_| train(&model, &mut optimizer)).unwrap();
                }
                false => (0..3).for_each(|_| drop(train(&model, &mut optimizer).unwrap())),
            }
            model.state_dict().unwrap()
        })
    };
    let (plain, audited) = (state(false), state(true));
    for (key, value) in plain.iter() {
        let other = audited.get(key).unwrap();
        assert_eq!(value.as_le_bytes(), other.as_le_bytes(), "{key}");
    }
}

#[test]
fn a_step_that_fails_fails_the_audit_and_leaves_no_hooks() {
    let model = Net::new().unwrap();
    let error = Audit::new(&model)
        .run(|_| model.call(rows(16, 16)?))
        .unwrap_err();
    assert!(error.to_string().contains("conv (Conv2d)"), "{error}");
    assert!(!module_nn::hooks::is_hooked(&model));
}

/// Two networks that are trained alternately, one in each step.
#[test]
fn parts_that_are_trained_in_turn_are_all_reached() {
    let model = [Linear::new(4, 4).unwrap(), Linear::new(4, 3).unwrap()];
    let mut optimizer = SGD::new(&model, 0.1).unwrap();
    let mut train = |number: usize| {
        model[number % 2].set_requires_grad(false);
        model[1 - number % 2].set_requires_grad(true);
        model.zero_grad();
        let hidden = model[0].call(rows(16, 4)?)?.tanh()?;
        let loss = CrossEntropyLoss::new().loss(&model[1].call(hidden)?, &classes(16, 3)?)?;
        loss.backward()?;
        optimizer.step(&model)?;
        model.set_requires_grad(true);
        Ok::<_, Error>(loss)
    };
    let report = Audit::new(&model).run(&mut train).unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_step_without_a_backward_pass_reports_no_parameters() {
    let model = Net::new().unwrap();
    let report = Audit::new(&model).run(|_| Ok(())).unwrap();
    assert!(report.is_clean(), "{report}");
}
