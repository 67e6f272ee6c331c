//! Scenarios with hooks on modules log the same as in PyTorch; `golden/hook_orders.py` defines them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod always;
mod backward;
mod forward;
mod passes;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use module_nn::autograd::grad;
use module_nn::prelude::*;
use module_nn::{
    BackwardCall, BackwardOptions, BackwardPreCall, ForwardCall, ForwardPreCall, HookHandle,
    HookOptions, HookSet, hooks, is_grad_enabled,
};
use module_tests::golden;
use serde_json::Value;

use always::*;
use backward::*;
use forward::*;
use passes::*;

/// Scenarios that cannot be written in Rust, with the reason.
const NONE_HERE: [(&str, &str); 2] = [
    ("keyword_arguments", "there are no keyword arguments"),
    (
        "removed_twice",
        "removing takes the handle, so that it cannot be done twice",
    ),
];

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

#[derive(Module)]
struct Failing {
    marker: Marker,
}

impl Forward for Failing {
    type Output = Tensor;

    fn forward(&self, _: Tensor) -> Result<Tensor> {
        Err(Error::custom("forward failed"))
    }
}

/// A module that calls a given function.
#[derive(Module)]
struct Function<I: 'static, O: 'static> {
    #[module(skip)]
    function: Box<dyn Fn(I) -> Result<O> + Send + Sync>,
}

impl<I: 'static, O: 'static> Forward<I> for Function<I, O> {
    type Output = O;

    fn forward(&self, input: I) -> Result<O> {
        (self.function)(input)
    }
}

fn function<I, O>(function: impl Fn(I) -> Result<O> + Send + Sync + 'static) -> Function<I, O> {
    Function {
        function: Box::new(function),
    }
}

fn times(factor: f64) -> Function<Tensor, Tensor> {
    function(move |x: Tensor| x.mul(factor))
}

fn square() -> Function<Tensor, Tensor> {
    function(|x: Tensor| x.mul(&x))
}

fn tanh() -> Function<Tensor, Tensor> {
    function(|x: Tensor| x.tanh())
}

fn product() -> Function<(Tensor, Tensor), Tensor> {
    function(|(x, y): (Tensor, Tensor)| x.mul(&y))
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn write(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn gradient(&self, x: &Tensor) {
        let grad = x
            .grad()
            .map_or("none".to_owned(), |grad| number(&grad).to_string());
        self.write(format!("gradient {grad}"));
    }

    fn raised<T>(&self, result: Result<T>) {
        let error = result.map(drop).unwrap_err();
        let source = match error.kind() {
            ErrorKind::Autograd(AutogradError::Hook { source, .. }) => source.kind(),
            kind => kind,
        };
        self.write(format!("raised {source}"));
    }

    /// The arguments that both backward hooks of a module see.
    fn watch<'m>(&self, module: &'m (impl Module + ?Sized), name: &str) -> HookSet<'m> {
        self.watch_with(HookOptions::new(), module, name)
    }

    fn watch_with<'m>(
        &self,
        options: HookOptions,
        module: &'m (impl Module + ?Sized),
        name: &str,
    ) -> HookSet<'m> {
        let (pre, full) = (self.clone(), self.clone());
        let (first, second) = (name.to_owned(), name.to_owned());
        let pre = module.register_full_backward_pre_hook_with(options, move |call| {
            pre.write(format!("pre {first} {}", words(&call.grad_outputs())));
        });
        let full = module.register_full_backward_hook_with(options, move |call| {
            let (outputs, inputs) = (words(&call.grad_outputs()), words(&call.grad_inputs()));
            full.write(format!("full {second} {outputs} -> {inputs}"));
        });
        HookSet::from_iter([pre, full])
    }

    fn always<'m>(
        &self,
        module: &'m (impl Module + ?Sized),
        name: &str,
        error: Option<&'static str>,
    ) -> HookHandle<'m> {
        let (log, name) = (self.clone(), name.to_owned());
        let options = HookOptions::new().always_call(true);
        module.register_forward_hook_with(options, move |call| {
            let (x, y) = (number(&call.inputs()[0]), output(call));
            log.write(format!("always {name} {x} {y}"));
            error.map_or(Ok(()), |error| Err(Error::custom(error)))
        })
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

