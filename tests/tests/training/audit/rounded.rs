//! The smallest step that counts as one.

use module_nn::audit::{Audit, FindingKind};
use module_nn::prelude::*;

use super::support::{Net, cross_entropy_of};

/// Numbers, some of which are trained.
#[derive(Module)]
struct Numbers {
    slow: Parameter,
    fast: Parameter,
    missed: Parameter,
}

/// Whether the missed number, of value 2, is reported with this gradient, next to two numbers whose steps are a tenth of
/// their gradient and all of it.
fn is_missed(gradient: f64) -> bool {
    let number = |value: f32| Parameter::new(Tensor::from(value));
    let report = fork_rng(0, || {
        let model = Numbers {
            slow: number(1.0)?,
            fast: number(1.0)?,
            missed: number(2.0)?,
        };
        let [slow, fast, missed] = [&model.slow, &model.fast, &model.missed];
        Audit::new(&model).run(|_| {
            model.zero_grad();
            let loss = slow.tensor().square()?.add(&fast.tensor().square()?)?;
            let loss = loss.add(&missed.tensor().mul(gradient)?)?;
            loss.backward()?;
            for (parameter, rate) in [(slow, 0.1), (fast, 0.5)] {
                let grad = parameter
                    .grad()
                    .ok_or_else(|| Error::custom("no gradient"))?;
                parameter.set(parameter.detach().sub(&grad.mul(rate)?)?)?;
            }
            Ok(loss)
        })
    });
    let report = report.unwrap();
    let paths = report.findings().iter().map(|it| it.path.as_str());
    let is_missed = paths.collect::<Vec<_>>() == ["missed"];
    assert!(is_missed || report.is_clean(), "{report}");
    is_missed
}

#[test]
fn a_step_that_rounding_would_take_away_is_not_missed() {
    // A millionth of 2 by the smaller rate.
    assert!(is_missed(2.5e-5));
    assert!(!is_missed(1.6e-5));
}

/// The findings if this many of a hundred ones grow by the smallest possible step, and nothing else moves.
fn grown(count: i64) -> Vec<FindingKind> {
    #[derive(Module)]
    struct Beside {
        net: Net,
        ones: Parameter,
    }

    let report = fork_rng(0, || {
        let model = Beside {
            net: Net::new(Net::plain)?,
            ones: Parameter::new(Tensor::ones([100], DType::F32)?)?,
        };
        let few = Tensor::arange(0, 100, DType::I64)?
            .lt(count)?
            .to_dtype(DType::F32)?;
        let step = few.mul(f64::from(f32::EPSILON))?;
        Audit::new(&model).steps(1).run(|_| {
            model.zero_grad();
            let loss = cross_entropy_of(&model.net)?.add(&model.ones.tensor().mean(..)?)?;
            loss.backward()?;
            model.ones.set(model.ones.detach().add(&step)?)?;
            Ok(loss)
        })
    });
    let report = report.unwrap();
    let mut kinds: Vec<_> = report.findings().iter().map(|it| it.kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn changed_roundings_of_a_few_elements_are_not_a_step() {
    // A ten millionth of the norm.
    assert_eq!(grown(100), [FindingKind::OptimizerMissesParameter]);
    assert_eq!(grown(40), [FindingKind::NothingMoved]);
    assert_eq!(grown(0), [FindingKind::NothingMoved]);
}

#[test]
fn a_part_that_is_used_in_one_of_the_steps_is_missed() {
    let report = fork_rng(0, || {
        let model = [Net::new(Net::plain)?, Net::new(Net::plain)?];
        let [known, missed] = &model;
        let mut optimizer = SGD::new(known, 0.1)?;
        Audit::new(&model).run(|number| {
            model.zero_grad();
            let mut loss = cross_entropy_of(known)?;
            if number == 1 {
                loss = loss.add(&cross_entropy_of(missed)?)?;
            }
            loss.backward()?;
            optimizer.step(known)?;
            Ok(loss)
        })
    });
    let report = report.unwrap();
    let missed = report.of_kind(FindingKind::OptimizerMissesParameter);
    assert_eq!(missed.count(), 6, "{report}");
}
