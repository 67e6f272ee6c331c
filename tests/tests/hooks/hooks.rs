//! Hooks: what they see, what they can replace, and where they run.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod backward;
mod failing;
mod leaked;
mod sets;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use module_nn::prelude::*;
use module_nn::{ForwardCall, IndexMap, hooks};

#[derive(Module, Forward)]
enum Choice {
    Linear(Linear),
    #[expect(dead_code, reason = "a choice has two sides")]
    Identity(Identity),
}

/// Every way in which a layer can be a member.
#[derive(Module)]
struct Net {
    plain: Linear,
    boxed: Box<dyn Layer>,
    choice: Choice,
    boxed_choice: Box<Choice>,
    shared: Arc<Linear>,
    again: Arc<Linear>,
    list: Vec<Linear>,
    tuple: (Linear, ReLU),
    map: IndexMap<String, Linear>,
    sequence: Sequential,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.boxed.call(self.plain.call(x)?)?;
        let x = self.boxed_choice.call(self.choice.call(x)?)?;
        let mut x = self.again.call(self.shared.call(x)?)?;
        for layer in &self.list {
            x = layer.call(x)?;
        }
        x = self.tuple.1.call(self.tuple.0.call(x)?)?;
        for layer in self.map.values() {
            x = layer.call(x)?;
        }
        self.sequence.call(x)
    }
}

fn linear() -> Linear {
    Linear::new(2, 2).unwrap()
}

fn net() -> Net {
    let shared = Arc::new(linear());
    Net {
        plain: linear(),
        boxed: Box::new(linear()),
        choice: Choice::Linear(linear()),
        boxed_choice: Box::new(Choice::Linear(linear())),
        again: shared.clone(),
        shared,
        list: vec![linear(), linear()],
        tuple: (linear(), ReLU::new()),
        map: IndexMap::from([("key".to_owned(), linear())]),
        sequence: Sequential::new().push(linear()),
    }
}

fn input() -> Tensor {
    Tensor::from([[1.0_f32, 2.0]])
}

/// Counts the calls of a hook.
#[derive(Clone, Default)]
struct Counter(Rc<Cell<usize>>);

impl Counter {
    fn hook(&self) -> impl Fn(&mut ForwardCall<'_>) + 'static {
        let count = self.0.clone();
        move |_| count.set(count.get() + 1)
    }

    fn take(&self) -> usize {
        self.0.take()
    }
}

#[test]
fn a_hook_by_path_fires_once_for_every_call() {
    let net = net();
    for (path, module) in net.named_modules() {
        let calls = match (module.kind(), path.as_str()) {
            // Lists are not called, and the shared module has two paths.
            ("ModuleList" | "ModuleDict", _) => 0,
            (_, "shared") => 2,
            _ => 1,
        };
        let counter = Counter::default();
        let _hook = net
            .get_submodule(&path)
            .unwrap()
            .register_forward_hook(counter.hook());
        net.call(input()).unwrap();
        assert_eq!(counter.take(), calls, "{path}");
    }
}

#[test]
fn a_hook_by_field_fires_once_for_every_call() {
    let net = net();
    let counter = Counter::default();
    let hook = || counter.hook();
    let fires = |handle, calls: usize, name: &str| {
        net.call(input()).unwrap();
        assert_eq!(counter.take(), calls, "{name}");
        drop::<module_nn::HookHandle<'_>>(handle);
        net.call(input()).unwrap();
        assert_eq!(counter.take(), 0, "{name}, dropped");
    };
    fires(net.plain.register_forward_hook(hook()), 1, "plain");
    fires(net.boxed.register_forward_hook(hook()), 1, "boxed");
    fires(net.choice.register_forward_hook(hook()), 1, "choice");
    fires(
        net.boxed_choice.register_forward_hook(hook()),
        1,
        "boxed choice",
    );
    fires(net.shared.register_forward_hook(hook()), 2, "shared");
    fires(net.again.register_forward_hook(hook()), 2, "again");
    fires(net.list[1].register_forward_hook(hook()), 1, "list");
    fires(net.tuple.0.register_forward_hook(hook()), 1, "tuple");
    fires(net.map["key"].register_forward_hook(hook()), 1, "map");
    let first = net.sequence.layer(0).unwrap();
    fires(first.register_forward_hook(hook()), 1, "sequence");
    fires(net.register_forward_hook(hook()), 1, "root");
}

#[test]
fn field_and_path_of_a_choice_are_one_place() {
    let net = net();
    let order = Rc::new(RefCell::new(Vec::new()));
    let hook = |name: &'static str| {
        let order = order.clone();
        move |call: &mut ForwardCall<'_>| {
            assert_eq!(call.module().kind(), "Linear");
            order.borrow_mut().push(name);
        }
    };
    let _field = net.choice.register_forward_hook(hook("field"));
    let by_path = net.get_submodule("choice").unwrap();
    let _path = by_path.register_forward_hook(hook("path"));
    net.call(input()).unwrap();
    let mut fired = order.take();
    fired.sort_unstable();
    assert_eq!(fired, ["field", "path"]);
}