fn number(x: &Tensor) -> f64 {
    x.to_dtype(DType::F64).unwrap().item().unwrap()
}

fn words(grads: &[Option<Tensor>]) -> String {
    let word = |grad: &Option<Tensor>| {
        grad.as_ref()
            .map_or("none".to_owned(), |grad| number(grad).to_string())
    };
    grads.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn output(call: &ForwardCall<'_>) -> String {
    call.output()
        .map_or("none".to_owned(), |y| number(&y).to_string())
}

fn leaf(value: f32) -> Tensor {
    Tensor::from(value).with_grad().unwrap()
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

type Scenario = fn(&Log) -> Result<()>;

const SCENARIOS: [(&str, Scenario); 54] = [
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
    ("prepend", prepend),
    ("global_before_own", global_before_own),
    ("global_replaces", global_replaces),
    ("failure", failure),
    ("failing_hook", failing_hook),
    ("backward_nested", backward_nested),
    ("backward_replaced", backward_replaced),
    ("backward_diamond", backward_diamond),
    (
        "backward_without_tracked_input",
        backward_without_tracked_input,
    ),
    (
        "backward_two_inputs_one_tracked",
        backward_two_inputs_one_tracked,
    ),
    (
        "backward_hook_added_or_removed_after_forward",
        backward_hook_added_or_removed_after_forward,
    ),
    ("forward_and_backward_nested", forward_and_backward_nested),
    ("backward_diamond_net", backward_diamond_net),
    ("backward_reused", backward_reused),
    ("backward_prepend", backward_prepend),
    ("backward_global", backward_global),
    (
        "backward_replaced_one_after_the_other",
        backward_replaced_one_after_the_other,
    ),
    ("backward_replaced_by_none", backward_replaced_by_none),
    (
        "backward_input_replaced_by_none",
        backward_input_replaced_by_none,
    ),
    (
        "backward_removed_by_a_pre_hook",
        backward_removed_by_a_pre_hook,
    ),
    (
        "backward_removed_by_a_backward_hook",
        backward_removed_by_a_backward_hook,
    ),
    ("backward_outputs_partly_used", backward_outputs_partly_used),
    ("backward_inputs_partly_used", backward_inputs_partly_used),
    ("backward_same_tensor_twice", backward_same_tensor_twice),
    ("backward_untracked_inputs", backward_untracked_inputs),
    (
        "backward_output_without_the_input",
        backward_output_without_the_input,
    ),
    ("backward_of_some", backward_of_some),
    ("backward_second_derivative", backward_second_derivative),
    (
        "backward_second_derivative_of_a_replaced_one",
        backward_second_derivative_of_a_replaced_one,
    ),
    ("backward_twice", backward_twice),
    ("backward_grad_mode", backward_grad_mode),
    ("backward_identity", backward_identity),
    ("backward_wrong_counts", backward_wrong_counts),
    ("backward_hook_fails", backward_hook_fails),
    (
        "always_after_a_replaced_input",
        always_after_a_replaced_input,
    ),
    ("always_runs_once", always_runs_once),
    (
        "always_after_a_failed_pre_hook",
        always_after_a_failed_pre_hook,
    ),
    ("always_everywhere", always_everywhere),
];

#[test]
fn hooks_run_in_the_order_of_pytorch() {
    let text = std::fs::read_to_string(golden::path("hook_orders.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let mut failures = Vec::new();
    for case in recorded["cases"].as_array().expect("scenarios") {
        let name = case["name"].as_str().expect("a name");
        let Some((_, scenario)) = SCENARIOS.iter().find(|(known, _)| *known == name) else {
            assert!(
                NONE_HERE.iter().any(|(listed, _)| *listed == name),
                "{name}"
            );
            continue;
        };
        let log = Log::default();
        scenario(&log).unwrap();
        let lines = Value::from(std::mem::take(&mut *log.0.lock().unwrap()));
        if lines != case["log"] {
            failures.push(format!("{name}: {lines}\ninstead of {}", case["log"]));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
