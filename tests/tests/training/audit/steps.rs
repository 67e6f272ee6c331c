//! What an optimizer updates in a model, and what it does not.

use module_nn::audit::{Audit, AuditReport, FindingKind};
use module_nn::prelude::*;

use super::support::{Net, audited, cross_entropy_of, shows, shows_all};

/// Two steps, with the gradients computed here and everything else elsewhere.
fn trained(net: &Net, mut update: impl FnMut(&Net) -> Result<()>) -> Result<AuditReport> {
    audited(net, || {
        net.zero_grad();
        let loss = cross_entropy_of(net)?;
        loss.backward()?;
        update(net)?;
        Ok(loss)
    })
}

#[test]
fn pitfall_30_an_optimizer_that_misses_a_part() {
    let missed = ["first.weight", "first.bias", "second.weight", "second.bias"];
    shows_all(
        FindingKind::OptimizerMissesParameter,
        &missed,
        "it has a gradient",
        |bug| {
            let model = Net::new(Net::plain)?;
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
        let model = Net::new(Net::plain)?;
        let mut optimizer = SGD::new(&model, if bug { 0.0 } else { 0.1 })?;
        trained(&model, |net| optimizer.step(net))
    });
}

#[test]
fn updates_as_large_as_the_weights() {
    shows(FindingKind::LargeUpdate, "first.weight", |bug| {
        let model = Net::new(Net::plain)?;
        let mut optimizer = Adam::new(&model, if bug { 5.0 } else { 1e-3 })?;
        trained(&model, |net| optimizer.step(net))
    });
}

#[test]
fn updates_that_are_lost_beside_the_weights() {
    shows(FindingKind::NothingMoved, "", |bug| {
        let model = Net::new(Net::plain)?;
        let mut optimizer = SGD::new(&model, if bug { 1e-9 } else { 0.1 })?;
        trained(&model, |net| optimizer.step(net))
    });
}

#[test]
fn pitfall_28_a_frozen_part_that_moves() {
    shows(FindingKind::FrozenParameterMoved, "first.weight", |bug| {
        let model = Net::new(Net::plain)?;
        model.first.freeze(Select::all())?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        trained(&model, |net| {
            optimizer.step(net)?;
            if bug {
                // Manual weight decay, as in handwritten steps.
                let weight = net.first.weight();
                weight.set(weight.detach().mul(0.99)?)?;
            }
            Ok(())
        })
    });
}

#[test]
fn a_learning_rate_of_zero_that_the_audit_is_told_of() {
    let model = Net::new(Net::plain).unwrap();
    let mut optimizer = SGD::new(&model, 0.0).unwrap();
    let audit = Audit::new(&model).optimizer(&optimizer);
    let report = audit.run(|_| {
        model.zero_grad();
        let loss = cross_entropy_of(&model)?;
        loss.backward()?;
        optimizer.step(&model)?;
        Ok(loss)
    });
    let report = report.unwrap();
    let finding = &report.findings()[0];
    assert_eq!(finding.kind, FindingKind::NothingMoved);
    assert_eq!(finding.cause, "the learning rate is 0");
}

#[test]
fn gradients_that_are_added_up_over_steps() {
    shows(FindingKind::NothingMoved, "", |bug| {
        let model = Net::new(Net::plain)?;
        // Four batches per step, the first two of which are watched.
        let audit = Audit::new(&model);
        let audit = if bug {
            audit
        } else {
            audit.gradient_accumulation()
        };
        let report = audit.run(|_| cross_entropy_of(&model)?.backward())?;
        // The gradients have not been used yet.
        assert_eq!(report.of_kind(FindingKind::StaleGradient).count(), 0);
        Ok(report)
    });
    shows(FindingKind::StaleGradient, "first.weight", |bug| {
        let model = Net::new(Net::plain)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        let audit = Audit::new(&model);
        let audit = if bug {
            audit
        } else {
            audit.gradient_accumulation()
        };
        audit.run(|_| {
            cross_entropy_of(&model)?.backward()?;
            optimizer.step(&model)
        })
    });
}

/// The step of the finding, if there is one, when the optimizer steps in some of three steps, and gradients are cleared
/// after those or never.
fn stale(stepped: [bool; 3], dropped: bool) -> Option<f64> {
    let report = fork_rng(0, || {
        let model = Net::new(Net::plain)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Audit::new(&model).steps(3).run(|number| {
            cross_entropy_of(&model)?.backward()?;
            if stepped[number] {
                optimizer.step(&model)?;
                if dropped {
                    model.zero_grad();
                }
            }
            Ok(())
        })
    });
    let report = report.unwrap();
    let mut found = report.of_kind(FindingKind::StaleGradient);
    found.next().map(|it| it.numbers["step"])
}

#[test]
fn a_gradient_is_stale_where_two_steps_are_made_by_it() {
    assert_eq!(stale([true, false, true], false), Some(2.0));
    assert_eq!(stale([true, true, true], false), Some(1.0));
    // Accumulated over steps, and cleared after each step of the optimizer.
    assert_eq!(stale([false, true, false], true), None);
    assert_eq!(stale([false, false, true], true), None);
}
