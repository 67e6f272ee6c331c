//! Targets from which nothing can be learned, with losses that are modules and losses that are functions.

use module_nn::CrossEntropyOptions;
use module_nn::audit::{AuditReport, FindingKind};
use module_nn::functional::{self, NllLossOptions};
use module_nn::prelude::*;

use super::support::{classes, rows, shows, trained};

const KIND: FindingKind = FindingKind::SuspiciousTargets;

/// A perceptron trained with this loss.
fn perceptron(outputs: usize, loss: impl Fn(&Tensor) -> Result<Tensor>) -> Result<AuditReport> {
    let model = Sequential::new()
        .push(Linear::new(6, 16)?)
        .push(Tanh::new())
        .push(Linear::new(16, outputs)?);
    trained(&model, |model| loss(&model.call(rows(16, 6)?)?))
}

/// Sixteen classes, or as many of the class that cross-entropy ignores.
fn ignored(bug: bool, ignore_index: i64) -> Result<Tensor> {
    match bug {
        true => Tensor::full([16], ignore_index, DType::I64),
        false => classes(16, 3),
    }
}

#[test]
fn pitfall_58_targets_that_are_all_ignored() {
    shows(KIND, "CrossEntropyLoss", |bug| {
        // The sum is 0, so that only the targets reveal it.
        let criterion = CrossEntropyLossConfig::new()
            .reduction(Reduction::Sum)
            .build()?;
        perceptron(3, |x| criterion.loss(x, &ignored(bug, -100)?))
    });
}

#[test]
fn targets_of_functions_that_are_all_ignored() {
    shows(KIND, "cross_entropy", |bug| {
        let options = CrossEntropyOptions::new().reduction(Reduction::Sum);
        perceptron(3, |x| {
            functional::cross_entropy(x, &ignored(bug, -100)?, options)
        })
    });
    shows(KIND, "nll_loss", |bug| {
        // The padding class of sentences.
        let options = NllLossOptions::new()
            .ignore_index(0)
            .reduction(Reduction::Sum);
        perceptron(3, |x| {
            functional::nll_loss(&x.log_softmax(1)?, &ignored(bug, 0)?, options)
        })
    });
}

#[test]
fn targets_that_are_all_equal() {
    shows(KIND, "CrossEntropyLoss", |bug| {
        // A loader whose labels were never filled in.
        perceptron(3, |x| {
            let target = if bug {
                Tensor::zeros([16], DType::I64)?
            } else {
                classes(16, 3)?
            };
            CrossEntropyLoss::new().loss(x, &target)
        })
    });
    shows(KIND, "MSELoss", |bug| {
        perceptron(1, |x| {
            let target = if bug {
                Tensor::full([16, 1], 0.5, DType::F32)?
            } else {
                rows(16, 1)?
            };
            MSELoss::new().loss(x, &target)
        })
    });
}

#[test]
fn targets_of_a_method_that_are_all_equal_beside_those_that_are_ignored() {
    shows(KIND, "cross_entropy", |bug| {
        perceptron(3, |x| {
            let target = if bug {
                Tensor::full([16], 2_i64, DType::I64)?
            } else {
                classes(16, 3)?
            };
            let padded = Tensor::arange(0, 16, DType::I64)?.ge(12_i64)?;
            x.cross_entropy(&target.masked_fill(&padded, -100_i64)?, Default::default())
        })
    });
}

/// A loss of a prediction and a target.
type LossOfTwo = fn(&Tensor, &Tensor) -> Result<Tensor>;

/// The losses on numbers, with the names of their functions.
const OF_NUMBERS: [(&str, LossOfTwo); 4] = [
    ("mse_loss", |x, y| {
        functional::mse_loss(x, y, Reduction::Mean)
    }),
    ("l1_loss", |x, y| functional::l1_loss(x, y, Reduction::Mean)),
    ("smooth_l1_loss", |x, y| {
        functional::smooth_l1_loss(x, y, Reduction::Mean, 1.0)
    }),
    ("huber_loss", |x, y| {
        functional::huber_loss(x, y, Reduction::Mean, 1.0)
    }),
];

#[test]
fn targets_of_functions_that_are_all_equal() {
    for (name, loss) in OF_NUMBERS {
        shows(KIND, name, |bug| {
            perceptron(1, |x| {
                let target = rows(16, 1)?;
                loss(x, &if bug { target.zeros_like()? } else { target })
            })
        });
    }
    let binary: [(&str, LossOfTwo); 2] = [
        ("binary_cross_entropy", |x, y| {
            functional::binary_cross_entropy(&x.sigmoid()?, y, None, Reduction::Mean)
        }),
        ("binary_cross_entropy_with_logits", |x, y| {
            functional::binary_cross_entropy_with_logits(x, y, None, Reduction::Mean, None)
        }),
    ];
    for (name, loss) in binary {
        shows(KIND, name, |bug| {
            perceptron(1, |x| {
                let target = classes(16, 2)?.to_dtype(DType::F32)?.unsqueeze(1)?;
                loss(x, &if bug { target.ones_like()? } else { target })
            })
        });
    }
}

