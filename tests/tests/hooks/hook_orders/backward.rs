//! Backward hooks.

use super::*;

pub(super) fn backward_nested(log: &Log) -> Result<()> {
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
pub(super) fn change_output(
    change: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> impl Fn(&mut BackwardPreCall<'_>) -> Result<()> + Send + Sync + 'static {
    move |call| {
        let grad = call.tracked_grad_outputs().remove(0).expect("a gradient");
        call.set_grad_outputs(vec![Some(change(&grad)?)])
    }
}

/// A hook that replaces the gradient of the only input.
pub(super) fn change_input(
    change: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
) -> impl Fn(&mut BackwardCall<'_>) -> Result<()> + Send + Sync + 'static {
    move |call| {
        let grad = call.tracked_grad_inputs().remove(0).expect("a gradient");
        call.set_grad_inputs(vec![Some(change(&grad)?)])
    }
}

/// A hook that logs gradients of one output and one input.
pub(super) fn see(log: &Log) -> impl Fn(&mut BackwardCall<'_>) + Send + Sync + 'static {
    let log = log.clone();
    move |call| {
        let (output, input) = (words(&call.grad_outputs()), words(&call.grad_inputs()));
        log.write(format!("grad_output {output} grad_input {input}"));
    }
}

pub(super) fn backward_replaced(log: &Log) -> Result<()> {
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

pub(super) fn backward_diamond(log: &Log) -> Result<()> {
    let (square, x) = (square(), leaf(3.0));
    let _hook = square.register_full_backward_hook(see(log));
    let first = square.call(x.clone())?;
    let second = square.call(x.mul(2.0)?)?.mul(10.0)?;
    first.add(second)?.backward()?;
    log.gradient(&x);
    Ok(())
}

pub(super) fn backward_without_tracked_input(log: &Log) -> Result<()> {
    let linear = Linear::new(1, 1)?;
    let writer = log.clone();
    let _hook = linear.register_full_backward_hook(move |call| {
        writer.write(format!("grad_input {}", words(&call.grad_inputs())));
    });
    let x = Tensor::from([[1.0_f32]]);
    linear.call(x)?.sum(..)?.backward()
}

pub(super) fn backward_two_inputs_one_tracked(log: &Log) -> Result<()> {
    let product = product();
    let writer = log.clone();
    let _hook = product.register_full_backward_hook(move |call| {
        writer.write(words(&call.grad_inputs()));
    });
    product.call((leaf(2.0), Tensor::from(5.0_f32)))?.backward()
}

pub(super) fn backward_hook_added_or_removed_after_forward(log: &Log) -> Result<()> {
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

pub(super) fn forward_and_backward_nested(log: &Log) -> Result<()> {
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

pub(super) fn backward_diamond_net(log: &Log) -> Result<()> {
    let (net, x) = (Twice { child: add(1.0) }, leaf(1.0));
    let _hooks = [log.watch(&net, "root"), log.watch(&net.child, "child")];
    net.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

pub(super) fn backward_reused(log: &Log) -> Result<()> {
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

pub(super) fn backward_prepend(log: &Log) -> Result<()> {
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

pub(super) fn backward_global(log: &Log) -> Result<()> {
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

pub(super) fn backward_replaced_one_after_the_other(log: &Log) -> Result<()> {
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

pub(super) fn backward_replaced_by_none(log: &Log) -> Result<()> {
    let (times, x) = (times(3.0), leaf(1.0));
    let _none = times.register_full_backward_pre_hook(|call| call.set_grad_outputs(vec![None]));
    let _hooks = log.watch(&times, "module");
    times.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

pub(super) fn backward_input_replaced_by_none(log: &Log) -> Result<()> {
    let (times, x) = (times(3.0), leaf(1.0));
    let _none = times.register_full_backward_hook(|call| call.set_grad_inputs(vec![None]));
    let _hooks = log.watch(&times, "module");
    times.call(x.clone())?.backward()?;
    log.gradient(&x);
    Ok(())
}

pub(super) fn backward_removed_by_a_pre_hook(log: &Log) -> Result<()> {
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

pub(super) fn backward_removed_by_a_backward_hook(log: &Log) -> Result<()> {
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

pub(super) fn backward_outputs_partly_used(log: &Log) -> Result<()> {
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

pub(super) fn backward_inputs_partly_used(log: &Log) -> Result<()> {
    let module = function(|(x, _, _): (Tensor, Tensor, Tensor)| x.mul(2.0));
    let _hooks = log.watch(&module, "module");
    let (x, y) = (leaf(1.0), leaf(1.0));
    let input = (x.clone(), y.clone(), Tensor::from(3_i64));
    module.call(input)?.backward()?;
    let (x, y) = (x.grad().expect("a gradient"), y.grad().expect("a gradient"));
    log.write(format!("gradients {} {}", number(&x), number(&y)));
    Ok(())
}

pub(super) fn backward_same_tensor_twice(log: &Log) -> Result<()> {
    let (module, x) = (product(), leaf(3.0));
    let _hooks = log.watch(&module, "module");
    module.call((x.clone(), x.clone()))?.backward()?;
    log.gradient(&x);
    Ok(())
}

pub(super) fn backward_untracked_inputs(log: &Log) -> Result<()> {
    let w = leaf(5.0);
    let weight = w.clone();
    let module =
        function(move |(x, y): (Tensor, Tensor)| Ok((x.mul(&weight)?, y.mul(2.0)?.mul(&weight)?)));
    let _hooks = log.watch(&module, "module");
    module.call((one(), one()))?.1.backward()?;
    log.gradient(&w);
    Ok(())
}

pub(super) fn backward_output_without_the_input(log: &Log) -> Result<()> {
    let w = leaf(5.0);
    let module = function(move |_: Tensor| w.mul(2.0));
    let _hooks = log.watch(&module, "module");
    module.call(leaf(1.0))?.backward()
}
