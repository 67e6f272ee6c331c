//! The cause that a finding names, among several with the same symptom.

use module_nn::audit::{Audit, AuditReport, FindingKind, Severity};
use module_nn::prelude::*;

use super::support::{Net, classes, cross_entropy_of, rows, step, trained};

/// The causes in the findings of a kind.
fn causes(report: &AuditReport, kind: FindingKind) -> Vec<String> {
    report.of_kind(kind).map(|it| it.cause.clone()).collect()
}

/// An optimizer of the head alone, whose step is small or not, next to one that is only shown to the audit.
fn head_alone(dtype: DType, rates: [f64; 2]) -> Result<AuditReport> {
    let model = Net::new(Net::plain)?;
    model.to_dtype(dtype)?;
    let mut optimizer = SGD::new(&model.head, rates[0])?;
    let other = SGD::new(&model.first, rates[1])?;
    let audit = Audit::new(&model).optimizer(&optimizer).optimizer(&other);
    audit.run(|_| {
        model.zero_grad();
        let logits = model.call(rows(16, 6)?.to_dtype(dtype)?)?;
        let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
        loss.backward()?;
        optimizer.step(&model.head)?;
        Ok(loss)
    })
}

#[test]
fn why_an_optimizer_misses_a_parameter() {
    let kind = FindingKind::OptimizerMissesParameter;
    for (dtype, rates, expected) in [
        (
            DType::F32,
            [0.1, 0.1],
            "no optimizer knows it, or the learning rate of its group is 0",
        ),
        (
            DType::F32,
            [0.1, 0.0],
            "the learning rate of its group is 0, or no optimizer knows it",
        ),
        (
            DType::BF16,
            [0.5, 0.0],
            "no optimizer knows it, its group's learning rate is 0, or the steps are too small for its dtype and are \
             rounded away",
        ),
    ] {
        let report = fork_rng(0, || head_alone(dtype, rates)).unwrap();
        assert_eq!(causes(&report, kind), [expected; 4], "{report}");
    }
}

#[test]
fn why_nothing_moves() {
    for (rates, is_zero, shown) in [
        ([0.0, 0.0], true, Some(0.0)),
        ([0.0, 0.1], false, Some(0.1)),
        ([1e-12, 0.0], false, Some(1e-12)),
    ] {
        let report = fork_rng(0, || head_alone(DType::F32, rates)).unwrap();
        let finding = &report.findings()[0];
        assert_eq!(finding.kind, FindingKind::NothingMoved, "{report}");
        assert_eq!(
            finding.cause == "the learning rate is 0",
            is_zero,
            "{report}"
        );
        assert_eq!(finding.numbers.get("learning_rate").copied(), shown);
    }
    // Without an optimizer, the rates are unknown.
    let report = fork_rng(0, || {
        let model = Net::new(Net::plain)?;
        Audit::new(&model).run(|_| {
            model.zero_grad();
            cross_entropy_of(&model)?.backward()
        })
    });
    let report = report.unwrap();
    let finding = &report.findings()[0];
    assert_eq!(finding.kind, FindingKind::NothingMoved);
    assert!(
        finding.cause.contains("no optimizer makes a step"),
        "{finding:?}"
    );
    assert!(!finding.numbers.contains_key("learning_rate"));
}

#[test]
fn accumulation_excuses_that_nothing_moves_and_not_that_some_do_not() {
    let report = fork_rng(0, || {
        let model = Net::new(Net::plain)?;
        let mut optimizer = SGD::new(&model.head, 0.1)?;
        Audit::new(&model).gradient_accumulation().run(|_| {
            cross_entropy_of(&model)?.backward()?;
            optimizer.step(&model.head)
        })
    });
    let report = report.unwrap();
    let missed = report.of_kind(FindingKind::OptimizerMissesParameter);
    assert_eq!(missed.count(), 4, "{report}");
}

