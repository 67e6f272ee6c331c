//! Several backward passes, second derivatives and failures.

use super::*;

pub(super) fn once() -> BackwardOptions {
    BackwardOptions::new()
        .retain_graph(false)
        .create_graph(false)
}

pub(super) fn create() -> BackwardOptions {
    BackwardOptions::new().retain_graph(true).create_graph(true)
}

pub(super) fn slope(y: &Tensor, x: &Tensor, options: BackwardOptions) -> Result<Tensor> {
    Ok(grad(&[y], &[x], options)?.remove(0).expect("a gradient"))
}

pub(super) fn backward_of_some(log: &Log) -> Result<()> {
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

pub(super) fn backward_second_derivative(log: &Log) -> Result<()> {
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

pub(super) fn backward_second_derivative_of_a_replaced_one(log: &Log) -> Result<()> {
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

pub(super) fn again(y: &Tensor, options: BackwardOptions) -> Result<()> {
    y.backward_with(&y.ones_like()?, options)
}

pub(super) fn retain() -> BackwardOptions {
    BackwardOptions::new()
        .retain_graph(true)
        .create_graph(false)
}

pub(super) fn backward_twice(log: &Log) -> Result<()> {
    let (times, x) = (times(3.0), leaf(1.0));
    let _hooks = log.watch(&times, "module");
    let y = times.call(x.clone())?;
    again(&y, retain())?;
    y.backward()?;
    log.gradient(&x);
    Ok(())
}

pub(super) fn backward_grad_mode(log: &Log) -> Result<()> {
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

pub(super) fn backward_identity(log: &Log) -> Result<()> {
    let (module, x) = (Identity::new(), leaf(2.0));
    let _hooks = log.watch(&module, "module");
    let y = module.call(x.clone())?;
    log.write(format!("leaf {}", python(y.is_leaf())));
    y.backward()?;
    log.gradient(&x);
    Ok(())
}

pub(super) fn backward_wrong_counts(log: &Log) -> Result<()> {
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

pub(super) fn backward_hook_fails(log: &Log) -> Result<()> {
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
