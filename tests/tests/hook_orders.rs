//! Scenarios with forward hooks log what they log in PyTorch; `golden/hook_orders.py` states them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use module_nn::prelude::*;
use module_nn::{ForwardCall, ForwardPreCall, HookHandle, is_grad_enabled};
use module_tests::golden;
use serde_json::Value;

/// Scenarios that cannot be written yet, with the reason.
const NOT_YET: [(&str, &str); 13] = [
    ("prepend", NO_PREPEND),
    ("global_before_own", NO_GLOBAL),
    ("global_replaces", NO_GLOBAL),
    ("failure", NO_ALWAYS),
    ("failing_hook", NO_ALWAYS),
    ("keyword_arguments", "there are no keyword arguments"),
    ("backward_nested", NO_BACKWARD),
    ("backward_replaced", NO_BACKWARD),
    ("backward_diamond", NO_BACKWARD),
    ("backward_without_tracked_input", NO_BACKWARD),
    ("backward_two_inputs_one_tracked", NO_BACKWARD),
    ("backward_hook_added_or_removed_after_forward", NO_BACKWARD),
    (
        "removed_twice",
        "removing takes the handle, so that it cannot be done twice",
    ),
];
const NO_PREPEND: &str = "there is no way to register a hook before others";
const NO_GLOBAL: &str = "there are no hooks on every module";
const NO_ALWAYS: &str = "there are no hooks that run when a call fails";
const NO_BACKWARD: &str = "there are no backward hooks";

#[derive(Module)]
struct Add {
    number: f64,
}

impl Forward for Add {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        x.add(self.number)
    }
}

/// The child is called twice.
#[derive(Module)]
struct Twice {
    child: Add,
}

impl Forward for Twice {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let first = self.child.call(x.clone())?;
        first.add(self.child.call(x.mul(10.0)?)?)
    }
}

#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn write(&self, line: impl Into<String>) {
        self.0.borrow_mut().push(line.into());
    }

    fn pre(&self, name: &str) -> impl Fn(&mut ForwardPreCall<'_>) + 'static {
        let (log, name) = (self.clone(), name.to_owned());
        move |call| log.write(format!("pre {name} {}", number(&call.inputs()[0])))
    }

    fn post(&self, name: &str) -> impl Fn(&mut ForwardCall<'_>) + 'static {
        let (log, name) = (self.clone(), name.to_owned());
        move |call| {
            let (x, y) = (number(&call.inputs()[0]), number(&call.outputs()[0]));
            log.write(format!("post {name} {x} -> {y}"));
        }
    }
}

fn number(x: &Tensor) -> f32 {
    x.item().unwrap()
}

fn one() -> Tensor {
    Tensor::from(1.0_f32)
}

fn add(number: f64) -> Add {
    Add { number }
}

fn nest() -> Sequential {
    let inner = Sequential::new().push(add(2.0)).push(add(3.0));
    Sequential::new().push(add(1.0)).push(inner)
}

/// A module that is never freed, so that hooks can own handles of it.
fn forever<M: Module>(module: M) -> &'static M {
    Box::leak(Box::new(module))
}

