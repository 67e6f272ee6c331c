//! Hooks for one thread, hooks for all threads, and calls that do not reach the former.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use module_nn::hooks::{self, MissedHook, SharedHookSet};
use module_nn::prelude::*;

#[derive(Module)]
struct Net {
    first: Linear,
    second: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.second.call(self.first.call(x)?)
    }
}

fn net() -> Net {
    Net {
        first: Linear::new(2, 2).unwrap(),
        second: Linear::new(2, 2).unwrap(),
    }
}

fn input() -> Tensor {
    Tensor::from([[1.0_f32, 2.0]])
}

/// Calls on a separate thread.
fn call_elsewhere(net: &Net) {
    thread::scope(|scope| {
        let call = || net.call(input()).map(drop);
        scope.spawn(call).join().unwrap().unwrap();
    });
}

/// The missed calls of the hooks that these lines registered.
fn missed(lines: std::ops::Range<u32>) -> Vec<MissedHook> {
    let line = |hook: &MissedHook| {
        let mut parts = hook.registered_at.rsplit(':').skip(1);
        parts.next().unwrap().parse::<u32>().unwrap()
    };
    let mut all = hooks::missed_hooks();
    all.retain(|hook| {
        hook.registered_at.contains("hooks_on_threads") && lines.contains(&line(hook))
    });
    all
}

#[test]
fn pitfall_57_a_call_on_another_thread_that_misses_a_hook_is_reported_once() {
    let net = net();
    let begin = line!();
    let hook = net.first.register_forward_hook(|_| ());
    let quiet = HookOptions::new().this_thread(true);
    let _quiet = net.second.register_forward_hook_with(quiet, |_| ());
    let end = line!();
    net.call(input()).unwrap();
    assert_eq!(missed(begin..end), []);
    call_elsewhere(&net);
    call_elsewhere(&net);
    let all = missed(begin..end);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0].module, "Linear");
    assert_ne!(all[0].registered_on, all[0].called_on);
    assert!(
        all[0]
            .to_string()
            .contains("`HookSet::shared` makes hooks that run on every thread")
    );
    drop(hook);

    // A thread with its own hook on the module, or a removed hook, is not a mistake.
    let begin = line!();
    let _hook = net.first.register_forward_pre_hook(|_| ());
    drop(net.second.register_forward_pre_hook(|_| ()));
    thread::scope(|scope| {
        let call = || {
            let _own = net.first.register_forward_hook(|_| ());
            net.call(input()).map(drop)
        };
        scope.spawn(call).join().unwrap().unwrap();
    });
    assert_eq!(missed(begin..line!()), []);
}

#[test]
fn a_hook_of_every_module_does_not_hide_one_that_is_missed() {
    let net = net();
    let begin = line!();
    let _hook = net.first.register_forward_hook(|_| ());
    let end = line!();
    thread::scope(|scope| {
        let call = || {
            let _every = hooks::register_module_forward_hook(|_| ());
            net.call(input()).map(drop)
        };
        scope.spawn(call).join().unwrap().unwrap();
    });
    assert_eq!(missed(begin..end).len(), 1);
}

fn is_shareable<T: Send + Sync>(_: &T) {}

#[test]
fn shared_hooks_run_on_every_thread_until_they_are_dropped() {
    let net = net();
    let counts: Arc<[AtomicUsize; 4]> = Arc::default();
    let count = |kind: usize| {
        let counts = counts.clone();
        move || {
            counts[kind].fetch_add(1, Ordering::Relaxed);
        }
    };
    let [pre, post, backward_pre, backward] = [0, 1, 2, 3].map(count);
    let hooks = HookSet::shared(&net)
        .forward_pre("first", move |_| pre())
        .unwrap()
        .forward("*", move |_| post())
        .unwrap()
        .full_backward_pre("second", move |_| backward_pre())
        .unwrap()
        .full_backward("second", move |_| backward())
        .unwrap();
    is_shareable(&hooks);
    assert_eq!(hooks.len(), 5);
    let run = || {
        let y = net.call(input()).unwrap();
        y.sum(..).unwrap().backward().unwrap();
    };
    thread::scope(|scope| {
        (0..8).for_each(|_| drop(scope.spawn(|| (0..10).for_each(|_| run()))));
    });
    run();
    let counted = || counts.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counted(), [81, 162, 81, 81]);
    // Dropped by a different thread than the one that created it.
    thread::scope(|scope| drop(scope.spawn(move || drop(hooks))));
    run();
    call_elsewhere(&net);
    assert_eq!(counted(), [81, 162, 81, 81]);
}

#[test]
fn shared_hooks_replace_outputs_after_the_hooks_of_the_thread_and_may_fail() {
    let net = net();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (own, every) = (order.clone(), order.clone());
    let shared = HookSet::shared(&net)
        .forward("second", move |call| {
            every
                .lock()
                .unwrap()
                .push(format!("shared {}", call.path()));
            call.set_output(call.output()?.zeros_like()?)
        })
        .unwrap();
    let hook = net
        .second
        .register_forward_hook(move |_| own.lock().unwrap().push("own".to_owned()));
    let y = net.call(input()).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [0.0, 0.0]);
    assert_eq!(*order.lock().unwrap(), ["own", "shared second"]);
    drop((hook, shared));

    let _failing = HookSet::shared(&net)
        .forward("second", |_| Err(Error::custom("no")))
        .unwrap();
    let call = || net.call(input()).map(drop);
    let error = thread::scope(|scope| scope.spawn(call).join().unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "second (Linear): no");

    let nothing = HookSet::shared(&net).forward("third", |_| ());
    let error = nothing.map(SharedHookSet::remove).unwrap_err().to_string();
    assert!(error.starts_with("`third` selects nothing"), "{error}");
}

#[test]
fn a_hook_that_always_runs_sees_a_call_fail_on_any_thread() {
    let net = net();
    let failed = Arc::new(AtomicUsize::new(0));
    let count = failed.clone();
    let always = HookOptions::new().always_call(true);
    let _hooks = HookSet::shared(&net)
        .forward_with(always, "first", move |call| {
            count.fetch_add(usize::from(call.failed()), Ordering::Relaxed);
        })
        .unwrap();
    let bad = || net.call(Tensor::from([1.0_f32; 3])).map(drop);
    thread::scope(|scope| scope.spawn(bad).join().unwrap()).unwrap_err();
    assert_eq!(failed.load(Ordering::Relaxed), 1);
}