#[test]
fn a_hook_on_every_module_fires_once_for_every_call_of_one() {
    let (net, counter) = (net(), Counter::default());
    let _hook = hooks::register_module_forward_hook(counter.hook());
    net.call(input()).unwrap();
    // Ten linear layers, of which one is called twice, a ReLU, a sequence and the network.
    assert_eq!(counter.take(), 14);
}

#[test]
fn handles_can_be_dropped_in_any_order() {
    let layer = linear();
    let counter = Counter::default();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
        let handles = [(); 3].map(|()| Some(layer.register_forward_hook(counter.hook())));
        let mut handles = handles;
        for (dropped, place) in order.into_iter().enumerate() {
            layer.call(input()).unwrap();
            assert_eq!(counter.take(), 3 - dropped);
            handles[place] = None;
        }
        layer.call(input()).unwrap();
        assert_eq!(counter.take(), 0);
    }
}

#[test]
fn hooks_see_detached_tensors_unless_they_ask() {
    let layer = linear();
    let _before = layer.register_forward_pre_hook(|call| {
        assert!(call.inputs().iter().all(|x| !x.requires_grad()));
        assert!(call.tracked_inputs().iter().all(Tensor::requires_grad));
    });
    let _after = layer.register_forward_hook(|call| {
        assert!(call.inputs().iter().all(|x| !x.requires_grad()));
        assert!(call.outputs().iter().all(|y| !y.requires_grad()));
        assert!(!call.output().unwrap().requires_grad());
        assert!(call.tracked_outputs().iter().all(Tensor::requires_grad));
    });
    assert!(
        layer
            .call(input().with_grad().unwrap())
            .unwrap()
            .requires_grad()
    );
}

#[test]
fn a_tracked_replacement_is_part_of_the_graph() {
    let layer = Identity::new();
    let _hook = layer.register_forward_hook(|call| {
        let y = call.tracked_outputs()[0].mul(3.0)?;
        call.set_outputs(vec![y])
    });
    let x = input().with_grad().unwrap();
    let y = layer.call(x.clone()).unwrap();
    y.sum(..).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), [3.0, 3.0]);
}

#[test]
fn hooks_see_every_tensor_of_a_pair() {
    let loss = CrossEntropyLoss::new();
    let _hook = loss.register_forward_pre_hook(|call| {
        let [logits, target] = call.inputs().try_into().unwrap();
        assert_eq!(target.dtype(), DType::I64);
        call.set_inputs(vec![logits.zeros_like()?, target])
    });
    let pair = (Tensor::from([[9.0_f32, 0.0]]), Tensor::from([1_i64]));
    let value = loss.call(pair).unwrap().item::<f32>().unwrap();
    assert_eq!(value, 2.0_f32.ln());
}

