//! Scenarios with hooks on modules log the same as in PyTorch; `golden/hook_orders.py` defines them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

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
    // Only modules whose behavior differs have a mode.
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

fn prepend(log: &Log) -> Result<()> {
    let add = add(1.0);
    let mut hooks = HookSet::new();
    for (name, first) in [("a", false), ("b", true), ("c", true), ("d", false)] {
        let options = HookOptions::new().prepend(first);
        hooks.push(add.register_forward_pre_hook_with(options, log.pre(name)));
        hooks.push(add.register_forward_hook_with(options, log.post(name)));
    }
    add.call(one()).map(drop)
}

fn global_before_own(log: &Log) -> Result<()> {
    let net = nest();
    let (pre, post) = (log.clone(), log.clone());
    let first = net.layer(0)?;
    let _hooks = [
        first.register_forward_pre_hook(log.pre("own")),
        first.register_forward_hook(log.post("own")),
        hooks::register_module_forward_pre_hook(move |call| {
            pre.write(format!("global pre {}", call.module().kind()));
        }),
        hooks::register_module_forward_hook(move |call| {
            post.write(format!("global post {}", call.module().kind()));
        }),
    ];
    net.call(one()).map(drop)
}

fn global_replaces(log: &Log) -> Result<()> {
    let add = add(1.0);
    let _hooks = [
        add.register_forward_pre_hook(log.pre("own")),
        add.register_forward_hook(log.post("own")),
        hooks::register_module_forward_pre_hook(scale(2.0)),
        hooks::register_module_forward_hook(scale_output(100.0)),
    ];
    log.write(format!("result {}", number(&add.call(one())?)));
    Ok(())
}

fn failing() -> Failing {
    Failing {
        marker: Marker::new(),
    }
}

fn failure(log: &Log) -> Result<()> {
    let net = Sequential::new().push(add(1.0)).push(failing());
    let mut hooks = HookSet::new();
    for (name, module) in net.named_modules() {
        let (post, always) = (log.clone(), log.clone());
        let (first, second) = (path(&name).to_owned(), path(&name).to_owned());
        hooks.push(module.register_forward_pre_hook(log.pre(path(&name))));
        hooks.push(module.register_forward_hook(move |call| {
            post.write(format!("post {first} {}", always_output(call)));
        }));
        let options = HookOptions::new().always_call(true);
        hooks.push(module.register_forward_hook_with(options, move |call| {
            always.write(format!("always {second} {}", always_output(call)));
        }));
    }
    log.raised(net.call(one()));
    Ok(())
}

fn always_output(call: &ForwardCall<'_>) -> String {
    assert_eq!(call.failed(), call.outputs().is_empty());
    call.output()
        .map_or("none".to_owned(), |y| format!("{:?}", number(&y)))
}

fn failing_hook(log: &Log) -> Result<()> {
    let add = add(1.0);
    let fails = log.clone();
    let options = HookOptions::new().always_call(true);
    let _hooks = [
        add.register_forward_hook(log.post("a")),
        add.register_forward_hook(move |_| -> Result<()> {
            fails.write("fails");
            Err(Error::custom("hook failed"))
        }),
        add.register_forward_hook(log.post("b")),
        add.register_forward_hook_with(options, log.post("always")),
    ];
    log.raised(add.call(one()));
    Ok(())
}

fn backward_nested(log: &Log) -> Result<()> {
    let inner = Sequential::new().push(tanh()).push(tanh());
    let net = Sequential::new().push(inner).push(tanh());
    let (pre, full) = (log.clone(), log.clone());
    let _full = HookSet::full_backward(&net, Select::all(), move |call| {
        full.write(format!("full {}", path(call.path())));
    })?;
    let _pre = HookSet::full_backward_pre(&net, Select::all(), move |call| {
        pre.write(format!("pre {}", path(call.path())));
    })?;
    net.call(leaf(0.5))?.backward()
}

