use super::Parameter;
use crate::module::ConstantInit;
use crate::{Error, MAX_RANK, Result, Tensor, deferred};

fn total(x: &Tensor) -> Tensor {
    x.sum(.., false).unwrap()
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
fn a_parameter_that_is_frozen_meanwhile_calls_none() -> Result<()> {
    let weight = Parameter::new(Tensor::from([1.0_f64]))?;
    let _hook = weight.register_post_accumulate_grad_hook(|_| Err(Error::custom("must not run")));
    let y = weight.tensor().mul(2.0)?.sum(.., false)?;
    weight.set_requires_grad(false);
    y.backward()?;
    assert!(weight.grad().is_none());
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
