//! A module runs with other values, as in `torch.func.functional_call`, and does not change.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

use module_nn::prelude::*;
use module_nn::{BackwardOptions, FunctionalCall, IndexMap, ValueProblems, autograd};
use module_tests::golden::{self, Tolerance, compare};

use super::{Net, dtype, input, same, trained};

#[test]
fn gradients_of_gradient_steps_are_those_of_pytorch() {
    let (_, recorded) = golden::load("averaging.safetensors");
    for name in ["f32", "f64"] {
        let of = |rest: &str| {
            let key = format!("meta/{name}/{rest}");
            recorded.get(&key).expect(&key).clone()
        };
        let check = |value: &Tensor, rest: &str, tolerance: Tolerance| {
            compare(value, &of(rest), tolerance)
                .unwrap_or_else(|text| panic!("{name}: {rest}: {text}"));
        };
        let net = Net::new(dtype(name), false);
        net.set(&recorded, &format!("meta/{name}/own"));
        let before = net.values();
        let own: IndexMap<String, Tensor> = net
            .named_parameters()
            .map(|(name, parameter)| (name, parameter.detach().with_grad().unwrap()))
            .collect();
        let calls = FunctionalCall::new(&net).strict(true);
        let mut buffers: IndexMap<String, Tensor> = net
            .named_buffers()
            .map(|(name, buffer)| (name, buffer.tensor()))
            .collect();
        let mut loss = |params: &IndexMap<String, Tensor>, x: Tensor| {
            let state = params.iter().chain(&buffers);
            let (output, after) = calls.call_with_buffers(state, x).unwrap();
            buffers = after.into_iter().collect();
            output.square().unwrap().mean(..).unwrap()
        };
        let mut params = own.clone();
        for _ in 0..2 {
            let inner = loss(&params, of("support"));
            let inputs: Vec<&Tensor> = params.values().collect();
            let keep = BackwardOptions::new().create_graph(true);
            let grads = autograd::grad(&[&inner], &inputs, keep).unwrap();
            let moved = params.iter().zip(grads).map(|((name, value), grad)| {
                let moved = value.add_scaled(&grad.unwrap(), -0.05).unwrap();
                (name.clone(), moved)
            });
            params = moved.collect();
        }
        let outer = loss(&params, of("query"));
        outer.backward().unwrap();
        check(&outer.detach(), "loss", Tolerance::CONTRACTION);
        for (name, value) in &own {
            let step = params[name].detach();
            check(&step, &format!("step/{name}"), Tolerance::CONTRACTION);
            let grad = value.grad().unwrap();
            check(&grad, &format!("grad/{name}"), Tolerance::DIFFERENCE);
        }
        for (name, value) in &buffers {
            check(value, &format!("buffer/{name}"), Tolerance::CONTRACTION);
        }
        // PyTorch's module is unchanged, and so is ours.
        for (name, value) in net.values() {
            check(&value, &format!("own/{name}"), Tolerance::EXACT);
        }
        assert!(same(&net.values(), &before));
        assert!(net.parameters().all(|parameter| parameter.grad().is_none()));
    }
}

/// A net and the values of another one, whose output differs.
fn two() -> (Net, StateDict, Tensor) {
    let (net, other) = (trained(), trained());
    for parameter in other.parameters() {
        parameter.set(parameter.detach().mul(0.5).unwrap()).unwrap();
    }
    other.scale.set(Tensor::from([3.0_f32, 4.0])).unwrap();
    let state = other.state_dict().unwrap();
    let output = other.call(input()).unwrap().detach();
    (net, state, output)
}

#[test]
fn one_module_runs_with_the_state_of_another() {
    let (net, state, expected) = two();
    let before = net.values();
    let output = functional_call(&net, &state, input()).unwrap();
    assert!(output.equal(&expected).unwrap());
    assert!(same(&net.values(), &before));
    assert!(!net.call(input()).unwrap().equal(&expected).unwrap());
}

#[test]
fn missing_values_are_the_modules_own() {
    let net = trained();
    let before = net.values();
    let w1 = Tensor::ones([3, 4], DType::F32)
        .unwrap()
        .with_grad()
        .unwrap();
    let output = functional_call(&net, [("w1", &w1)], input()).unwrap();
    output
        .square()
        .unwrap()
        .sum(..)
        .unwrap()
        .backward()
        .unwrap();
    // The gradients flow to the given tensor, and to the parameters that were not given.
    assert!(w1.grad().is_some() && net.w1.grad().is_none());
    assert!(net.w2.grad().is_some() && net.frozen.grad().is_none());
    // The pass updated statistics and counters, but not those of the module.
    assert!(same(&net.values(), &before));
    let calls = FunctionalCall::new(&net);
    let (_, buffers) = calls.call_with_buffers([("w1", &w1)], input()).unwrap();
    let count = |state: &StateDict| state.get("count").unwrap().item::<i64>().unwrap();
    assert_eq!(count(&buffers), count(&before) + 3);
    assert!(buffers.keys().eq(net.named_buffers().map(|(name, _)| name)));
    assert!(!buffers.get("norm.running_mean").unwrap().requires_grad());
}

