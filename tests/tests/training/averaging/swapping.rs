//! Values that temporarily replace a model's own, which are restored on every path.

use std::panic::{AssertUnwindSafe, catch_unwind};

use module_nn::optim::AveragingError;
use module_nn::prelude::*;
use module_nn::{ModuleExt, ValueProblems};

use super::{Net, input, same, trained};

/// A net, an average with other values, and the values of both.
fn averaged() -> (Net, EMA, StateDict, StateDict) {
    let net = trained();
    let other = Net::new(DType::F32, true);
    let mut ema = EMA::new(&net, 0.9).unwrap();
    ema.update(&other).unwrap();
    let (own, averaged) = (net.values(), other.values());
    assert!(!same(&own, &averaged));
    (net, ema, own, averaged)
}

#[test]
fn a_guard_swaps_all_values_and_gives_them_back() {
    let (net, ema, own, averaged) = averaged();
    net.w1
        .set_grad(Tensor::ones([3, 4], DType::F32).unwrap())
        .unwrap();
    let guard = ema.swap_in(&net).unwrap();
    assert!(same(&net.values(), &averaged));
    assert!(net.w2.id() == net.tied.id() && net.frozen.is_frozen());
    drop(guard);
    assert!(same(&net.values(), &own));
    assert!(net.w1.grad().is_some() && net.frozen.is_frozen());
}

#[test]
fn the_own_values_come_back_after_an_error() {
    let (net, ema, own, _) = averaged();
    let result = ema.with_averages(&net, || net.call(Tensor::from([1.0_f32])));
    assert!(result.is_err());
    assert!(same(&net.values(), &own));
}

#[test]
fn the_own_values_come_back_after_a_panic() {
    let (net, ema, own, averaged) = averaged();
    let result = catch_unwind(AssertUnwindSafe(|| {
        ema.with_averages(&net, || -> Result<()> {
            assert!(same(&net.values(), &averaged));
            panic!("on purpose")
        })
    }));
    assert!(result.is_err());
    assert!(same(&net.values(), &own));
    // And they can be swapped again.
    assert!(ema.swap_in(&net).is_ok());
}

#[test]
fn the_own_values_come_back_whatever_was_done_meanwhile() {
    let (net, ema, own, _) = averaged();
    {
        let _averaged = ema.swap_in(&net).unwrap();
        net.call(input()).unwrap();
        net.w1
            .set(Tensor::ones([3, 4], DType::F32).unwrap())
            .unwrap();
        net.double().unwrap();
    }
    assert!(same(&net.values(), &own));
}

#[test]
fn a_second_guard_is_refused_while_the_first_lives() {
    let (net, mut ema, own, averaged) = averaged();
    let guard = ema.swap_in(&net).unwrap();
    let error = ema.swap_in(&net).unwrap_err();
    let problems: &ValueProblems = error.downcast_ref().unwrap();
    assert_eq!(problems.swapped[..], ["w1"]);
    // Nor is a part of the model swapped, or an update made of the averaged values.
    assert!(
        net.norm
            .swap_state_dict(&net.norm.state_dict().unwrap())
            .is_err()
    );
    let error = ema.update(&net).unwrap_err();
    assert!(matches!(
        error.downcast_ref(),
        Some(AveragingError::Swapped { name: "EMA", key }) if key == "w1"
    ));
    assert!(same(&net.values(), &averaged));
    drop(guard);
    assert!(same(&net.values(), &own));
    ema.update(&net).unwrap();
}

#[test]
fn a_state_that_does_not_fit_is_refused_and_changes_nothing() {
    let (net, _, own, _) = averaged();
    let one = || Tensor::from(1.0_f32);
    let state = StateDict::from_iter([
        ("w1", Tensor::zeros([3, 4], DType::F32).unwrap()),
        ("frozn", one()),
        ("norm.weight", one()),
        ("w2", Tensor::zeros([4, 4], DType::F32).unwrap()),
        ("tied", Tensor::ones([4, 4], DType::F32).unwrap()),
    ]);
    let error = net.swap_state_dict(&state).unwrap_err();
    assert_eq!(
        error.to_string(),
        "swap_state_dict: the values do not fit Net:\n\
         \t`frozn` is none of its keys; did you mean `frozen`?\n\
         \t`norm.weight` has shape [4], and [] is given\n\
         \t`w2` and `tied` are tied, and different values are given; give one of them"
    );
    assert!(same(&net.values(), &own));
}

#[test]
fn a_state_dict_beside_it_is_never_a_mixture() {
    let zero = || Parameter::new(Tensor::from(0.0_f32)).unwrap();
    let model: Vec<Parameter> = (0..2000).map(|_| zero()).collect();
    let one = Tensor::from(1.0_f32);
    let ones: StateDict = (0..2000).map(|i| (i.to_string(), one.clone())).collect();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            for _ in 0..100 {
                let state = model.state_dict().unwrap();
                let mut values = state.iter().map(|(_, value)| value.item::<f32>().unwrap());
                let first = values.next().unwrap();
                assert!(values.all(|value| value == first));
            }
        });
        while !reader.is_finished() {
            drop(model.swap_state_dict(&ones).unwrap());
        }
        reader.join().unwrap();
    });
}
