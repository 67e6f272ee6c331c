//! Frozen values that change, and those that are meant to.

use module_nn::audit::{Audit, FindingKind};
use module_nn::prelude::*;

use super::support::{Net, cross_entropy_of, rows, shows, step};

const MOVED: FindingKind = FindingKind::FrozenParameterMoved;

/// A trained parameter and a frozen one.
#[derive(Module)]
struct Two {
    trained: Parameter,
    frozen: Parameter,
}

/// The number of findings if the frozen parameter moves this fraction of the way to the other one, and this far aside. The
/// distance between the two, whose shape is given, is one.
fn followed(part: f32, aside: f32, shape: [usize; 2]) -> usize {
    let report = fork_rng(0, || {
        let model = Two {
            trained: Parameter::new(Tensor::ones(shape, DType::F32)?)?,
            frozen: Parameter::new(Tensor::from([[0.0_f32, 1.0]]))?,
        };
        model.frozen.freeze();
        // So slow that the target is practically constant.
        let mut optimizer = SGD::new(&model, 1e-6)?;
        Audit::new(&model).steps(1).run(|_| {
            let x = rows(2, 2)?.mul(model.trained.tensor())?;
            let loss = step(&model, &mut optimizer, x.square()?.mean(..)?)?;
            let way = Tensor::from([[part, aside]]);
            model.frozen.set(model.frozen.detach().add(&way)?)?;
            Ok(loss)
        })
    });
    report.unwrap().of_kind(MOVED).count()
}

#[test]
fn what_goes_towards_another_parameter_is_meant_to() {
    for part in [0.001, 0.1, 0.5, 1.0, 1.004] {
        assert_eq!(followed(part, 0.0, [1, 2]), 0, "{part}");
    }
    // Away from it, beyond it, and aside.
    for (part, aside) in [(-0.1, 0.0), (1.01, 0.0), (0.0, 0.1), (0.1, 0.1)] {
        assert_eq!(followed(part, aside, [1, 2]), 1, "{part} {aside}");
    }
    // Of the square of a step of a tenth, 1.5 and 3 hundredths are aside.
    assert_eq!(followed(0.1, 0.01234, [1, 2]), 0);
    assert_eq!(followed(0.1, 0.01759, [1, 2]), 1);
    // A different shape cannot be a target.
    assert_eq!(followed(0.1, 0.0, [2, 1]), 1);
}

#[test]
fn decay_is_not_meant_beside_a_parameter_of_the_same_shape() {
    shows(MOVED, "second.weight", |bug| {
        let model = [Net::new(Net::plain)?, Net::new(Net::plain)?];
        let [net, other] = &model;
        net.second.freeze(Select::all())?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        let report = Audit::new(net).run(|_| {
            let loss = cross_entropy_of(net)?.add(&cross_entropy_of(other)?)?;
            let loss = step(&model, &mut optimizer, loss)?;
            if bug {
                let weight = net.second.weight();
                weight.set(weight.detach().mul(0.99)?)?;
            }
            Ok(loss)
        })?;
        for finding in report.of_kind(MOVED) {
            assert_eq!(finding.numbers["step"], 0.0);
        }
        Ok(report)
    });
}

const DRIFT: FindingKind = FindingKind::FrozenStatisticsDrift;

/// The number of findings about statistics after a layer some of whose parameters are trained, by an optimizer of part of
/// the model, and changed after each step.
fn drifting(
    trained: &[&str],
    optimized: &str,
    change: impl Fn(&Sequential, usize) -> Result<()>,
) -> usize {
    let report = fork_rng(0, || {
        let model = Sequential::new()
            .push(BatchNorm1d::new(6)?)
            .push(Linear::new(6, 3)?);
        model.set_requires_grad(false);
        for path in trained {
            model.get_parameter(path)?.set_requires_grad(true);
        }
        let part = model.get_submodule(optimized)?;
        let mut optimizer = SGD::new(part, 0.1)?;
        Audit::new(&model).run(|number| {
            model.zero_grad();
            let loss = cross_entropy_of(&model)?;
            loss.backward()?;
            optimizer.step(part)?;
            change(&model, number)?;
            Ok(loss)
        })
    });
    let report = report.unwrap();
    for finding in report.of_kind(DRIFT) {
        assert_eq!(finding.numbers["buffers"], 3.0);
    }
    report.of_kind(DRIFT).count()
}

#[test]
fn statistics_of_parts_that_train_or_move_may_drift() {
    let none = |_: &Sequential, _| Ok(());
    assert_eq!(drifting(&["1.weight"], "1", none), 1);
    assert_eq!(drifting(&["0.bias", "1.weight"], "", none), 0);
    // Trained, but missed by the optimizer.
    assert_eq!(drifting(&["0.weight", "0.bias", "1.weight"], "1", none), 0);
    // Set by hand in one of the steps, like a teacher that is updated occasionally.
    let set = |model: &Sequential, number| {
        let weight = model.get_parameter("0.weight")?;
        weight.set(weight.detach().add(if number == 1 { 0.1 } else { 0.0 })?)
    };
    assert_eq!(drifting(&["1.weight"], "1", set), 0);
    // Frozen in one of the steps but not in the other.
    let fixed = |model: &Sequential, number: usize| {
        model.get_submodule("0")?.set_training(number > 0);
        Ok(())
    };
    assert_eq!(drifting(&["1.weight"], "1", fixed), 1);
}