#[test]
fn a_tied_tensor_is_given_under_one_of_its_names() {
    let net = trained();
    let by = |state: &[(&str, &Tensor)]| {
        functional_call(&net, state.iter().copied(), input()).map(|output| output.detach())
    };
    let w = Tensor::ones([4, 4], DType::F32).unwrap();
    let (first, second) = (by(&[("w2", &w)]).unwrap(), by(&[("tied", &w)]).unwrap());
    assert!(first.equal(&second).unwrap());
    assert!(
        by(&[("w2", &w), ("tied", &w)])
            .unwrap()
            .equal(&first)
            .unwrap()
    );
    let other = w.mul(2.0).unwrap();
    let error = by(&[("w2", &w), ("tied", &other)]).unwrap_err();
    let problems: &ValueProblems = error.downcast_ref().unwrap();
    assert_eq!(problems.untied, [("w2".to_owned(), "tied".to_owned())]);
    // In a graph, two leaves with the same values are distinct, even if they share elements.
    let leaf = || w.clone().with_grad().unwrap();
    let (first, second) = (leaf(), leaf());
    assert!(by(&[("w2", &first), ("tied", &first)]).is_ok());
    assert!(by(&[("w2", &first), ("tied", &second)]).is_err());
    assert!(by(&[("w2", &first), ("tied", &w)]).is_err());
}

#[test]
fn wrong_values_are_refused_before_anything_runs() {
    let net = trained();
    let one = Tensor::from(1.0_f32);
    let w1 = Tensor::ones([3, 4], DType::F32).unwrap();
    let state = [("w11", &one), ("norm.bias", &one), ("w1", &w1), ("w1", &w1)];
    let before = net.values();
    assert_eq!(
        functional_call(&net, state, input())
            .unwrap_err()
            .to_string(),
        "functional_call: the values do not fit Net:\n\
         \t`w11` is none of its keys; did you mean `w1`?\n\
         \t`w1` is given twice; leave one out\n\
         \t`norm.bias` has shape [4], and [] is given"
    );
    let strict = FunctionalCall::new(&net).strict(true);
    let error = strict.call([("w1", &w1), ("tied", &net.w2.tensor())], input());
    let error = error.unwrap_err();
    let problems: &ValueProblems = error.downcast_ref().unwrap();
    let missing = [
        "frozen",
        "count",
        "scale",
        "flag",
        "norm.weight",
        "norm.bias",
        "norm.running_mean",
        "norm.running_var",
        "norm.num_batches_tracked",
    ];
    assert_eq!(problems.missing, missing);
    assert!(same(&net.values(), &before));
}

#[test]
fn a_module_is_as_it_was_after_an_error_or_a_panic() {
    let (net, state, expected) = two();
    let before = net.values();
    assert!(functional_call(&net, &state, Tensor::from([1.0_f32])).is_err());
    assert!(same(&net.values(), &before));
    let calls = FunctionalCall::new(&net);
    let result = catch_unwind(AssertUnwindSafe(|| {
        calls.run(&state, || -> Result<()> {
            net.call(input())?;
            panic!("on purpose")
        })
    }));
    assert!(result.is_err());
    assert!(same(&net.values(), &before));
    let again = functional_call(&net, &state, input()).unwrap();
    assert!(again.equal(&expected).unwrap());
}

