//! When inactive and identical units become findings, and the text of these.

use module_nn::audit::{Audit, AuditReport, Finding, FindingKind, Severity};
use module_nn::prelude::*;

use super::support::{classes, cross_entropy_of, rows, shows, step, trained, trained_by};

const DEAD: FindingKind = FindingKind::DeadUnits;
const EQUAL: FindingKind = FindingKind::SymmetricUnits;

/// The only finding of a kind, if there is one.
fn only(report: &AuditReport, kind: FindingKind) -> Option<&Finding> {
    let mut found = report.of_kind(kind);
    let first = found.next();
    assert_eq!(found.count(), 0, "{report}");
    first
}

/// Makes the first units of a layer before a ReLU inactive.
fn silence(layer: &Linear, count: usize) -> Result<()> {
    let bias = layer.get_parameter("bias")?;
    let units = bias.numel() as i64;
    let silent = Tensor::arange(0, units, DType::I64)?.lt(count as i64)?;
    bias.set(bias.detach().masked_fill(&silent, -50.0)?)
}

/// A perceptron with 20 units, some of which are inactive, that sees this many rows per step.
fn silent(count: usize, samples: usize) -> Result<AuditReport> {
    let hidden = Linear::new(6, 20)?;
    silence(&hidden, count)?;
    let model = Sequential::new()
        .push(hidden)
        .push(ReLU::new())
        .push(Linear::new(20, 3)?);
    trained(&model, |model| {
        let logits = model.call(rows(samples, 6)?)?;
        CrossEntropyLoss::new().loss(&logits, &classes(samples, 3)?)
    })
}

#[test]
fn most_units_must_be_silent_for_enough_samples() {
    for (count, samples, expected) in [
        (20, 16, Some(Severity::Error)),
        (19, 16, Some(Severity::Warning)),
        (18, 16, Some(Severity::Warning)),
        (17, 16, None),
        (20, 15, None),
    ] {
        let report = fork_rng(0, || silent(count, samples)).unwrap();
        let found = only(&report, DEAD);
        assert_eq!(found.map(|it| it.severity), expected, "{count} {report}");
        if let Some(found) = found {
            let numbers = ["dead", "units", "samples"].map(|name| found.numbers[name]);
            assert_eq!(numbers, [count as f64, 20.0, 2.0 * samples as f64]);
        }
    }
}

#[test]
fn a_model_without_silent_units_passes_at_any_bound() {
    let report = fork_rng(0, || {
        let model = Sequential::new()
            .push(Linear::new(6, 8)?)
            .push(ReLU::new())
            .push(Linear::new(8, 3)?);
        let audit = Audit::new(&model).thresholds(|bounds| bounds.dead_units = 0.0);
        trained_by(audit, &model, cross_entropy_of)
    });
    assert!(report.unwrap().is_clean());
}

#[test]
fn a_single_unit_may_be_silent() {
    // Like the score of a ranking that is clipped at zero.
    for units in [1, 2] {
        let report = fork_rng(0, || {
            let hidden = Linear::new(6, units)?;
            silence(&hidden, units)?;
            let model = Sequential::new()
                .push(hidden)
                .push(ReLU::new())
                .push(Linear::new(units, 3)?);
            trained(&model, cross_entropy_of)
        });
        let report = report.unwrap();
        assert_eq!(only(&report, DEAD).is_some(), units > 1, "{report}");
    }
}

#[test]
fn channels_of_images_and_volumes_follow_the_batch() {
    let audited = |bug: bool, conv: Box<dyn Layer>, size: &[usize]| {
        let pixels: usize = size.iter().product();
        let model = Sequential::new()
            .push(conv)
            .push(ReLU6::new())
            .push(Flatten::new())
            .push(Linear::new(10 * pixels, 3)?);
        // Nine of the ten channels.
        let bias = model.get_parameter("0.bias")?;
        let silent = Tensor::arange(0, 10, DType::I64)?.lt(if bug { 9_i64 } else { 0 })?;
        bias.set(bias.detach().masked_fill(&silent, -50.0)?)?;
        let shape = [&[4, 2][..], size].concat();
        trained(&model, |model| {
            let logits = model.call(Tensor::randn(shape.clone(), DType::F32)?)?;
            CrossEntropyLoss::new().loss(&logits, &classes(4, 3)?)
        })
    };
    shows(DEAD, "1", |bug| {
        audited(bug, Box::new(Conv2d::new(2, 10, 1)?), &[3, 4])
    });
    shows(DEAD, "1", |bug| {
        audited(bug, Box::new(Conv3d::new(2, 10, 1)?), &[2, 2, 2])
    });
}

/// One ReLU between all layers, any of which may be inactive.
#[derive(Module)]
struct Shared {
    first: Linear,
    second: Linear,
    head: Linear,
    relu: ReLU,
}

impl Forward for Shared {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.relu.call(self.first.call(x)?)?;
        let y = self.relu.call(self.second.call(x.clone())?)?;
        self.head.call(x.add(&y)?)
    }
}