/// A hook that replaces the gradient of the only output.
fn change_output(
    change: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> impl Fn(&mut BackwardPreCall<'_>) -> Result<()> + Send + Sync + 'static {
    move |call| {
        let grad = call.tracked_grad_outputs().remove(0).expect("a gradient");
        call.set_grad_outputs(vec![Some(change(&grad)?)])
    }
}

/// A hook that replaces the gradient of the only input.
fn change_input(
    change: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> impl Fn(&mut BackwardCall<'_>) -> Result<()> + Send + Sync + 'static {
    move |call| {
        let grad = call.tracked_grad_inputs().remove(0).expect("a gradient");
        call.set_grad_inputs(vec![Some(change(&grad)?)])
    }
}

/// A hook that logs gradients of one output and one input.
fn see(log: &Log) -> impl Fn(&mut BackwardCall<'_>) + Send + Sync + 'static {
    let log = log.clone();
    move |call| {
        let (output, input) = (words(&call.grad_outputs()), words(&call.grad_inputs()));
        log.write(format!("grad_output {output} grad_input {input}"));
    }
}

fn backward_replaced(log: &Log) -> Result<()> {
    let (times, x) = (times(3.0), leaf(1.0));
    let _hooks = [
        times.register_full_backward_pre_hook(change_output(|grad| grad.mul(10.0))),
        times.register_full_backward_hook(see(log)),
        times.register_full_backward_hook(change_input(|grad| grad.add(1.0))),
    ];
    times.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_diamond(log: &Log) -> Result<()> {
    let (square, x) = (square(), leaf(3.0));
    let _hook = square.register_full_backward_hook(see(log));
    let first = square.call(x.clone())?;
    let second = square.call(x.mul(2.0)?)?.mul(10.0)?;
    first.add(second)?.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_without_tracked_input(log: &Log) -> Result<()> {
    let linear = Linear::new(1, 1)?;
    let writer = log.clone();
    let _hook = linear.register_full_backward_hook(move |call| {
        writer.write(format!("grad_input {}", words(&call.grad_inputs())));
    });
    let x = Tensor::from([[1.0_f32]]);
    linear.call(x)?.sum(..)?.backward()
}

fn backward_two_inputs_one_tracked(log: &Log) -> Result<()> {
    let product = product();
    let writer = log.clone();
    let _hook = product.register_full_backward_hook(move |call| {
        writer.write(words(&call.grad_inputs()));
    });
    product.call((leaf(2.0), Tensor::from(5.0_f32)))?.backward()
}

fn backward_hook_added_or_removed_after_forward(log: &Log) -> Result<()> {
    let (early, late) = (tanh(), tanh());
    let writes = |line: &'static str| {
        let log = log.clone();
        move |_: &mut BackwardCall<'_>| log.write(line)
    };
    let handle = early.register_full_backward_hook(writes("early"));
    let y = late.call(early.call(leaf(0.5))?)?;
    let _late = late.register_full_backward_hook(writes("late"));
    handle.remove();
    y.backward()
}

fn forward_and_backward_nested(log: &Log) -> Result<()> {
    let inner = Sequential::new().push(add(2.0)).push(times(3.0));
    let net = Sequential::new().push(square()).push(inner);
    let mut hooks = Vec::new();
    for (name, module) in net.named_modules() {
        let mut set = log.watch(module, path(&name));
        set.push(module.register_forward_pre_hook(log.pre(path(&name))));
        set.push(module.register_forward_hook(log.post(path(&name))));
        hooks.push(set);
    }
    let x = leaf(2.0);
    net.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_diamond_net(log: &Log) -> Result<()> {
    let (net, x) = (Twice { child: add(1.0) }, leaf(1.0));
    let _hooks = [log.watch(&net, "root"), log.watch(&net.child, "child")];
    net.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_reused(log: &Log) -> Result<()> {
    let square = Arc::new(square());
    let net = Sequential::new()
        .push(square.clone())
        .push(add(1.0))
        .push(square.clone());
    let _hooks = [log.watch(&square, "square"), log.watch(&net, "net")];
    let x = leaf(2.0);
    net.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_prepend(log: &Log) -> Result<()> {
    let times = times(3.0);
    let watch = |name, first| log.watch_with(HookOptions::new().prepend(first), &times, name);
    let _hooks = [
        watch("a", false),
        watch("b", true),
        watch("c", true),
        watch("d", false),
    ];
    times.call(leaf(1.0))?.backward()
}

fn backward_global(log: &Log) -> Result<()> {
    let net = Sequential::new().push(add(1.0)).push(times(3.0));
    let (pre, full) = (log.clone(), log.clone());
    let _own = log.watch(net.layer(1)?, "own");
    let _global = [
        hooks::register_module_full_backward_pre_hook(move |call| {
            pre.write(format!("global pre {}", words(&call.grad_outputs())));
        }),
        hooks::register_module_full_backward_hook(move |call| {
            let (outputs, inputs) = (words(&call.grad_outputs()), words(&call.grad_inputs()));
            full.write(format!("global full {outputs} -> {inputs}"));
        }),
    ];
    net.call(leaf(1.0))?.backward()
}

fn backward_replaced_one_after_the_other(log: &Log) -> Result<()> {
    let (times, x) = (times(3.0), leaf(1.0));
    let _first = times.register_full_backward_pre_hook(change_output(|grad| grad.mul(10.0)));
    let _between = log.watch(&times, "between");
    let _second = times.register_full_backward_pre_hook(change_output(|grad| grad.add(1.0)));
    let _third = times.register_full_backward_hook(change_input(|grad| grad.mul(2.0)));
    let _last = log.watch(&times, "last");
    times.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_replaced_by_none(log: &Log) -> Result<()> {
    let (times, x) = (times(3.0), leaf(1.0));
    let _none = times.register_full_backward_pre_hook(|call| call.set_grad_outputs(vec![None]));
    let _hooks = log.watch(&times, "module");
    times.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_input_replaced_by_none(log: &Log) -> Result<()> {
    let (times, x) = (times(3.0), leaf(1.0));
    let _none = times.register_full_backward_hook(|call| call.set_grad_inputs(vec![None]));
    let _hooks = log.watch(&times, "module");
    times.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_removed_by_a_pre_hook(log: &Log) -> Result<()> {
    let times = forever(times(3.0));
    let writes = |line: &'static str| {
        let log = log.clone();
        move |_: &mut BackwardCall<'_>| log.write(line)
    };
    let handles = Handles::default();
    handles
        .borrow_mut()
        .push(times.register_full_backward_hook(writes("full")));
    let (kept, added) = (handles.clone(), writes("added"));
    let first = times.register_forward_pre_hook(move |_| {
        kept.replace(vec![times.register_full_backward_hook(added.clone())]);
    });
    times.call(leaf(1.0))?.backward()?;
    first.remove();
    log.write("second call");
    times.call(leaf(1.0))?.backward()
}

fn backward_removed_by_a_backward_hook(log: &Log) -> Result<()> {
    // A handle stays on its thread, but a backward hook may run on another: it sends a message.
    let times = times(3.0);
    let (remove, removed) = std::sync::mpsc::channel();
    let (remover, later) = (log.clone(), log.clone());
    let hooks = [
        times.register_full_backward_hook(move |_| {
            remover.write("remover");
            remove.send(()).unwrap();
        }),
        times.register_full_backward_hook(move |_| later.write("later")),
    ];
    times.call(leaf(1.0))?.backward()?;
    removed.recv().unwrap();
    drop(hooks);
    log.write("second call");
    times.call(leaf(1.0))?.backward()
}

fn backward_outputs_partly_used(log: &Log) -> Result<()> {
    let module = function(|x: Tensor| Ok((x.mul(2.0)?, x.mul(3.0)?, x.detach())));
    let _hooks = log.watch(&module, "module");
    for used in 0..2 {
        let x = leaf(1.0);
        let (first, second, _) = module.call(x.clone())?;
        [first, second][used].backward()?;
        log.gradient(&x);
    }
    Ok(())
}

fn backward_inputs_partly_used(log: &Log) -> Result<()> {
    let module = function(|(x, _, _): (Tensor, Tensor, Tensor)| x.mul(2.0));
    let _hooks = log.watch(&module, "module");
    let (x, y) = (leaf(1.0), leaf(1.0));
    let input = (x.clone(), y.clone(), Tensor::from(3_i64));
    module.call(input)?.backward()?;
    let (x, y) = (x.grad().expect("a gradient"), y.grad().expect("a gradient"));
    log.write(format!("gradients {} {}", number(&x), number(&y)));
    Ok(())
}

fn backward_same_tensor_twice(log: &Log) -> Result<()> {
    let (module, x) = (product(), leaf(3.0));
    let _hooks = log.watch(&module, "module");
    module.call((x.clone(), x.clone()))?.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_untracked_inputs(log: &Log) -> Result<()> {
    let w = leaf(5.0);
    let weight = w.clone();
    let module =
        function(move |(x, y): (Tensor, Tensor)| Ok((x.mul(&weight)?, y.mul(2.0)?.mul(&weight)?)));
    let _hooks = log.watch(&module, "module");
    module.call((one(), one()))?.1.backward()?;
    log.gradient(&w);
    Ok(())
}

fn backward_output_without_the_input(log: &Log) -> Result<()> {
    let w = leaf(5.0);
    let module = function(move |_: Tensor| w.mul(2.0));
    let _hooks = log.watch(&module, "module");
    module.call(leaf(1.0))?.backward()
}

fn once() -> BackwardOptions {
    BackwardOptions::new()
        .retain_graph(false)
        .create_graph(false)
}

fn create() -> BackwardOptions {
    BackwardOptions::new().retain_graph(true).create_graph(true)
}

fn slope(y: &Tensor, x: &Tensor, options: BackwardOptions) -> Result<Tensor> {
    Ok(grad(&[y], &[x], options)?.remove(0).expect("a gradient"))
}

fn backward_of_some(log: &Log) -> Result<()> {
    let (w, x, y) = (leaf(5.0), leaf(2.0), leaf(3.0));
    let weight = w.clone();
    let module = function(move |(x, y): (Tensor, Tensor)| x.mul(&y)?.mul(&weight));
    let _hooks = log.watch(&module, "module");
    for of in [&w, &x] {
        let output = module.call((x.clone(), y.clone()))?;
        log.write(format!("gradient {}", number(&slope(&output, of, once())?)));
    }
    Ok(())
}

fn backward_second_derivative(log: &Log) -> Result<()> {
    let module = function(|x: Tensor| x.mul(&x)?.mul(&x));
    let _hooks = log.watch(&module, "module");
    let functions: [fn(Tensor) -> Result<Tensor>; 2] = [|y| y.add(1.0), |y| y.mul(&y)];
    for function in functions {
        let x = leaf(2.0);
        let slope = slope(&function(module.call(x.clone())?)?, &x, create())?;
        log.write(format!("slope {}", number(&slope)));
        slope.backward()?;
        log.gradient(&x);
    }
    Ok(())
}

fn backward_second_derivative_of_a_replaced_one(log: &Log) -> Result<()> {
    let (module, x) = (square(), leaf(1.0));
    let _hooks = [
        module.register_full_backward_pre_hook(change_output(|grad| grad.mul(grad))),
        module.register_full_backward_hook(change_input(|grad| grad.mul(3.0))),
    ];
    let y = module.call(x.clone())?;
    let first = slope(&y.mul(&y)?, &x, create())?;
    log.write(format!("slope {}", number(&first)));
    log.write(format!("gradient {}", number(&slope(&first, &x, once())?)));
    Ok(())
}

fn again(y: &Tensor, options: BackwardOptions) -> Result<()> {
    y.backward_with(&y.ones_like()?, options)
}

fn retain() -> BackwardOptions {
    BackwardOptions::new()
        .retain_graph(true)
        .create_graph(false)
}

fn backward_twice(log: &Log) -> Result<()> {
    let (times, x) = (times(3.0), leaf(1.0));
    let _hooks = log.watch(&times, "module");
    let y = times.call(x.clone())?;
    again(&y, retain())?;
    y.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_grad_mode(log: &Log) -> Result<()> {
    let module = square();
    let writer = log.clone();
    let _hook = module.register_full_backward_hook(move |call| {
        let grad = call.tracked_grad_inputs().remove(0).expect("a gradient");
        assert!(
            call.grad_inputs()
                .iter()
                .flatten()
                .all(|grad| !grad.requires_grad())
        );
        let (enabled, tracked) = (python(is_grad_enabled()), python(grad.requires_grad()));
        writer.write(format!("enabled {enabled} tracked {tracked}"));
    });
    module.call(leaf(2.0))?.backward()?;
    again(&module.call(leaf(2.0))?, create())?;
    let y = no_grad(|| module.call(leaf(2.0)))?;
    log.write(format!("tracked {}", python(y.requires_grad())));
    Ok(())
}

fn backward_identity(log: &Log) -> Result<()> {
    let (module, x) = (Identity::new(), leaf(2.0));
    let _hooks = log.watch(&module, "module");
    let y = module.call(x.clone())?;
    log.write(format!("leaf {}", python(y.is_leaf())));
    y.backward()?;
    log.gradient(&x);
    Ok(())
}

fn backward_wrong_counts(log: &Log) -> Result<()> {
    let modules = [times(3.0), times(3.0)];
    let [first, second] = &modules;
    let _hooks = [
        first.register_full_backward_pre_hook(|call| call.set_grad_outputs(vec![])),
        second.register_full_backward_hook(|call| {
            let grad = call.grad_inputs().remove(0);
            call.set_grad_inputs(vec![grad.clone(), grad])
        }),
    ];
    for module in &modules {
        let x = leaf(1.0);
        let error = module.call(x.clone())?.backward().unwrap_err().to_string();
        let count = error.split("count = ").nth(1).expect("a count");
        let (got, expected) = count
            .split_once(": must be the number of tensors, ")
            .expect("both");
        log.write(format!("got {got}, but expected {expected}"));
        log.write(format!("gradient {}", x.grad().map_or("None", |_| "there")));
    }
    Ok(())
}

fn backward_hook_fails(log: &Log) -> Result<()> {
    let (times, x) = (times(3.0), leaf(1.0));
    let _before = log.watch(&times, "before");
    let fail = |_: &mut BackwardCall<'_>| -> Result<()> { Err(Error::custom("hook failed")) };
    let _fails = times.register_full_backward_hook(fail);
    let _after = log.watch(&times, "after");
    let y = times.call(x.clone())?;
    for _ in 0..2 {
        log.raised(again(&y, retain()));
    }
    log.write(format!("gradient {}", x.grad().map_or("None", |_| "there")));
    Ok(())
}

fn always_after_a_replaced_input(log: &Log) -> Result<()> {
    let (module, never) = (failing(), log.clone());
    let _hooks = [
        module.register_forward_pre_hook(scale(10.0)),
        log.always(&module, "a", Some("silenced")),
        module.register_forward_hook(move |_| never.write("never")),
        log.always(&module, "b", None),
    ];
    log.raised(module.call(one()));
    Ok(())
}

fn always_runs_once(log: &Log) -> Result<()> {
    let (add, never) = (add(1.0), log.clone());
    let _hooks = [
        log.always(&add, "a", None),
        add.register_forward_hook(scale_output(10.0)),
        log.always(&add, "b", Some("b failed")),
        log.always(&add, "c", None),
        add.register_forward_hook(move |_| never.write("never")),
    ];
    log.raised(add.call(one()));
    Ok(())
}

fn always_after_a_failed_pre_hook(log: &Log) -> Result<()> {
    let add = add(1.0);
    let fail = |_: &mut ForwardPreCall<'_>| -> Result<()> { Err(Error::custom("pre failed")) };
    let _hooks = [
        add.register_forward_pre_hook(scale(10.0)),
        add.register_forward_pre_hook(fail),
        log.always(&add, "a", None),
    ];
    log.raised(add.call(one()));
    Ok(())
}

fn always_everywhere(log: &Log) -> Result<()> {
    let net = Sequential::new().push(add(1.0)).push(failing());
    let writer = log.clone();
    let options = HookOptions::new().always_call(true);
    let _hooks = [
        log.always(&net, "own", None),
        hooks::register_module_forward_hook_with(options, move |call| {
            writer.write(format!("global {} {}", call.module().kind(), output(call)));
        }),
    ];
    log.raised(net.call(one()));
    Ok(())
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