#[test]
fn targets_that_are_not_probabilities() {
    // Labels of 0 and 255, as in a mask.
    let labels = |bug| {
        let labels = classes(16, 2)?.to_dtype(DType::F32)?.unsqueeze(1)?;
        labels.mul(if bug { 255.0 } else { 1.0 })
    };
    shows(KIND, "BCEWithLogitsLoss", |bug| {
        perceptron(1, |x| BCEWithLogitsLoss::new().loss(x, &labels(bug)?))
    });
    shows(KIND, "binary_cross_entropy_with_logits", |bug| {
        perceptron(1, |x| {
            let (weight, reduction) = (None, Reduction::Mean);
            functional::binary_cross_entropy_with_logits(x, &labels(bug)?, weight, reduction, None)
        })
    });
    // -1 and 1, as margin losses use them.
    shows(KIND, "binary_cross_entropy_with_logits", |bug| {
        perceptron(1, |x| {
            let labels = labels(false)?;
            let labels = if bug {
                labels.mul(2.0)?.sub(1.0)?
            } else {
                labels
            };
            let (weight, reduction) = (None, Reduction::Mean);
            functional::binary_cross_entropy_with_logits(x, &labels, weight, reduction, None)
        })
    });
}

/// Numbers with a standard deviation of one, or these numbers in the range of an activation.
fn bounded(bug: bool, activation: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let numbers = rows(16, 4)?;
    if bug {
        Ok(numbers)
    } else {
        activation(&numbers)
    }
}

#[test]
fn targets_outside_the_range_of_the_last_layer() {
    shows(KIND, "MSELoss", |bug| {
        let model = Sequential::new()
            .push(Linear::new(6, 4)?)
            .push(Sigmoid::new());
        trained(&model, |model| {
            let target = bounded(bug, Tensor::sigmoid)?;
            MSELoss::new().loss(&model.call(rows(16, 6)?)?, &target)
        })
    });
    for (name, loss) in OF_NUMBERS {
        shows(KIND, name, |bug| {
            // The activation's output is equally bounded in another shape.
            perceptron(4, |x| {
                let target = bounded(bug, Tensor::tanh)?.flatten(0, 1)?;
                loss(&x.tanh()?.flatten(0, 1)?, &target)
            })
        });
    }
    shows(KIND, "l1_loss", |bug| {
        perceptron(4, |x| {
            let target = bounded(bug, |x| x.softmax(1))?;
            functional::l1_loss(&x.softmax(1)?, &target, Reduction::Mean)
        })
    });
}

/// A network that takes its targets and returns its loss.
#[derive(Module)]
struct Scoring {
    layer: Linear,
}

impl Forward<(Tensor, Tensor)> for Scoring {
    type Output = Tensor;

    fn forward(&self, (x, target): (Tensor, Tensor)) -> Result<Tensor> {
        let logits = self.layer.call(x)?;
        functional::cross_entropy(&logits, &target, Default::default())
    }
}

#[test]
fn targets_of_a_loss_within_a_module() {
    shows(KIND, "0", |bug| {
        let model = [Scoring {
            layer: Linear::new(6, 3)?,
        }];
        trained(&model, |model| {
            let target = if bug {
                Tensor::zeros([16], DType::I64)?
            } else {
                classes(16, 3)?
            };
            model[0].call((rows(16, 6)?, target))
        })
    });
}

#[test]
fn classes_that_are_all_equal_beside_another_loss() {
    shows(KIND, "cross_entropy", |bug| {
        perceptron(3, |x| {
            let target = if bug {
                Tensor::zeros([16], DType::I64)?
            } else {
                classes(16, 3)?
            };
            let class = functional::cross_entropy(x, &target, Default::default())?;
            class.add(&functional::mse_loss(x, &rows(16, 3)?, Reduction::Mean)?)
        })
    });
}

/// The message if one of sixteen targets is outside the range of a loss or an activation, by its number.
fn with_target(value: f64, loss: LossOfTwo) -> Vec<(String, f64, [f64; 3])> {
    let report = fork_rng(0, || {
        perceptron(1, |x| {
            let rest = Tensor::rand([15, 1], DType::F32)?.mul(0.5)?.add(0.25)?;
            let one = Tensor::full([1, 1], value, DType::F32)?;
            loss(x, &Tensor::cat(&[rest, one], 0)?)
        })
    });
    let report = report.unwrap();
    let found = report.of_kind(KIND).map(|it| {
        let numbers = ["least", "greatest", "targets"].map(|name| it.numbers[name]);
        let end = it.message.split(", which").next().unwrap_or_default();
        (end.to_owned(), f64::from(value as f32), numbers)
    });
    found.collect()
}

#[test]
fn a_target_is_out_of_range_by_more_than_a_rounding() {
    let losses: [(LossOfTwo, f64, f64); 3] = [
        (
            |x, y| functional::binary_cross_entropy_with_logits(x, y, None, Reduction::Mean, None),
            0.0,
            1.0,
        ),
        (
            |x, y| functional::mse_loss(&x.sigmoid()?, y, Reduction::Mean),
            0.0,
            1.0,
        ),
        (
            |x, y| functional::mse_loss(&x.tanh()?, y, Reduction::Mean),
            -1.0,
            1.0,
        ),
    ];
    for (loss, least, greatest) in losses {
        for value in [least - 0.8e-5, least, greatest, greatest + 0.8e-5] {
            assert_eq!(with_target(value, loss), [], "{value}");
        }
        for value in [least - 1.3e-5, greatest + 1.3e-5] {
            let found = with_target(value, loss);
            assert_eq!(found.len(), 1, "{value}");
            let (message, value, [low, high, count]) = &found[0];
            assert_eq!(*count, 32.0);
            assert!([low, high].contains(&value), "{value} {low} {high}");
            let outside =
                format!("2 of 32 targets of `mse_loss` are outside of [{least}, {greatest}]");
            let none = format!("from {low} to {high} are not probabilities");
            assert!(
                message.starts_with(&outside) || message.ends_with(&none),
                "{message}"
            );
        }
    }
}
