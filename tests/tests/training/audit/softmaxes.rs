//! Where values become probabilities, and the findings about them.

use module_nn::audit::{Audit, AuditReport, FindingKind};
use module_nn::prelude::*;

use super::support::{Net, cross_entropy_of, rows, shows, trained, trained_by};

const KIND: FindingKind = FindingKind::DoubleSoftmax;

/// The output of a network, in a given shape, turned into probabilities along a dimension without a softmax.
#[derive(Module)]
struct Dividing {
    layer: Linear,
    #[module(skip)]
    shape: Vec<isize>,
    #[module(skip)]
    dim: isize,
}

impl Forward for Dividing {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.layer.call(x)?.reshape(self.shape.clone())?.exp()?;
        x.div(&x.sum_keepdim(self.dim)?)
    }
}

/// The number of findings if a loss gets these values times a factor.
fn divided(outputs: usize, shape: &[isize], dim: isize, factor: f64) -> usize {
    let report = fork_rng(0, || {
        let model = Changed {
            inner: Dividing {
                layer: Linear::new(6, outputs)?,
                shape: shape.to_vec(),
                dim,
            },
            factor,
        };
        trained(&model, |model| {
            let x = model.call(rows(16, 6)?)?;
            // One class for each but the second dimension, or for all.
            let mut rest = x.shape().to_vec();
            let classes = rest.remove(usize::from(rest.len() > 1)) as i64;
            let target = Tensor::randint(0, classes, rest, DType::I64)?;
            x.cross_entropy(&target, Default::default())
        })
    });
    report.unwrap().of_kind(KIND).count()
}

/// Multiplies the output of a network.
#[derive(Module)]
struct Changed {
    inner: Dividing,
    factor: f64,
}

impl Forward for Changed {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.inner.call(x)?.mul(self.factor)
    }
}

#[test]
fn probabilities_lie_along_the_classes() {
    // Two classes, and one, of which every value is a probability of one.
    assert_eq!(divided(2, &[16, 2], 1, 1.0), 1);
    assert_eq!(divided(1, &[16, 1], 1, 1.0), 0);
    // Classes of places, and of one row.
    assert_eq!(divided(6, &[16, 3, 2], 1, 1.0), 1);
    assert_eq!(divided(6, &[16, 3, 2], 2, 1.0), 0);
    assert_eq!(divided(3, &[48], 0, 1.0), 1);
}

#[test]
fn probabilities_sum_to_one_but_for_roundings() {
    for (factor, found) in [(1.0007, 1), (1.0015, 0), (0.9993, 1), (0.9985, 0)] {
        assert_eq!(divided(3, &[16, 3], 1, factor), found, "{factor}");
    }
}

#[test]
fn probabilities_at_some_positions_only_are_not_reported() {
    let report = fork_rng(0, || {
        let model = Net::new(|net, x| {
            let x = net.plain(x)?;
            Tensor::stack(&[x.softmax(1)?.mul(1.0)?, x.exp()?], 2)
        })?;
        trained(&model, |model| {
            let x = model.call(rows(16, 6)?)?;
            let target = Tensor::randint(0, 3, [16, 2], DType::I64)?;
            x.cross_entropy(&target, Default::default())
        })
    });
    assert_eq!(report.unwrap().of_kind(KIND).count(), 0);
}

/// Probabilities, with the logits from which they were computed.
#[derive(Module)]
struct Both {
    net: Net,
}

impl Forward for Both {
    type Output = (Tensor, Tensor);

    fn forward(&self, x: Tensor) -> Result<Self::Output> {
        let logits = self.net.call(x)?;
        Ok((logits.softmax(1)?, logits))
    }
}

/// A network that learns from another one, by its logits or its probabilities.
#[derive(Module)]
struct Pair {
    student: Both,
    teacher: Net,
}

fn pair(bug: bool) -> Result<AuditReport> {
    let model = Pair {
        student: Both {
            net: Net::new(Net::plain)?,
        },
        teacher: Net::new(Net::plain)?,
    };
    let audit = Audit::new(&model).steps(1);
    trained_by(audit, &model, |model| {
        let x = rows(16, 6)?;
        // Both learn, so that the targets are tracked too.
        let target = model.teacher.call(x.clone())?.softmax(1)?;
        let (probabilities, logits) = model.student.call(x)?;
        let given = if bug { probabilities } else { logits };
        given.cross_entropy(&target, Default::default())
    })
}

#[test]
fn probabilities_of_one_of_two_results_and_targets_that_are_some() {
    shows(KIND, "student", pair);
}

#[test]
fn probabilities_that_are_weighed_by_a_softmax() {
    let report = fork_rng(0, || {
        let model = Net::new(|net, x| {
            let x = net.plain(x)?.exp()?;
            x.div(&x.sum_keepdim(1)?)
        })?;
        trained(&model, |model| {
            let weights = model.call(rows(16, 6)?)?.softmax(1)?;
            weights.mul(&rows(16, 3)?)?.sum(1)?.square()?.mean(..)
        })
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn one_mistake_is_one_finding_in_any_number_of_steps() {
    for steps in [1, 3] {
        let report = fork_rng(0, || {
            let model = Net::new(|net, x| net.plain(x)?.softmax(1))?;
            trained_by(Audit::new(&model).steps(steps), &model, cross_entropy_of)
        });
        assert_eq!(report.unwrap().of_kind(KIND).count(), 1);
    }
}
