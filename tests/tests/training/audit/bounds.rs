//! Findings start at the documented bounds, and counts are exact.

use module_nn::CrossEntropyOptions;
use module_nn::audit::{Audit, AuditReport, AuditThresholds, Finding, FindingKind};
use module_nn::autograd::{BackwardOptions, grad};
use module_nn::functional::{self, NllLossOptions};
use module_nn::prelude::*;

use super::support::{
    Net, audited, classes, cross_entropy_of, rows, shows_all, trained, trained_by,
};

/// Expects a finding just above a bound and none just below it; the bound is set to the value that `measured` reads from
/// the finding of a bound that everything exceeds.
#[track_caller]
fn begins_at(
    kind: FindingKind,
    [everything, above]: [f64; 2],
    measured: impl Fn(&Finding) -> f64,
    report: impl Fn(f64) -> Result<AuditReport>,
) {
    let found = |bound: f64| -> Option<Finding> {
        let report = fork_rng(0, || report(bound)).unwrap();
        report.of_kind(kind).next().cloned()
    };
    let value = measured(&found(everything).unwrap());
    assert!(found(value * above).is_some(), "{kind} of {value}");
    assert!(found(value / above).is_none(), "{kind} of {value}");
}

fn bounded(
    bound: f64,
    set: fn(&mut AuditThresholds, f64),
    input: f64,
    model: &impl Forward<Tensor, Output = Tensor>,
) -> Result<AuditReport> {
    let audit = Audit::new(model)
        .steps(1)
        .thresholds(|bounds| set(bounds, bound));
    trained_by(audit, model, |model| {
        let logits = model.call(rows(16, 6)?.mul(input)?)?;
        CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)
    })
}

#[test]
fn steps_beside_their_weight() {
    let ratio = |it: &Finding| it.numbers["update_ratio"];
    begins_at(FindingKind::LargeUpdate, [0.0, 0.99], ratio, |bound| {
        let model = Linear::new(6, 3)?;
        bounded(bound, |it, bound| it.update_ratio = bound, 1.0, &model)
    });
}

#[test]
fn gradients_beside_the_largest() {
    let kind = FindingKind::VanishingGradient;
    let ratio =
        |it: &Finding| it.numbers["relative_gradient"] / it.numbers["largest_relative_gradient"];
    begins_at(kind, [1.0, 1.01], ratio, |bound| {
        let model = Net::new(Net::plain)?;
        bounded(bound, |it, bound| it.vanishing = bound, 1.0, &model)
    });
}

#[test]
fn gradients_are_measured_by_their_weights() {
    // The largest ratio of both steps, for each weight.
    let mut ratios = [0.0_f64; 3];
    let report = fork_rng(0, || {
        let model = Net::new(Net::plain)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        let audit = Audit::new(&model).thresholds(|bounds| bounds.vanishing = 1.0);
        audit.run(|_| {
            model.zero_grad();
            let loss = cross_entropy_of(&model)?;
            loss.backward()?;
            let layers = [&model.first, &model.second, &model.head];
            for (ratio, layer) in ratios.iter_mut().zip(layers) {
                let grad = layer
                    .weight()
                    .grad()
                    .ok_or_else(|| Error::custom("no gradient"))?;
                let norm = |x: &Tensor| x.norm(2.0, ..)?.to_dtype(DType::F64)?.item::<f64>();
                *ratio = ratio.max(norm(&grad)? / norm(&layer.weight().detach())?);
            }
            optimizer.step(&model)?;
            Ok(loss)
        })
    });
    let report = report.unwrap();
    let finding = report
        .of_kind(FindingKind::VanishingGradient)
        .next()
        .unwrap();
    let names = ["relative_gradient", "largest_relative_gradient", "weights"];
    let [least, largest, count] = names.map(|name| finding.numbers[name]);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-4 * b, "{a} {b}");
    near(least, ratios.into_iter().fold(f64::INFINITY, f64::min));
    near(largest, ratios.into_iter().fold(0.0, f64::max));
    assert_eq!(count, 2.0);
}

#[test]
fn values_beside_the_input() {
    // A small one is no measure.
    for (scale, given) in [(10.0, 8.0..12.0), (0.01, 1.0..1.1)] {
        let ratio = |it: &Finding| {
            assert!(given.contains(&it.numbers["input_rms"]), "{it:?}");
            it.numbers["rms"] / it.numbers["input_rms"]
        };
        begins_at(
            FindingKind::ExplodingGradient,
            [0.0, 0.99],
            ratio,
            |bound| {
                let model = Linear::new(6, 3)?;
                bounded(bound, |it, bound| it.exploding = bound, scale, &model)
            },
        );
    }
}