#[test]
fn whether_a_gradient_is_from_before_the_audit() {
    for (before, expected) in [(false, 1.0), (true, 0.0)] {
        let report = fork_rng(0, || {
            let model = Net::new(Net::plain)?;
            let mut optimizer = SGD::new(&model, 0.1)?;
            let mut train = || {
                cross_entropy_of(&model)?.backward()?;
                optimizer.step(&model)
            };
            if before {
                train()?;
            }
            Audit::new(&model).steps(3).run(|_| train())
        });
        let report = report.unwrap();
        let finding = report.of_kind(FindingKind::StaleGradient).next().unwrap();
        assert_eq!(finding.numbers["step"], expected, "{report}");
        assert_eq!(finding.numbers["parameters"], 6.0);
        assert_eq!(
            finding.cause.contains("before the audit"),
            before,
            "{report}"
        );
    }
}

#[test]
fn whether_a_weight_was_nan_from_the_start() {
    let report = fork_rng(0, || {
        let model = Net::new(Net::plain)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Audit::new(&model).steps(3).run(|number| {
            let loss = step(&model, &mut optimizer, cross_entropy_of(&model)?)?;
            if number == 0 {
                // As after a step with a non-finite gradient.
                let weight = model.second.weight();
                weight.set(weight.detach().full_like(f64::NAN)?)?;
            }
            Ok(loss)
        })
    });
    let report = report.unwrap();
    let finding = report.of_kind(FindingKind::NonFiniteValue).next().unwrap();
    assert_eq!(
        (finding.path.as_str(), finding.numbers["step"]),
        ("second.weight", 1.0)
    );
    assert!(finding.cause.contains("the step before"), "{report}");
    assert_eq!(report.of_kind(FindingKind::NonFiniteValue).count(), 1);
}

#[test]
fn evaluation_of_all_is_an_error_and_of_a_part_a_warning() {
    let audited = |eval: &[&str]| {
        fork_rng(0, || {
            let part = |inputs, outputs| -> Result<Sequential> {
                Ok(Sequential::new()
                    .push(Linear::new(inputs, outputs)?)
                    .push(Dropout::new(0.1)?))
            };
            let model = Sequential::new().push(part(6, 8)?).push(part(8, 3)?);
            for path in eval {
                model.get_submodule(path)?.set_training(false);
            }
            trained(&model, cross_entropy_of)
        })
        .unwrap()
    };
    let found = |report: &AuditReport| {
        let found = report.of_kind(FindingKind::EvalModeTraining);
        let found = found.map(|it| {
            let numbers = ["parameters", "modules"].map(|name| it.numbers[name]);
            (it.path.clone(), it.severity, numbers)
        });
        found.collect::<Vec<_>>()
    };
    let report = audited(&["0", "1"]);
    let all = (String::new(), Severity::Error, [4.0, 2.0]);
    assert_eq!(found(&report), [all], "{report}");
    let report = audited(&["0"]);
    let part = ("0".to_owned(), Severity::Warning, [2.0, 1.0]);
    assert_eq!(found(&report), [part], "{report}");
    // Of what is trained, in any step.
    let report = fork_rng(0, || {
        let model = Sequential::new()
            .push(Linear::new(6, 8)?)
            .push(BatchNorm1d::new(8)?)
            .push(Linear::new(8, 3)?);
        model.eval();
        model.freeze("0.bias")?;
        let mut steps = 0;
        trained(&model, |model| {
            steps += 1;
            let bias = model.get_parameter("2.bias")?;
            bias.set_requires_grad(steps == 1);
            cross_entropy_of(model)
        })
    });
    let all = (String::new(), Severity::Error, [5.0, 1.0]);
    assert_eq!(found(&report.unwrap()), [all]);
    // A lone dropout is put into this mode intentionally.
    let report = fork_rng(0, || {
        let model = Sequential::new()
            .push(Linear::new(6, 8)?)
            .push(Dropout::new(0.1)?)
            .push(Dropout::new(0.1)?)
            .push(Linear::new(8, 3)?);
        model.get_submodule("1")?.set_training(false);
        trained(&model, cross_entropy_of)
    });
    assert!(report.unwrap().is_clean());
}
