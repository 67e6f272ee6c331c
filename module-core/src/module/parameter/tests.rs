//! Tests of parameters: hooks on gradients, pausing, freezing and the number of dimensions.

use super::Parameter;
use crate::module::ConstantInit;
use crate::{Error, MAX_RANK, Result, Tensor, deferred};

fn total(x: &Tensor) -> Tensor {
    x.sum(..).unwrap()
}

fn grad_of(x: &Tensor) -> Vec<f64> {
    x.grad().unwrap().to_vec().unwrap()
}

#[test]
fn a_hook_on_a_parameter_stays_when_its_value_changes() {
    let weight = Parameter::new(Tensor::from([1.0_f64])).unwrap();
    let double = |grad: &Tensor| grad.mul(2.0).map(Some);
    let hook = weight.tensor().register_hook(double).unwrap();
    weight.set(Tensor::from([5.0_f64])).unwrap();
    total(&weight.tensor()).backward().unwrap();
    assert_eq!(grad_of(&weight.tensor()), [2.0]);
    weight.zero_grad();
    drop(hook);
    total(&weight.tensor()).backward().unwrap();
    assert_eq!(grad_of(&weight.tensor()), [1.0]);
    weight.set_requires_grad(false);
    assert!(weight.tensor().register_hook(double).is_err());
}

#[test]
fn a_parameter_that_is_paused_or_frozen_meanwhile_calls_none() -> Result<()> {
    let ways: [fn(&Parameter); 2] = [|weight| weight.set_requires_grad(false), Parameter::freeze];
    for stop in ways {
        let weight = Parameter::new(Tensor::from([1.0_f64]))?;
        let must_not_run = |_: &Parameter| Err(Error::custom("must not run"));
        let _hook = weight.register_post_accumulate_grad_hook(must_not_run);
        let y = weight.tensor().mul(2.0)?.sum(..)?;
        stop(&weight);
        y.backward()?;
        assert!(weight.grad().is_none());
    }
    Ok(())
}

#[test]
fn only_freezing_drops_the_gradient_and_counts() -> Result<()> {
    let weight = Parameter::new(Tensor::from([1.0_f64]))?;
    total(&weight.tensor()).backward()?;
    for _ in 0..3 {
        weight.set_requires_grad(false);
        assert!(!weight.requires_grad() && !weight.is_frozen());
        assert_eq!(weight.grad().unwrap().item::<f64>()?, 1.0);
        weight.set_requires_grad(true);
    }
    assert_eq!(weight.freezes(), 0);
    weight.freeze();
    assert!(!weight.requires_grad() && weight.is_frozen() && weight.grad().is_none());
    assert_eq!(weight.share().freezes(), 1);
    weight.unfreeze();
    assert!(weight.requires_grad() && !weight.is_frozen());
    // A paused parameter can be frozen, and then counts.
    weight.set_requires_grad(false);
    weight.freeze();
    assert_eq!(weight.freezes(), 2);
    Ok(())
}

#[test]
fn more_dimensions_than_64_are_refused() {
    for rank in [MAX_RANK + 1, 100, 5_000_000] {
        let weight = || Parameter::with_init(vec![1_usize; rank], ConstantInit(0.0));
        assert!(weight().is_err());
        assert!(deferred(weight).is_err());
    }
}
