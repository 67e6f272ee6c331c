//! Invalid uses of schedules, and that nothing has changed afterwards.

use module_nn::Snapshot;
use module_nn::optim::RuleOptimizer;
use module_nn::prelude::*;
use serde::{Deserialize, Serialize};

use super::optimizer;

/// An optimizer without momentum.
#[derive(Clone, Serialize, Deserialize)]
struct Plain {
    lr: f64,
}

impl UpdateRule for Plain {
    const NAME: &'static str = "Plain";
    type State = ();

    fn lr(&self) -> f64 {
        self.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn update(&self, value: &Tensor, grad: &Tensor, _: &mut Option<()>) -> Result<Tensor> {
        value.add_scaled(grad, -self.lr)
    }
}

#[test]
fn a_momentum_is_cycled_only_where_there_is_one() {
    let model = Linear::new(1, 1).unwrap();
    let mut optimizer: RuleOptimizer<Plain> = Plain { lr: 0.1 }.build(&model).unwrap();
    let cyclic = CyclicLRConfig::new(0.01, 0.2);
    let one_cycle = OneCycleLRConfig::new(0.2, 10_usize);
    let errors = [
        cyclic.build(&mut optimizer).err().unwrap(),
        one_cycle.build(&mut optimizer).err().unwrap(),
        optimizer.set_group_momentum(0, 0.5).unwrap_err(),
    ];
    for error in errors {
        let kind = error.downcast_ref::<OptimizerError>();
        let without = matches!(kind, Some(OptimizerError::NoMomentum { group: 0, .. }));
        assert!(without, "{error}");
        assert!(error.to_string().contains("`cycle_momentum`"), "{error}");
    }
    assert_eq!(optimizer.lr(), 0.1);
    cyclic.cycle_momentum(false).build(&mut optimizer).unwrap();
    assert_eq!(optimizer.lr(), 0.01);
    one_cycle
        .cycle_momentum(false)
        .build(&mut optimizer)
        .unwrap();
    assert_eq!(optimizer.group_momentums(), [None]);
}

#[test]
fn a_momentum_outside_its_range_changes_nothing() {
    let mut optimizer = optimizer("AdamW", &[0.1, 0.02]);
    let config = CyclicLRConfig::new(0.01, 0.2).max_momentum([0.95, 1.5]);
    let error = config.build(optimizer.as_mut()).err().unwrap();
    assert!(error.to_string().contains("betas.0 = 1.5"), "{error}");
    assert_eq!(optimizer.group_lrs(), [0.1, 0.02]);
    assert_eq!(optimizer.group_momentums(), [Some(0.9), Some(0.9)]);
    assert!(optimizer.initial_lrs().is_none());
}

#[test]
fn an_optimizer_with_other_groups_is_refused() {
    let mut two = optimizer("SGD", &[0.1, 0.02]);
    let mut one = SGD::new(&Linear::new(1, 1).unwrap(), 0.1).unwrap();
    let mut schedules: Vec<Box<dyn Schedule>> = vec![
        Box::new(ExponentialLR::new(two.as_mut(), 0.5).unwrap()),
        Box::new(LambdaLR::new(two.as_mut(), |_| 1.0).unwrap()),
    ];
    let chained = ExponentialLR::new(two.as_mut(), 0.5).unwrap();
    let parts: Vec<Box<dyn Schedule>> = vec![Box::new(chained)];
    schedules.push(Box::new(
        ChainedScheduler::new(two.as_mut(), parts).unwrap(),
    ));
    let mut plateau = ReduceLROnPlateau::new(two.as_mut()).unwrap();
    let mut errors = vec![plateau.step(1.0, &mut one).unwrap_err()];
    errors.extend(schedules.iter_mut().map(|s| s.step(&mut one).unwrap_err()));
    for error in errors {
        let kind = error.downcast_ref::<OptimizerError>();
        let (expected, groups) = match kind {
            Some(OptimizerError::Groups {
                expected, groups, ..
            }) => (*expected, *groups),
            _ => panic!("{error}"),
        };
        assert_eq!((expected, groups), (2, 1));
    }
    assert_eq!(one.lr(), 0.1);
    let state = schedules[0].state().unwrap();
    let mut of_one = ExponentialLR::new(&mut one, 0.5).unwrap();
    let error = of_one.load_state(&state).unwrap_err().to_string();
    assert!(error.contains("2 group(s)"), "{error}");
}

/// An optimizer that stores nothing but its learning rate.
struct Own(f64);

impl Stateful for Own {
    fn state(&self) -> Result<Snapshot> {
        Snapshot::default().with("lr", &self.0)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        self.0 = state.get("lr")?;
        Ok(())
    }
}

impl Optimizer for Own {
    fn step(&mut self, _: &dyn Module) -> Result<()> {
        Ok(())
    }

    fn lr(&self) -> f64 {
        self.0
    }

    fn set_lr(&mut self, lr: f64) -> Result<()> {
        self.0 = lr;
        Ok(())
    }
}

#[test]
fn an_optimizer_that_keeps_no_initial_rates_has_schedules_but_no_sequence() {
    let mut optimizer = Own(0.5);
    let mut schedule = ExponentialLR::new(&mut optimizer, 0.5).unwrap();
    schedule.step(&mut optimizer).unwrap();
    assert_eq!(optimizer.lr(), 0.25);
    let parts: Vec<Box<dyn Schedule>> = vec![Box::new(schedule)];
    let error = SequentialLR::new(&mut optimizer, parts, []).err().unwrap();
    assert!(
        error.to_string().contains("`Optimizer::initial_lrs`"),
        "{error}"
    );
    assert_eq!(optimizer.group_momentums(), [None]);
    for (group, message) in [(0, "has no momentum"), (1, "there is no group 1")] {
        let error = optimizer.set_group_momentum(group, 0.9).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}
