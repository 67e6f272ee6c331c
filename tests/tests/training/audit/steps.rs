//! What an optimizer does to a model, and what it does not.

use module_nn::audit::{AuditReport, FindingKind};
use module_nn::prelude::*;

use super::support::{audited, classes, rows, shows};

#[derive(Module)]
struct Net {
    hidden: Linear,
    head: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.hidden.call(x)?.tanh()?)
    }
}

fn net() -> Result<Net> {
    Ok(Net {
        hidden: Linear::new(6, 16)?,
        head: Linear::new(16, 3)?,
    })
}

/// Two steps, of which the gradients are made here and the rest elsewhere.
fn trained(net: &Net, mut update: impl FnMut(&Net) -> Result<()>) -> Result<AuditReport> {
    audited(net, || {
        net.zero_grad();
        let logits = net.call(rows(16, 6)?)?;
        let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 3)?)?;
        loss.backward()?;
        update(net)?;
        Ok(loss)
    })
}

#[test]
fn pitfall_30_an_optimizer_that_misses_a_part() {
    shows(
        FindingKind::OptimizerMissesParameter,
        "hidden.weight",
        |bug| {
            let model = net()?;
            match bug {
                true => {
                    let mut optimizer = SGD::new(&model.head, 0.1)?;
                    trained(&model, |net| optimizer.step(&net.head))
                }
                false => {
                    let mut optimizer = SGD::new(&model, 0.1)?;
                    trained(&model, |net| optimizer.step(net))
                }
            }
        },
    );
}

#[test]
fn a_learning_rate_of_zero() {
    shows(FindingKind::NothingMoved, "", |bug| {
        let model = net()?;
        let mut optimizer = SGD::new(&model, if bug { 0.0 } else { 0.1 })?;
        trained(&model, |net| optimizer.step(net))
    });
}

#[test]
fn updates_as_large_as_the_weights() {
    shows(FindingKind::LargeUpdate, "hidden.weight", |bug| {
        let model = net()?;
        let mut optimizer = Adam::new(&model, if bug { 5.0 } else { 1e-3 })?;
        trained(&model, |net| optimizer.step(net))
    });
}

#[test]
fn updates_that_are_lost_beside_the_weights() {
    shows(FindingKind::NothingMoved, "", |bug| {
        let model = net()?;
        let mut optimizer = SGD::new(&model, if bug { 1e-9 } else { 0.1 })?;
        trained(&model, |net| optimizer.step(net))
    });
}

#[test]
fn pitfall_28_a_frozen_part_that_moves() {
    shows(FindingKind::FrozenParameterMoved, "hidden.weight", |bug| {
        let model = net()?;
        model.hidden.freeze(Select::all())?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        trained(&model, |net| {
            optimizer.step(net)?;
            if bug {
                // Decay by hand, as of those who write their own step.
                let weight = net.hidden.weight();
                weight.set(weight.detach().mul(0.99)?)?;
            }
            Ok(())
        })
    });
}
