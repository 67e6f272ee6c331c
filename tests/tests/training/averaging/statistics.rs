//! `update_bn` produces the same statistics as PyTorch, and changes nothing else in the model.

use std::panic::{AssertUnwindSafe, catch_unwind};

use module_nn::optim::update_bn;
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};

use super::{same, trained};

fn model(name: &str) -> Sequential {
    match name {
        "vectors" => Sequential::new()
            .push(Linear::new(3, 4).unwrap())
            .push(BatchNorm1dConfig::new(4).momentum(0.3).build().unwrap())
            .push(ReLU::new())
            .push(Linear::new(4, 5).unwrap())
            .push(BatchNorm1dConfig::new(5).momentum(None).build().unwrap()),
        _ => Sequential::new()
            .push(Conv2d::new(1, 2, 3).unwrap())
            .push(BatchNorm2d::new(2).unwrap()),
    }
}

#[test]
fn statistics_are_those_of_pytorch() {
    let (case, recorded) = golden::load("averaging.safetensors");
    let cases = case["update_bn"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        let (name, dtype) = (
            case["model"].as_str().unwrap(),
            case["dtype"].as_str().unwrap(),
        );
        let of = |rest: String| {
            let key = format!("bn/{name}/{dtype}/{rest}");
            recorded.get(&key).expect(&key).clone()
        };
        let model = model(name);
        model.to_dtype(super::dtype(dtype)).unwrap();
        let keys: Vec<String> = model
            .state_dict()
            .unwrap()
            .keys()
            .map(str::to_owned)
            .collect();
        let first = keys
            .iter()
            .map(|key| (key.clone(), of(format!("first/{key}"))));
        drop(model.load_state_dict(&first.collect()).unwrap());
        let batch = |i: usize| of(format!("batch/{i}"));
        model.call(batch(0)).unwrap();
        let modes = |model: &Sequential| model.get_submodule("1").unwrap().is_training();
        model.get_submodule("1").unwrap().eval();

        update_bn(&model, (0..3).map(|i| Ok(batch(i)))).unwrap();
        let check = |when: &str| {
            for (key, buffer) in model.named_buffers() {
                let expected = of(format!("{when}/{key}"));
                compare(&buffer.tensor(), &expected, Tolerance::CONTRACTION)
                    .unwrap_or_else(|text| panic!("{case}: {when} {key}: {text}"));
            }
        };
        check("updated");
        // Each module has its own mode again, and its own momentum.
        assert!(!modes(&model) && model.get_submodule("0").is_ok());
        model.train();
        model.call(batch(3)).unwrap();
        check("after");
    }
}

#[test]
fn modes_momentum_and_statistics_are_as_they_were_after_a_failure() {
    let net = trained();
    net.norm.eval();
    let before = net.values();
    let good = || Ok(super::input());
    let results: [Box<dyn Fn() -> Result<()>>; 3] = [
        Box::new(|| update_bn(&net, [good(), Ok(Tensor::from([1.0_f32]))])),
        Box::new(|| update_bn(&net, [good(), Tensor::from([1.0_f32]).reshape([2])])),
        Box::new(|| {
            let panics = (0..2).map(|i| match i {
                0 => good(),
                _ => panic!("on purpose"),
            });
            update_bn(&net, panics)
        }),
    ];
    for result in results {
        let result = catch_unwind(AssertUnwindSafe(result));
        assert!(!matches!(result, Ok(Ok(()))));
        assert!(!net.norm.is_training());
        for name in ["running_mean", "running_var", "num_batches_tracked"] {
            let now = net.norm.get_buffer(name).unwrap().tensor();
            let kept = before.get(&format!("norm.{name}")).unwrap();
            assert!(now.equal(kept).unwrap(), "{name}");
        }
        // The momentum is 0.1 again.
        let (fresh, x) = (
            BatchNorm1d::new(4).unwrap(),
            Tensor::ones([2, 4], DType::F32).unwrap(),
        );
        let norm = &net.norm;
        let kept = norm.state_dict().unwrap();
        drop(fresh.load_state_dict(&kept).unwrap());
        norm.train();
        for norm in [norm, &fresh] {
            norm.call(x.clone()).unwrap();
        }
        assert!(same(
            &norm.state_dict().unwrap(),
            &fresh.state_dict().unwrap()
        ));
        drop(norm.load_state_dict(&kept).unwrap());
        norm.eval();
    }
}

#[test]
fn frozen_statistics_stay_and_a_model_without_any_takes_no_batch() {
    let net = trained();
    net.freeze("norm").unwrap();
    let before = net.norm.state_dict().unwrap();
    update_bn(
        &net,
        std::iter::from_fn(|| -> Option<Result<Tensor>> { panic!("no batch is due") }),
    )
    .unwrap();
    assert!(same(&net.norm.state_dict().unwrap(), &before));
    let linear = Linear::new(3, 1).unwrap();
    update_bn(
        &linear,
        std::iter::from_fn(|| -> Option<Result<Tensor>> { panic!("nor here") }),
    )
    .unwrap();
}

#[test]
fn nothing_is_tracked() {
    let net = trained();
    let seen = std::sync::atomic::AtomicBool::new(false);
    let seen = std::sync::Arc::new(seen);
    let inner = seen.clone();
    let hook = net.register_forward_hook(move |call| {
        let tracked = call.tracked_outputs()[0].requires_grad();
        inner.fetch_or(tracked, std::sync::atomic::Ordering::Relaxed);
    });
    update_bn(&net, [Ok(super::input())]).unwrap();
    assert!(!seen.load(std::sync::atomic::Ordering::Relaxed));
    net.call(super::input()).unwrap();
    assert!(seen.load(std::sync::atomic::Ordering::Relaxed));
    drop(hook);
}
