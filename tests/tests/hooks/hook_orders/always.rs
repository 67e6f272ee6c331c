//! Hooks that always run.

use super::*;

pub(super) fn always_after_a_replaced_input(log: &Log) -> Result<()> {
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

pub(super) fn always_runs_once(log: &Log) -> Result<()> {
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

pub(super) fn always_after_a_failed_pre_hook(log: &Log) -> Result<()> {
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

pub(super) fn always_everywhere(log: &Log) -> Result<()> {
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