#[test]
fn terms_of_a_loss_in_half_precision() {
    let audited = |dtype: DType, count: usize, term: fn(&Tensor, &Tensor) -> Result<Tensor>| {
        let report = fork_rng(0, || {
            let model = Linear::new(6, 3)?;
            trained(&model, |model| {
                let part = || cross_entropy_of(model)?.to_dtype(dtype);
                let mut total = part()?;
                for _ in 1..count {
                    total = term(&total, &part()?)?;
                }
                total.neg()?.mul(-2.0)?.div(2.0 * count as f64)
            })
        });
        let report = report.unwrap();
        let found = report.of_kind(FindingKind::PrecisionLoss).next().cloned();
        found.map(|it| (it.path, it.numbers["terms"]))
    };
    let found = Some((String::new(), 16.0));
    for dtype in [DType::F16, DType::BF16] {
        assert_eq!(audited(dtype, 16, |x, y| x.add(y)), found);
        assert_eq!(audited(dtype, 16, |x, y| x.sub(&y.neg()?)), found);
        assert_eq!(audited(dtype, 15, |x, y| x.add(y)), None);
    }
    assert_eq!(audited(DType::F32, 40, |x, y| x.add(y)), None);
}

#[test]
fn passes_in_half_precision() {
    for (count, found) in [(16, Some(16.0)), (15, None)] {
        let report = fork_rng(0, || {
            let model = Linear::new(6, 3)?;
            model.to_dtype(DType::BF16)?;
            let mut optimizer = SGD::new(&model, 0.5)?;
            audited(&model, || {
                model.zero_grad();
                for _ in 0..count {
                    let logits = model.call(rows(4, 6)?.to_dtype(DType::BF16)?)?;
                    CrossEntropyLoss::new()
                        .loss(&logits, &classes(4, 3)?)?
                        .backward()?;
                }
                optimizer.step(&model)?;
                Tensor::zeros((), DType::F32)
            })
        });
        let report = report.unwrap();
        let finding = report.of_kind(FindingKind::PrecisionLoss).next();
        assert_eq!(finding.map(|it| it.numbers["passes"]), found, "{report}");
    }
}

#[test]
fn passes_of_any_step_that_add_to_gradients() {
    let found = |passes: [usize; 2], asked: usize| {
        let report = fork_rng(0, || {
            let model = Linear::new(6, 3)?;
            model.to_dtype(DType::BF16)?;
            let mut optimizer = SGD::new(&model, 0.5)?;
            let mut passes = passes.into_iter();
            audited(&model, || {
                model.zero_grad();
                let loss = || {
                    let logits = model.call(rows(4, 6)?.to_dtype(DType::BF16)?)?;
                    CrossEntropyLoss::new().loss(&logits, &classes(4, 3)?)
                };
                for _ in 0..passes.next().unwrap_or_default() {
                    loss()?.backward()?;
                }
                for _ in 0..asked {
                    let weight = model.weight().tensor();
                    grad(&[&loss()?], &[&weight], BackwardOptions::new())?;
                }
                optimizer.step(&model)?;
                Tensor::zeros((), DType::F32)
            })
        });
        let report = report.unwrap();
        report.of_kind(FindingKind::PrecisionLoss).count()
    };
    assert_eq!(found([16, 1], 0), 1);
    assert_eq!(found([1, 16], 0), 1);
    // Requested gradients are not accumulated.
    assert_eq!(found([1, 1], 16), 0);
}

#[test]
fn a_second_softmax_of_any_name() {
    type Loss = fn(&Tensor, &Tensor) -> Result<Tensor>;
    let losses: [(&str, Loss); 3] = [
        ("cross_entropy", |x, target| {
            functional::cross_entropy(x, target, CrossEntropyOptions::new())
        }),
        ("log_softmax", |x, target| {
            functional::nll_loss(&x.log_softmax(1)?, target, NllLossOptions::new())
        }),
        ("softmax", |x, target| {
            functional::nll_loss(&x.softmax(1)?.log()?, target, NllLossOptions::new())
        }),
    ];
    for (name, loss) in losses {
        let kind = FindingKind::DoubleSoftmax;
        let given = format!("`{name}` gets the result of a softmax");
        shows_all(kind, &[""], &given, |bug| {
            let model = Net::new(Net::plain)?;
            let report = trained(&model, |model| {
                let x = model.call(rows(16, 6)?)?;
                loss(&if bug { x.softmax(1)? } else { x }, &classes(16, 3)?)
            })?;
            for finding in report.of_kind(kind) {
                assert_eq!(finding.cause, "its input was computed by `softmax`");
            }
            Ok(report)
        });
    }
}

#[test]
fn how_many_equal_targets_are_more_than_chance() {
    for (count, found) in [(8, true), (7, false)] {
        let report = fork_rng(0, || {
            let model = Linear::new(6, 3)?;
            trained(&model, |model| {
                let target = Tensor::full([count], 1_i64, DType::I64)?;
                CrossEntropyLoss::new().loss(&model.call(rows(count, 6)?)?, &target)
            })
        });
        // For both steps together.
        let report = report.unwrap();
        let kind = FindingKind::SuspiciousTargets;
        assert_eq!(report.of_kind(kind).count() == 1, found, "{report}");
    }
}

#[test]
fn bounds_are_the_documented_ones() {
    let model = Linear::new(6, 3).unwrap();
    let _audit = Audit::new(&model).thresholds(|bounds| {
        let AuditThresholds {
            dead_units,
            dead_unit_samples,
            vanishing,
            exploding,
            update_ratio,
            ..
        } = *bounds;
        assert_eq!(
            [dead_units, vanishing, exploding, update_ratio],
            [0.9, 1e-7, 1e6, 3.0]
        );
        assert_eq!(dead_unit_samples, 32);
    });
}
