//! The hooks that gather, free and reduce.

use std::sync::Arc;

use module_nn::PostAccumulateHookHandle;
use module_nn::prelude::*;

use super::core::Core;
use super::units::FoundUnit;

/// Reduces each gradient as soon as it is complete.
pub(super) fn reduce_grads(core: &Arc<Core>) -> Vec<PostAccumulateHookHandle> {
    let mut handles = Vec::new();
    for (group, own) in core.groups.iter().enumerate() {
        for (number, member) in own.members.iter().enumerate() {
            let core = Arc::downgrade(core);
            let hook = move |_: &Parameter| match core.upgrade() {
                Some(core) => core.add_grad(group, number),
                None => Ok(()),
            };
            handles.push(member.parameter.register_post_accumulate_grad_hook(hook));
        }
    }
    handles
}

/// Gathers the parameters of each unit around its calls and their backward passes.
pub(super) fn gather_values<'m>(core: &Arc<Core>, units: &[FoundUnit<'m>]) -> HookSet<'m> {
    let mut hooks = HookSet::new();
    let first = HookOptions::new().prepend(true);
    let always = HookOptions::new().prepend(true).always_call(true);
    for (unit, found) in units.iter().enumerate() {
        if core
            .units
            .get(unit)
            .is_none_or(|unit| unit.groups.is_empty())
        {
            continue;
        }
        let module = found.module;
        let own = core.clone();
        let pre = module.register_forward_pre_hook_with(first, move |_| own.begin_forward(unit));
        let own = core.clone();
        let post = module.register_forward_hook_with(always, move |_| own.release(unit));
        let own = core.clone();
        let begin = module.register_full_backward_pre_hook(move |_| own.begin_backward(unit));
        let own = core.clone();
        let end = module.register_full_backward_hook(move |_| own.end_backward(unit));
        hooks.extend([pre, post, begin, end]);
    }
    hooks
}