#[test]
fn a_relu_that_is_called_for_several_layers_tells_them_apart() {
    shows(DEAD, "relu", |bug| {
        let model = Shared {
            first: Linear::new(6, 16)?,
            second: Linear::new(16, 16)?,
            head: Linear::new(16, 3)?,
            relu: ReLU::new(),
        };
        silence(&model.second, if bug { 16 } else { 0 })?;
        trained(&model, cross_entropy_of)
    });
}

#[test]
fn units_that_no_pass_goes_through_may_be_silent() {
    let report = fork_rng(0, || {
        let model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(ReLU::new())
            .push(Linear::new(16, 3)?);
        trained(&model, |model| {
            let loss = cross_entropy_of(model)?;
            // Visible in the weights: rows like these give no output.
            let bias = model.get_parameter("0.bias")?;
            let before = bias.detach();
            bias.set(before.sub(50.0)?)?;
            model.call(rows(40, 6)?)?;
            bias.set(before)?;
            Ok(loss)
        })
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn rows_that_are_equal_and_stay_so_are_an_error_and_others_a_warning() {
    let audited = |constant: bool, random_head: bool| {
        fork_rng(0, || {
            let hidden = Linear::new(6, 16)?;
            hidden
                .weight()
                .set(Tensor::full([16, 6], 0.1, DType::F32)?)?;
            if constant {
                let bias = hidden.get_parameter("bias")?;
                bias.set(bias.detach().zeros_like()?)?;
            }
            let head = Linear::new(16, 3)?;
            if !random_head {
                head.weight().set(Tensor::full([3, 16], 0.1, DType::F32)?)?;
            }
            let model = Sequential::new().push(hidden).push(Tanh::new()).push(head);
            trained(&model, cross_entropy_of)
        })
        .unwrap()
    };
    let severities = |report: &AuditReport| {
        let found = report.of_kind(EQUAL);
        let found = found.map(|it| (it.path.clone(), it.severity));
        found.collect::<Vec<_>>()
    };
    // Random weights after them make the rows different.
    let report = audited(false, true);
    assert_eq!(
        severities(&report),
        [("0.weight".to_owned(), Severity::Warning)],
        "{report}"
    );
    assert_eq!(only(&report, EQUAL).unwrap().numbers["rows"], 16.0);
    let report = audited(true, false);
    assert_eq!(
        severities(&report)[0],
        ("0.weight".to_owned(), Severity::Error),
        "{report}"
    );
    let error = report.of_kind(EQUAL).next().unwrap();
    assert!(
        error
            .message
            .ends_with("and stay equal as they are trained")
    );
}

/// The severity and the end of the message if a layer with this many rows starts with this value, and is trained at a rate
/// or not at all.
fn equal(rows: usize, value: f64, is_frozen: bool, rate: f64) -> Option<(Severity, String)> {
    let report = fork_rng(0, || {
        let layer = Linear::new(6, rows)?;
        let weight = layer.weight();
        weight.set(weight.detach().full_like(value)?)?;
        if is_frozen {
            layer.freeze(Select::all())?;
        }
        let model = Sequential::new()
            .push(Linear::new(6, 6)?)
            .push(layer)
            .push(Tanh::new())
            .push(Linear::new(rows, 3)?);
        let mut optimizer = SGD::new(&model, rate)?;
        Audit::new(&model).run(|_| step(&model, &mut optimizer, cross_entropy_of(&model)?))
    });
    let report = report.unwrap();
    let found = only(&report, EQUAL)?;
    let end = found.message.rsplit(", ").next().unwrap_or_default();
    Some((found.severity, end.to_owned()))
}

#[test]
fn what_equal_rows_do_is_said() {
    let warning = |text: &str| Some((Severity::Warning, text.to_owned()));
    let copies = "so that its units start as copies of one";
    for rows in [2, 16] {
        assert_eq!(equal(rows, 0.1, false, 0.1), warning(copies));
        // At a rate of 0 the rows stay equal as well, but not because of training.
        assert_eq!(equal(rows, 0.1, false, 0.0), warning(copies));
        assert_eq!(equal(rows, 0.1, true, 0.1), None);
    }
    let blocked = "so that no gradient reaches what is before it";
    assert_eq!(equal(16, 0.0, false, 0.1), warning(blocked));
}

#[test]
fn scales_and_weights_of_one_row_may_start_equal() {
    #[derive(Module)]
    struct Scaled {
        layer: Linear,
        scale: Parameter,
        row: Parameter,
    }

    impl Forward for Scaled {
        type Output = Tensor;

        fn forward(&self, x: Tensor) -> Result<Tensor> {
            let x = self.layer.call(x)?.mul(&self.scale.tensor().t()?)?;
            x.mul(self.row.tensor())
        }
    }

    let report = fork_rng(0, || {
        let ones = |shape: [usize; 2]| Parameter::new(Tensor::ones(shape, DType::F32)?);
        let model = Scaled {
            layer: Linear::new(6, 3)?,
            scale: ones([3, 1])?,
            row: ones([1, 3])?,
        };
        let mut optimizer = SGD::new(&model, 0.1)?;
        Audit::new(&model).run(|_| step(&model, &mut optimizer, cross_entropy_of(&model)?))
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
}
