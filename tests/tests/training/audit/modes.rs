//! Modes, and statistics that change although nothing is trained.

use module_nn::audit::{Audit, FindingKind, Severity};
use module_nn::prelude::*;

use super::support::{classes, cross_entropy_of, rows, shows, shows_all, step, trained};

/// A network with dropout and statistics, in which the modes differ.
fn net() -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(6, 16)?)
        .push(BatchNorm1d::new(16)?)
        .push(ReLU::new())
        .push(Dropout::new(0.2)?)
        .push(Linear::new(16, 3)?))
}

#[test]
fn pitfall_36_training_in_evaluation_mode() {
    shows(FindingKind::EvalModeTraining, "", |bug| {
        let model = net()?;
        // Like a loop that evaluates once and does not switch back.
        model.set_training(!bug);
        let report = trained(&model, cross_entropy_of)?;
        for finding in report.of_kind(FindingKind::EvalModeTraining) {
            assert_eq!(finding.severity, Severity::Error);
            assert!(
                finding.cause.contains(": BatchNorm1d, Dropout compute"),
                "{finding:?}"
            );
        }
        Ok(report)
    });
}

#[test]
fn an_evaluation_after_which_training_continues_in_its_mode() {
    shows(FindingKind::EvalModeTraining, "", |bug| {
        let model = net()?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Audit::new(&model).run(|_| {
            let loss = step(&model, &mut optimizer, cross_entropy_of(&model)?)?;
            model.eval();
            no_grad(|| cross_entropy_of(&model))?;
            model.set_training(!bug);
            Ok(loss)
        })
    });
}

#[test]
fn a_model_that_is_one_layer_in_evaluation_mode() {
    shows(FindingKind::EvalModeTraining, "", |bug| {
        let model = BatchNorm1d::new(6)?;
        model.set_training(!bug);
        trained(&model, |model| {
            let x = model.call(rows(16, 6)?)?;
            MSELoss::new().loss(&x, &rows(16, 6)?)
        })
    });
}

#[test]
fn parts_that_are_switched_off_and_statistics_that_are_fixed_are_meant() {
    let dropout = || Dropout::new(0.2);
    for off in ["1", "2"] {
        let report = fork_rng(0, || {
            let model = Sequential::new()
                .push(Linear::new(6, 16)?)
                .push(Sequential::new().push(dropout()?).push(dropout()?))
                .push(BatchNorm1d::new(16)?)
                .push(dropout()?)
                .push(Linear::new(16, 3)?);
            model.get_submodule(off)?.set_training(false);
            trained(&model, cross_entropy_of)
        });
        let report = report.unwrap();
        assert!(report.is_clean(), "{report}");
    }
}

#[test]
fn pitfall_29_statistics_that_drift_in_a_frozen_part() {
    shows(
        FindingKind::FrozenStatisticsDrift,
        "backbone.1.running_mean",
        |bug| {
            #[derive(Module)]
            struct Net {
                backbone: Sequential,
                head: Linear,
            }

            let model = Net {
                backbone: Sequential::new()
                    .push(Linear::new(6, 16)?)
                    .push(BatchNorm1d::new(16)?),
                head: Linear::new(16, 3)?,
            };
            // Only parameters are paused, as with `requires_grad_(False)`; statistics are still updated.
            model.backbone.freeze_parameters(Select::all())?;
            if !bug {
                model.backbone.eval();
            }
            trained(&model, |model| {
                let x = model.backbone.call(rows(16, 6)?)?;
                CrossEntropyLoss::new().loss(&model.head.call(x)?, &classes(16, 3)?)
            })
        },
    );
}

#[test]
fn pitfall_36_evaluation_in_training_mode() {
    let kind = FindingKind::TrainModeEvaluation;
    shows_all(kind, &["1", "3"], "in training mode", |bug| {
        let model = net()?;
        let audit = Audit::new(&model);
        if !bug {
            model.eval();
        }
        audit.evaluate(|| no_grad(|| cross_entropy_of(&model)).map(drop))
    });
}

/// A network that keeps the mean of a layer's output; in PyTorch, this would link each step to the previous one.
#[derive(Module)]
struct Running {
    hidden: Linear,
    mean: Buffer,
    head: Linear,
}

impl Forward for Running {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.hidden.call(x)?;
        let mean = self.mean.tensor().mul(0.9)?.add(&x.mean(0)?.mul(0.1)?)?;
        let x = x.sub(&mean)?;
        self.mean.set(mean)?;
        self.head.call(x)
    }
}

#[test]
fn pitfall_37_statistics_of_a_trained_layer_tie_no_step_to_the_next() {
    let model = Running {
        hidden: Linear::new(6, 16).unwrap(),
        mean: Buffer::new(Tensor::zeros([16], DType::F32).unwrap()),
        head: Linear::new(16, 3).unwrap(),
    };
    let mut optimizer = SGD::new(&model, 0.1).unwrap();
    let mut train = || {
        let loss = cross_entropy_of(&model)?;
        step(&model, &mut optimizer, loss)
    };
    train().unwrap();
    train().unwrap();
    assert!(!model.mean.tensor().requires_grad());
}