fn scale(factor: f64) -> impl Fn(&mut ForwardPreCall<'_>) -> Result<()> + 'static {
    move |call| {
        let x = call.inputs()[0].mul(factor)?;
        call.set_inputs(vec![x])
    }
}

fn scale_output(factor: f64) -> impl Fn(&mut ForwardCall<'_>) -> Result<()> + 'static {
    move |call| {
        let y = call.output()?.mul(factor)?;
        call.set_outputs(vec![y])
    }
}

fn path(name: &str) -> &str {
    if name.is_empty() { "root" } else { name }
}

fn nested(log: &Log) -> Result<()> {
    let net = nest();
    let mut hooks = Vec::new();
    for (name, module) in net.named_modules() {
        hooks.push(module.register_forward_hook(log.post(path(&name))));
        hooks.push(module.register_forward_pre_hook(log.pre(path(&name))));
    }
    net.call(one()).map(drop)
}

fn registration_order(log: &Log) -> Result<()> {
    let add = add(1.0);
    let mut hooks = Vec::new();
    for name in ["a", "b", "c"] {
        hooks.push(add.register_forward_pre_hook(log.pre(name)));
        hooks.push(add.register_forward_hook(log.post(name)));
    }
    add.call(one()).map(drop)
}

fn replaced_input(log: &Log) -> Result<()> {
    let add = add(1.0);
    let plus = |call: &mut ForwardPreCall<'_>| {
        let x = call.inputs()[0].add(5.0)?;
        call.set_inputs(vec![x])
    };
    let _hooks = [
        add.register_forward_pre_hook(log.pre("a")),
        add.register_forward_pre_hook(scale(10.0)),
        add.register_forward_pre_hook(log.pre("b")),
        add.register_forward_pre_hook(plus),
        add.register_forward_pre_hook(log.pre("c")),
        add.register_forward_hook(log.post("end")),
    ];
    log.write(format!("result {}", number(&add.call(one())?)));
    Ok(())
}

fn replaced_output(log: &Log) -> Result<()> {
    let add = add(1.0);
    let _hooks = [
        add.register_forward_hook(log.post("a")),
        add.register_forward_hook(scale_output(10.0)),
        add.register_forward_hook(log.post("b")),
        add.register_forward_hook(|_| ()),
        add.register_forward_hook(log.post("c")),
    ];
    log.write(format!("result {}", number(&add.call(one())?)));
    Ok(())
}

fn replaced_in_the_middle(log: &Log) -> Result<()> {
    let net = nest();
    let middle = net.get_submodule("1")?;
    let mut hooks = vec![
        middle.register_forward_pre_hook(scale(10.0)),
        middle.register_forward_hook(scale_output(10.0)),
    ];
    for (name, module) in net.named_modules() {
        hooks.push(module.register_forward_hook(log.post(path(&name))));
    }
    log.write(format!("result {}", number(&net.call(one())?)));
    Ok(())
}

fn diamond(log: &Log) -> Result<()> {
    let net = Twice { child: add(1.0) };
    let _hooks = [
        net.register_forward_pre_hook(log.pre("root")),
        net.child.register_forward_pre_hook(log.pre("child")),
        net.child.register_forward_hook(log.post("child")),
        net.register_forward_hook(log.post("root")),
    ];
    net.call(one()).map(drop)
}

fn shared_in_a_sequential(log: &Log) -> Result<()> {
    let shared = Arc::new(add(1.0));
    let net = Sequential::new()
        .push(shared.clone())
        .push(add(5.0))
        .push(shared.clone());
    let _hook = shared.register_forward_hook(log.post("shared"));
    net.call(one()).map(drop)
}

/// Where a hook finds the handles that it removes.
type Handles = Rc<RefCell<Vec<HookHandle<'static>>>>;

fn removed_during_the_call(log: &Log) -> Result<()> {
    let add = forever(add(1.0));
    let handles = Handles::default();
    let (removed, remover) = (handles.clone(), log.clone());
    let remover = add.register_forward_hook(move |_| {
        remover.write("remover");
        removed.take();
    });
    let later = add.register_forward_hook(log.post("later"));
    handles.borrow_mut().extend([remover, later]);
    add.call(one())?;
    log.write("second call");
    add.call(one()).map(drop)
}

fn post_hook_removed_by_a_pre_hook(log: &Log) -> Result<()> {
    let add = forever(add(1.0));
    let handles = Handles::default();
    handles
        .borrow_mut()
        .push(add.register_forward_hook(log.post("post")));
    let (removed, remover) = (handles, log.clone());
    let _hooks = [
        add.register_forward_pre_hook(move |_| {
            remover.write("remove");
            removed.take();
        }),
        add.register_forward_hook(log.post("stays")),
    ];
    add.call(one()).map(drop)
}

fn added_during_the_call(log: &Log) -> Result<()> {
    let add = forever(add(1.0));
    let (handles, adder) = (Handles::default(), log.clone());
    let _hook = add.register_forward_hook(move |_| {
        adder.write("adder");
        let added = add.register_forward_hook(adder.post("added"));
        handles.borrow_mut().push(added);
    });
    add.call(one())?;
    log.write("second call");
    add.call(one()).map(drop)
}

fn post_hook_added_by_a_pre_hook(log: &Log) -> Result<()> {
    let add = forever(add(1.0));
    let (handles, adder) = (Handles::default(), log.clone());
    let _hook = add.register_forward_pre_hook(move |_| {
        adder.write("adder");
        let added = add.register_forward_hook(adder.post("added"));
        handles.borrow_mut().push(added);
    });
    add.call(one()).map(drop)
}

fn child_hook_removed_by_its_parent(log: &Log) -> Result<()> {
    let net = forever(nest());
    let handles = Handles::default();
    let child = net.get_submodule("1.1")?;
    handles
        .borrow_mut()
        .push(child.register_forward_hook(log.post("1.1")));
    let remover = log.clone();
    let parent = net.get_submodule("1")?;
    let _hook = parent.register_forward_pre_hook(move |_| {
        remover.write("remove");
        handles.take();
    });
    net.call(one()).map(drop)
}

fn registered_twice(log: &Log) -> Result<()> {
    let add = add(1.0);
    let first = add.register_forward_hook(log.post("same"));
    let _second = add.register_forward_hook(log.post("same"));
    add.call(one())?;
    log.write("first removed");
    first.remove();
    add.call(one()).map(drop)
}

fn forward_called_directly(log: &Log) -> Result<()> {
    let add = add(1.0);
    let _hook = add.register_forward_pre_hook(log.pre("never"));
    log.write(format!("result {}", number(&add.forward(one())?)));
    Ok(())
}

fn python(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

fn grad_mode(log: &Log) -> Result<()> {
    let add = add(1.0);
    let writer = log.clone();
    let _hook = add.register_forward_hook(move |call| {
        let tracked = call.tracked_outputs()[0].requires_grad();
        let (enabled, tracked) = (python(is_grad_enabled()), python(tracked));
        writer.write(format!("enabled {enabled} tracked {tracked}"));
    });
    let x = one().with_grad().unwrap();
    add.call(x.clone())?;
    no_grad(|| add.call(x)).map(drop)
}

fn modes(log: &Log) -> Result<()> {
    // Only modules whose behaviour differs have a mode.
    let net = Sequential::new().push(Dropout::new(0.0)?).push(add(1.0));
    let writer = log.clone();
    let _hook = net.layer(0)?.register_forward_hook(move |call| {
        let training = python(call.module().is_training());
        writer.write(format!("training {training}"));
    });
    net.eval();
    net.call(one())?;
    net.train();
    net.call(one()).map(drop)
}

type Scenario = fn(&Log) -> Result<()>;

const SCENARIOS: [(&str, Scenario); 16] = [
    ("nested", nested),
    ("registration_order", registration_order),
    ("replaced_input", replaced_input),
    ("replaced_output", replaced_output),
    ("replaced_in_the_middle", replaced_in_the_middle),
    ("diamond", diamond),
    ("shared_in_a_sequential", shared_in_a_sequential),
    ("removed_during_the_call", removed_during_the_call),
    (
        "post_hook_removed_by_a_pre_hook",
        post_hook_removed_by_a_pre_hook,
    ),
    ("added_during_the_call", added_during_the_call),
    (
        "post_hook_added_by_a_pre_hook",
        post_hook_added_by_a_pre_hook,
    ),
    (
        "child_hook_removed_by_its_parent",
        child_hook_removed_by_its_parent,
    ),
    ("registered_twice", registered_twice),
    ("forward_called_directly", forward_called_directly),
    ("grad_mode", grad_mode),
    ("modes", modes),
];

#[test]
fn hooks_run_in_the_order_of_pytorch() {
    let text = std::fs::read_to_string(golden::path("hook_orders.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let mut failures = Vec::new();
    for case in recorded["cases"].as_array().expect("scenarios") {
        let name = case["name"].as_str().expect("a name");
        let Some((_, scenario)) = SCENARIOS.iter().find(|(known, _)| *known == name) else {
            assert!(NOT_YET.iter().any(|(listed, _)| *listed == name), "{name}");
            continue;
        };
        let log = Log::default();
        scenario(&log).unwrap();
        let lines = Value::from(log.0.take());
        if lines != case["log"] {
            failures.push(format!("{name}: {lines}\ninstead of {}", case["log"]));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
