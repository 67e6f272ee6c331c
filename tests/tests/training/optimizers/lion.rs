//! A user-written optimizer that the library does not have.

use module_nn::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Run, goes_on, network, regress};

/// Chen et al., *Symbolic Discovery of Optimization Algorithms* (2023).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Lion {
    lr: f64,
    betas: (f64, f64),
    weight_decay: f64,
}

impl UpdateRule for Lion {
    const NAME: &'static str = "Lion";
    type State = Tensor;

    fn lr(&self) -> f64 {
        self.lr
    }

    fn set_lr(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn update(&self, value: &Tensor, grad: &Tensor, state: &mut Option<Tensor>) -> Result<Tensor> {
        let (beta1, beta2) = self.betas;
        let momentum = match state {
            Some(momentum) => momentum.clone(),
            None => value.zeros_like()?,
        };
        let direction = momentum.mul(beta1)?.add_scaled(grad, 1.0 - beta1)?.sign()?;
        *state = Some(momentum.mul(beta2)?.add_scaled(grad, 1.0 - beta2)?);
        let value = value.mul(1.0 - self.lr * self.weight_decay)?;
        value.add_scaled(&direction, -self.lr)
    }
}

fn lion(lr: f64) -> Lion {
    let (betas, weight_decay) = ((0.9, 0.99), 0.1);
    Lion {
        lr,
        betas,
        weight_decay,
    }
}

#[test]
fn a_rule_of_a_user_trains_as_recorded() {
    let run = Run::read("lion");
    let beta = |i: usize| run.case["betas"][i].as_f64().expect("a number");
    let rule = Lion {
        lr: run.number("lr"),
        betas: (beta(0), beta(1)),
        weight_decay: run.number("weight_decay"),
    };
    let model = network(3, 2);
    run.set_initial(&model, "");
    let mut optimizer = rule.build(&model).unwrap();
    for step in 0..20 {
        let (x, y) = (run.row("x", step), run.row("y", step));
        run.check_loss(step, &regress(&model, &mut optimizer, x, &y));
    }
    run.check_end(&model, "");
}

#[test]
fn a_rule_of_a_user_has_groups_and_checkpoints() {
    goes_on("lion", |model| {
        let groups = lion(0.1).group("**.bias", |lion| Lion {
            lr: 0.3,
            weight_decay: 0.0,
            ..lion
        });
        Ok(Box::new(groups.build(model)?))
    });
}

#[test]
fn the_state_of_a_rule_of_a_user_is_told_from_others() {
    let model = network(3, 2);
    let mut optimizer = lion(0.1).build(&model).unwrap();
    let sgd = SGD::new(&model, 0.1).unwrap();
    let error = optimizer.load_state(&sgd.state().unwrap()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("it is the state of SGD, and this is Lion"),
        "{error}"
    );
    assert_eq!(optimizer.groups()[0].options, lion(0.1));
    assert_eq!(
        optimizer.groups()[0].parameters,
        ["0.weight", "0.bias", "2.weight", "2.bias"]
    );
}
