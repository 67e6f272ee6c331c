//! Full backward hooks: the values that they see, where they run and what they keep alive.

use std::sync::{Arc, Mutex};

use module_nn::prelude::*;
use module_nn::{BackwardCall, BackwardOptions, IndexMap, hooks};

use super::input;

/// Doubles each tensor, whatever structure contains them.
#[derive(Module)]
struct Double {
    marker: Marker,
}

macro_rules! doubles {
    ($($type:ty),*) => {$(
        impl Forward<$type> for Double {
            type Output = $type;

            fn forward(&self, mut input: $type) -> Result<$type> {
                let mut failed = Ok(());
                input.for_each_mut(&mut |x| match x.mul(2.0) {
                    Ok(doubled) => *x = doubled,
                    Err(error) => failed = Err(error),
                });
                failed.map(|()| input)
            }
        }
    )*};
}

#[derive(Tensors)]
struct Pair {
    first: Tensor,
    second: Option<Tensor>,
}

doubles!(
    Tensor,
    (Tensor, Tensor),
    Vec<Tensor>,
    [Tensor; 2],
    IndexMap<String, Tensor>,
    Pair,
    Box<Pair>
);

impl Forward<&Tensor> for Double {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.mul(2.0)
    }
}

fn double() -> Double {
    Double {
        marker: Marker::new(),
    }
}

fn leaf(value: f32) -> Tensor {
    Tensor::from(value).with_grad().unwrap()
}

type Seen = Arc<Mutex<Vec<Vec<Option<f32>>>>>;