#[test]
fn another_number_of_tensors_is_an_error_with_both_numbers() {
    let loss = CrossEntropyLoss::new();
    let pair = || (Tensor::from([[9.0_f32, 0.0]]), Tensor::from([1_i64]));
    let before = loss.register_forward_pre_hook(|call| call.set_inputs(vec![]));
    assert_eq!(
        loss.call(pair()).unwrap_err().to_string(),
        "CrossEntropyLoss: set_inputs: count = 0: must be the number of tensors, 2"
    );
    drop(before);
    let before = loss.register_forward_pre_hook(|call| {
        let x = call.input()?;
        call.set_input(x)
    });
    assert_eq!(
        loss.call(pair()).unwrap_err().to_string(),
        "CrossEntropyLoss: set_input: count = 1: must be the number of tensors, 2"
    );
    drop(before);
    let one = loss.register_forward_hook(|call| call.set_output(Tensor::from(3.0_f32)));
    assert_eq!(loss.call(pair()).unwrap().item::<f32>().unwrap(), 3.0);
    drop(one);
    let _after = loss.register_forward_hook(|call| {
        let y = call.output()?;
        call.set_outputs(vec![y.clone(), y])
    });
    assert_eq!(
        loss.call(pair()).unwrap_err().to_string(),
        "CrossEntropyLoss: set_outputs: count = 2: must be the number of tensors, 1"
    );
}

#[test]
fn an_error_in_a_hook_fails_the_call_with_the_path_of_the_module() {
    let net = net();
    let counter = Counter::default();
    let fail = |_: &mut ForwardCall<'_>| -> Result<()> {
        Err(ErrorKind::Custom("the hook refuses".into()).into())
    };
    let failing = net.list[1].register_forward_hook(fail);
    let _later = net.list[1].register_forward_hook(counter.hook());
    let error = net.call(input()).unwrap_err();
    assert_eq!(error.to_string(), "list.1 (Linear): the hook refuses");
    assert_eq!(counter.take(), 0);
    drop(failing);
    net.call(input()).unwrap();
    assert_eq!(counter.take(), 1);
}

#[test]
fn a_pre_hook_that_fails_keeps_forward_from_running() {
    let norm = BatchNorm1d::new(2).unwrap();
    let _hook = norm.register_forward_pre_hook(|_| -> Result<()> {
        Err(ErrorKind::Custom("the hook refuses".into()).into())
    });
    let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    assert!(norm.call(x).is_err());
    let counter = norm.get_buffer("num_batches_tracked").unwrap();
    assert_eq!(counter.tensor().item::<i64>().unwrap(), 0);
}

#[test]
fn a_hook_that_panics_leaves_the_others_in_order() {
    let layer = linear();
    let counter = Counter::default();
    let panicking = layer.register_forward_hook(|_| -> () { panic!("on purpose") });
    let _hook = layer.register_forward_hook(counter.hook());
    let call = || catch_unwind(AssertUnwindSafe(|| layer.call(input())));
    assert!(call().is_err());
    drop(panicking);
    call().unwrap().unwrap();
    assert_eq!(counter.take(), 1);
}

#[test]
fn a_hook_may_call_modules() {
    let (layer, probe) = (linear(), Rc::new(linear()));
    let counter = Counter::default();
    let _on_probe_counts = {
        // The handle borrows its module, so the hook uses another pointer to it.
        let inner = probe.clone();
        layer.register_forward_hook(move |call| {
            let y = inner.call(call.output()?)?;
            call.set_outputs(vec![y])
        })
    };
    let _probe = probe.register_forward_hook(counter.hook());
    layer.call(input()).unwrap();
    assert_eq!(counter.take(), 1);
}

#[test]
fn hooks_stay_on_their_thread() {
    let net = net();
    let counter = Counter::default();
    let _hook = net.plain.register_forward_hook(counter.hook());
    std::thread::scope(|scope| scope.spawn(|| net.call(input()).map(drop)).join().unwrap())
        .unwrap();
    assert_eq!(counter.take(), 0);
    net.call(input()).unwrap();
    assert_eq!(counter.take(), 1);
}

#[test]
fn hooks_of_equal_modules_do_not_mix() {
    let layers = [ReLU::new(), ReLU::new(), ReLU::new()];
    let counters = [(); 3].map(|()| Counter::default());
    let _hooks: Vec<_> = layers
        .iter()
        .zip(&counters)
        .map(|(layer, counter)| layer.register_forward_hook(counter.hook()))
        .collect();
    layers[1].call(input()).unwrap();
    assert_eq!(counters.each_ref().map(Counter::take), [0, 1, 0]);
}
