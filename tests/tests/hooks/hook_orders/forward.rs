//! Forward hooks.

use super::*;

pub(super) fn nested(log: &Log) -> Result<()> {
    let net = nest();
    let mut hooks = Vec::new();
    for (name, module) in net.named_modules() {
        hooks.push(module.register_forward_hook(log.post(path(&name))));
        hooks.push(module.register_forward_pre_hook(log.pre(path(&name))));
    }
    net.call(one()).map(drop)
}

pub(super) fn registration_order(log: &Log) -> Result<()> {
    let add = add(1.0);
    let mut hooks = Vec::new();
    for name in ["a", "b", "c"] {
        hooks.push(add.register_forward_pre_hook(log.pre(name)));
        hooks.push(add.register_forward_hook(log.post(name)));
    }
    add.call(one()).map(drop)
}

pub(super) fn replaced_input(log: &Log) -> Result<()> {
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

pub(super) fn replaced_output(log: &Log) -> Result<()> {
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

pub(super) fn replaced_in_the_middle(log: &Log) -> Result<()> {
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

pub(super) fn diamond(log: &Log) -> Result<()> {
    let net = Twice { child: add(1.0) };
    let _hooks = [
        net.register_forward_pre_hook(log.pre("root")),
        net.child.register_forward_pre_hook(log.pre("child")),
        net.child.register_forward_hook(log.post("child")),
        net.register_forward_hook(log.post("root")),
    ];
    net.call(one()).map(drop)
}

pub(super) fn shared_in_a_sequential(log: &Log) -> Result<()> {
    let shared = Arc::new(add(1.0));
    let net = Sequential::new()
        .push(shared.clone())
        .push(add(5.0))
        .push(shared.clone());
    let _hook = shared.register_forward_hook(log.post("shared"));
    net.call(one()).map(drop)
}

/// Where a hook finds the handles that it removes.
pub(super) type Handles = Rc<RefCell<Vec<HookHandle<'static>>>>;

pub(super) fn removed_during_the_call(log: &Log) -> Result<()> {
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

pub(super) fn post_hook_removed_by_a_pre_hook(log: &Log) -> Result<()> {
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

pub(super) fn added_during_the_call(log: &Log) -> Result<()> {
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

pub(super) fn post_hook_added_by_a_pre_hook(log: &Log) -> Result<()> {
    let add = forever(add(1.0));
    let (handles, adder) = (Handles::default(), log.clone());
    let _hook = add.register_forward_pre_hook(move |_| {
        adder.write("adder");
        let added = add.register_forward_hook(adder.post("added"));
        handles.borrow_mut().push(added);
    });
    add.call(one()).map(drop)
}

pub(super) fn child_hook_removed_by_its_parent(log: &Log) -> Result<()> {
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

pub(super) fn registered_twice(log: &Log) -> Result<()> {
    let add = add(1.0);
    let first = add.register_forward_hook(log.post("same"));
    let _second = add.register_forward_hook(log.post("same"));
    add.call(one())?;
    log.write("first removed");
    first.remove();
    add.call(one()).map(drop)
}

pub(super) fn forward_called_directly(log: &Log) -> Result<()> {
    let add = add(1.0);
    let _hook = add.register_forward_pre_hook(log.pre("never"));
    log.write(format!("result {}", number(&add.forward(one())?)));
    Ok(())
}

pub(super) fn python(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

pub(super) fn grad_mode(log: &Log) -> Result<()> {
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

pub(super) fn modes(log: &Log) -> Result<()> {
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

pub(super) fn prepend(log: &Log) -> Result<()> {
    let add = add(1.0);
    let mut hooks = HookSet::new();
    for (name, first) in [("a", false), ("b", true), ("c", true), ("d", false)] {
        let options = HookOptions::new().prepend(first);
        hooks.push(add.register_forward_pre_hook_with(options, log.pre(name)));
        hooks.push(add.register_forward_hook_with(options, log.post(name)));
    }
    add.call(one()).map(drop)
}

pub(super) fn global_before_own(log: &Log) -> Result<()> {
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

pub(super) fn global_replaces(log: &Log) -> Result<()> {
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

pub(super) fn failing() -> Failing {
    Failing {
        marker: Marker::new(),
    }
}

pub(super) fn failure(log: &Log) -> Result<()> {
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

pub(super) fn always_output(call: &ForwardCall<'_>) -> String {
    assert_eq!(call.failed(), call.outputs().is_empty());
    call.output()
        .map_or("none".to_owned(), |y| format!("{:?}", number(&y)))
}

pub(super) fn failing_hook(log: &Log) -> Result<()> {
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