fn see(seen: &Seen) -> impl Fn(&mut BackwardCall<'_>) + Send + Sync + 'static {
    let seen = seen.clone();
    move |call| {
        let value = |grad: Option<Tensor>| grad.map(|grad| grad.item::<f32>().unwrap());
        let outputs = call.grad_outputs().into_iter().map(value).collect();
        let inputs = call.grad_inputs().into_iter().map(value).collect();
        seen.lock().unwrap().extend([outputs, inputs]);
    }
}

fn take(seen: &Seen) -> Vec<Vec<Option<f32>>> {
    std::mem::take(&mut *seen.lock().unwrap())
}

fn follows<T: Tensors + 'static>(input: impl FnOnce(Tensor, Tensor) -> T)
where
    Double: Call<T, Output = T>,
{
    let (module, seen) = (double(), Seen::default());
    let _hook = module.register_full_backward_hook(see(&seen));
    let (x, y) = (leaf(1.0), leaf(2.0));
    let output = module.call(input(x.clone(), y.clone())).unwrap();
    let (mut sum, mut factor) = (Tensor::from(0.0_f32), 0.0);
    output.for_each(&mut |tensor| {
        factor += 1.0;
        sum = sum.add(tensor.mul(factor).unwrap()).unwrap();
    });
    sum.backward().unwrap();
    assert_eq!(
        take(&seen),
        [[Some(1.0), Some(2.0)], [Some(2.0), Some(4.0)]]
    );
    let grad = |x: Tensor| x.grad().unwrap().item::<f32>().unwrap();
    assert_eq!((grad(x), grad(y)), (2.0, 4.0));
}

#[test]
fn inputs_and_outputs_of_any_type_are_followed() {
    follows(|x, y| (x, y));
    follows(|x, y| vec![x, y]);
    follows(|x, y| [x, y]);
    follows(|x, y| IndexMap::from([("x".to_owned(), x), ("y".to_owned(), y)]));
    let pair = |first, y| Pair {
        first,
        second: Some(y),
    };
    follows(pair);
    follows(move |x, y| Box::new(pair(x, y)));
}

#[test]
fn a_borrowed_tensor_is_followed_unless_its_gradient_is_asked_for() {
    let (module, seen) = (double(), Seen::default());
    let pre = module.register_full_backward_pre_hook(|_| ());
    module.call(&leaf(1.0)).unwrap().backward().unwrap();
    drop(pre);
    let _hook = module.register_full_backward_hook(see(&seen));
    module.call(&Tensor::from(1.0_f32)).unwrap();
    let error = module.call(&leaf(1.0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Double: register_full_backward_hook: tensors = 1: full backward hooks cannot follow a \
         borrowed tensor; pass it by value, which copies no elements"
    );
}

#[test]
fn hooks_run_where_the_pass_runs_also_when_the_module_is_gone() {
    let seen = Seen::default();
    let y = {
        let module = double();
        let _hook = module.register_full_backward_hook(see(&seen));
        module.call(leaf(1.0)).unwrap()
    };
    std::thread::spawn(move || y.backward().unwrap())
        .join()
        .unwrap();
    assert_eq!(take(&seen), [[Some(1.0)], [Some(2.0)]]);
}

#[test]
fn passes_over_one_graph_at_once_do_not_mix() {
    let (module, seen) = (double(), Seen::default());
    let _hook = module.register_full_backward_hook(see(&seen));
    let (first, second) = module.call((leaf(1.0), leaf(2.0))).unwrap();
    let retain = BackwardOptions::new()
        .retain_graph(true)
        .create_graph(false);
    std::thread::scope(|scope| {
        for thread in 1..=8_u8 {
            let y = first.mul(f64::from(thread)).unwrap().add(&second).unwrap();
            scope.spawn(move || {
                for _ in 0..50 {
                    y.backward_with(&Tensor::from(1.0_f32), retain).unwrap();
                }
            });
        }
    });
    let seen = take(&seen);
    assert_eq!(seen.len(), 8 * 50 * 2);
    for pair in seen.chunks_exact(2) {
        let double = |grad: &Option<f32>| grad.map(|grad| 2.0 * grad);
        assert_eq!(pair[0][1], Some(1.0));
        assert_eq!(pair[1], pair[0].iter().map(double).collect::<Vec<_>>());
    }
}

#[test]
fn a_wrong_replacement_fails_the_pass_and_changes_no_leaf() {
    let (module, x) = (double(), leaf(1.0));
    let wrong =
        module.register_full_backward_hook(|call| call.set_grad_inputs(vec![Some(input())]));
    let error = module
        .call(x.clone())
        .unwrap()
        .backward()
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("backward: the hook registered at "),
        "{error}"
    );
    let end = " on the gradient of `Double`: set_grad_inputs: [] and [1, 2] do not fit: \
               the gradient must have the shape of the input";
    assert!(
        error.contains("backward.rs:") && error.ends_with(end),
        "{error}"
    );
    assert!(x.grad().is_none());
    drop(wrong);
    let integer = |call: &mut hooks::BackwardPreCall<'_>| {
        call.set_grad_outputs(vec![Some(Tensor::from(1_i64))])
    };
    let _wrong = module.register_full_backward_pre_hook(integer);
    assert!(module.call(x.clone()).unwrap().backward().is_err());
    assert!(x.grad().is_none());
}

#[test]
fn without_a_tracked_input_there_is_no_gradient_to_replace() {
    let layer = Linear::new(2, 2).unwrap();
    let hook = layer.register_full_backward_hook(|call| call.set_grad_inputs(vec![None]));
    let backward = || layer.call(input()).unwrap().sum(..).unwrap().backward();
    backward().unwrap();
    drop(hook);
    let _hook = layer.register_full_backward_hook(|call| {
        assert_eq!(call.grad_inputs().len(), 1);
        call.set_grad_inputs(vec![Some(input())])
    });
    let error = backward().unwrap_err().to_string();
    let end = "set_grad_inputs: input = 0: no input of the call requires a gradient, so that all \
               must be `None`";
    assert!(error.ends_with(end), "{error}");
}