#[test]
fn calls_are_nested() {
    let net = trained();
    let before = net.values();
    let [ones, twos] = [1.0, 2.0].map(|value| Tensor::full([4], value, DType::F32).unwrap());
    let w1 = Tensor::ones([3, 4], DType::F32).unwrap();
    let see = || [net.w1.detach(), net.frozen.detach()];
    let same = |seen: [Tensor; 2], expected: [&Tensor; 2]| {
        seen.iter().zip(expected).all(|(a, b)| a.equal(b).unwrap())
    };
    let calls = FunctionalCall::new(&net);
    calls
        .run([("w1", &w1), ("frozen", &ones)], || {
            assert!(same(see(), [&w1, &ones]));
            calls.run([("frozen", &twos)], || {
                // Values that are not given come from the enclosing call.
                assert!(same(see(), [&w1, &twos]));
                net.count.set(Tensor::from(77_i64))
            })?;
            assert!(same(see(), [&w1, &ones]));
            // The inner call set its own counter.
            assert_eq!(
                net.count.tensor().item::<i64>()?,
                before.get("count").unwrap().item::<i64>()?
            );
            // A part by itself has its own scope.
            let weight = [("weight", &twos)];
            FunctionalCall::new(&net.norm).run(weight, || {
                assert!(net.norm.weight().get().unwrap().detach().equal(&twos)?);
                assert!(same(see(), [&w1, &ones]));
                Ok(())
            })
        })
        .unwrap();
    assert!(super::same(&net.values(), &before));
}

#[test]
fn other_threads_see_the_modules_own_values() {
    let (net, state, _) = two();
    net.eval();
    let own = net.call(input()).unwrap().detach();
    let before = net.values();
    let meet = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            meet.wait();
            for _ in 0..50 {
                assert!(net.call(input()).unwrap().detach().equal(&own).unwrap());
            }
            meet.wait();
        });
        let calls = FunctionalCall::new(&net);
        let within = calls.run(&state, || {
            meet.wait();
            let mut seen = Vec::new();
            for _ in 0..50 {
                seen.push(net.call(input())?);
            }
            meet.wait();
            Ok(seen)
        });
        let within = within.unwrap();
        assert!(
            within
                .iter()
                .all(|output| output.equal(&within[0]).unwrap())
        );
        assert!(!within[0].equal(&own).unwrap());
    });
    // The other thread counted its calls in the module, and this one did not.
    let count = |state: &StateDict| state.get("count").unwrap().item::<i64>().unwrap();
    assert_eq!(count(&net.values()), count(&before) + 150);
}

#[test]
fn setting_values_during_a_call_sets_the_given_ones() {
    let (net, state, _) = two();
    let before = net.values();
    FunctionalCall::new(&net)
        .run(&state, || {
            let ones = Tensor::ones([3, 4], DType::F32)?;
            net.w1.set(ones.clone())?;
            assert!(net.w1.tensor().equal(&ones)?);
            assert!(net.w1.set(Tensor::ones([4], DType::F32)?).is_err());
            drop(net.load_state_dict(&state)?);
            assert!(same(&net.state_dict()?, &state));
            net.double()?;
            assert_eq!(net.w1.dtype(), DType::F64);
            net.norm.reset_running_stats()?;
            let mut optimizer = SGD::new(&net, 0.1)?;
            net.w1.set_grad(net.w1.detach())?;
            optimizer.step(&net)
        })
        .unwrap();
    assert!(same(&net.values(), &before));
}

#[test]
fn dtypes_may_differ_from_those_of_the_module() {
    let linear = Linear::new(2, 1).unwrap();
    let state = linear.state_dict().unwrap();
    let double =
        |(key, value): (&str, &Tensor)| (key.to_owned(), value.to_dtype(DType::F64).unwrap());
    let double: Vec<(String, Tensor)> = state.iter().map(double).collect();
    let x = Tensor::from([[1.0_f64, 2.0]]);
    let output = functional_call(&linear, double, x).unwrap();
    assert_eq!(output.dtype(), DType::F64);
    assert_eq!(linear.weight().dtype(), DType::F32);
}

#[test]
fn hooks_and_extra_states_work_in_functional_calls() {
    #[derive(Module)]
    struct Named {
        weight: Parameter,
        words: ExtraState,
    }

    impl Forward for Named {
        type Output = Tensor;

        fn forward(&self, x: Tensor) -> Result<Tensor> {
            let words: Vec<String> = self.words.value()?;
            self.words.set_value(&["changed"])?;
            x.mul(self.weight.tensor())?.mul(words.len() as f64)
        }
    }

    let named = |words: &[&str]| Named {
        weight: Parameter::new(Tensor::from(2.0_f32)).unwrap(),
        words: ExtraState::from_value(words).unwrap(),
    };
    let (one, three) = (named(&["a"]), named(&["a", "b", "c"]));
    let hook = one.register_forward_hook(|call| {
        let more = call.output()?.add(1.0)?;
        call.set_output(more)
    });
    let state = three.state_dict().unwrap();
    let output = functional_call(&one, &state, Tensor::from(1.0_f32)).unwrap();
    assert_eq!(output.item::<f32>().unwrap(), 7.0);
    assert_eq!(one.words.value::<Vec<String>>().unwrap(), ["a"]);
    drop(hook);
}