#[test]
fn nothing_is_left_of_a_call_whose_backward_never_runs() {
    let (module, alive) = (double(), Arc::new(()));
    let (pre, full) = (alive.clone(), alive.clone());
    let hooks = [
        module.register_full_backward_pre_hook(move |_| drop(pre.clone())),
        module.register_full_backward_hook(move |_| drop(full.clone())),
    ];
    for _ in 0..1000 {
        module.call((leaf(1.0), leaf(2.0))).unwrap();
    }
    assert_eq!(Arc::strong_count(&alive), 3);
    let y = module.call(leaf(1.0)).unwrap();
    drop(hooks);
    assert_eq!(Arc::strong_count(&alive), 3);
    // A pass releases the hooks as it proceeds.
    y.backward().unwrap();
    assert_eq!(Arc::strong_count(&alive), 1);
}

#[test]
fn a_hook_changes_no_bit_of_a_tensor_that_is_given_several_times() {
    let config = MultiheadAttentionConfig::new(6, 2).batch_first(true);
    let attention = fork_rng(0, || config.build()).unwrap();
    let gradient = || -> Result<Vec<f32>> {
        let x = fork_rng(1, || Tensor::randn([4, 8, 6], DType::F32))?.with_grad()?;
        let attended = attention.call((x.clone(), x.clone(), x.clone()))?.0;
        // The fourth use, after which the order of the three others matters.
        attended.add(&x)?.square()?.sum(..)?.backward()?;
        x.grad().expect("a gradient").to_vec()
    };
    let without = gradient().unwrap();
    let _hook = attention.register_full_backward_hook(|_| ());
    let with = gradient().unwrap();
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(with), bits(without));
}

#[test]
fn a_panic_in_a_backward_hook_harms_its_pass_only() {
    let (module, x) = (double(), leaf(1.0));
    let hook = module.register_full_backward_hook(|_| -> () { panic!("on purpose") });
    let y = module.call(x.clone()).unwrap();
    drop(hook);
    let pass = std::panic::AssertUnwindSafe(|| y.backward());
    assert!(std::panic::catch_unwind(pass).is_err());
    assert!(x.grad().is_none());
    module.call(x.clone()).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().item::<f32>().unwrap(), 2.0);
}

#[test]
fn sixteen_threads_with_hooks_on_one_model_never_mix() {
    let model = Sequential::new()
        .push(Linear::new(2, 2).unwrap())
        .push(ReLU::new())
        .push(Linear::new(2, 1).unwrap());
    let record = |thread: f32| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (features, grads, everywhere) = (seen.clone(), seen.clone(), seen.clone());
        let _forward = HookSet::forward(&model, "*", move |call| {
            let line = (call.path().to_owned(), call.output()?.to_vec::<f32>()?);
            features.lock().unwrap().push(line);
            Ok(())
        })
        .unwrap();
        let _backward = HookSet::full_backward_of::<Linear, _>(&model, move |call| {
            for grad in call.grad_outputs().iter().flatten() {
                let line = (call.path().to_owned(), grad.to_vec::<f32>()?);
                grads.lock().unwrap().push(line);
            }
            Ok(())
        })
        .unwrap();
        let _everywhere = hooks::register_module_forward_pre_hook(move |call| {
            let line = (call.module().kind().to_owned(), vec![]);
            everywhere.lock().unwrap().push(line);
        });
        let x = input().mul(f64::from(thread)).unwrap();
        for _ in 0..20 {
            let loss = model.call(x.clone()).unwrap().square().unwrap();
            loss.sum(..).unwrap().backward().unwrap();
        }
        std::mem::take(&mut *seen.lock().unwrap())
    };
    let alone: Vec<_> = (0..16_u8).map(|thread| record(thread.into())).collect();
    assert_eq!(alone[3].len(), 20 * (4 + 3 + 2));
    assert_ne!(alone[3], alone[4]);
    let together: Vec<_> = std::thread::scope(|scope| {
        let record = &record;
        let threads = (0..16_u8).map(|thread| scope.spawn(move || record(thread.into())));
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(together, alone);
}
