//! Calls that fail with an error or a panic.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use module_nn::prelude::*;
use module_nn::{ForwardCall, HookHandle};

use super::{Counter, input};

/// Fails depending on the first element: 1 gives an error, 2 a panic.
#[derive(Module)]
struct Fragile {
    marker: Marker,
}

impl Forward for Fragile {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        match x.select(0, 0)?.item::<f32>()? {
            1.0 => Err(Error::custom("forward failed")),
            2.0 => panic!("forward panicked"),
            _ => Ok(x),
        }
    }
}

fn fragile() -> Sequential {
    let fragile = Fragile {
        marker: Marker::new(),
    };
    Sequential::new().push(fragile).push(Identity::new())
}

fn vector(first: f32) -> Tensor {
    Tensor::from([first])
}

type Log = Rc<RefCell<Vec<(String, bool, usize)>>>;

fn always(log: &Log) -> impl Fn(&mut ForwardCall<'_>) + 'static {
    let log = log.clone();
    move |call| {
        let line = (
            call.module().kind().to_owned(),
            call.failed(),
            call.outputs().len(),
        );
        log.borrow_mut().push(line);
    }
}

fn on_all<'m>(net: &'m Sequential, log: &Log) -> Vec<HookHandle<'m>> {
    let options = HookOptions::new().always_call(true);
    let hook = |module| ModuleExt::register_forward_hook_with(module, options, always(log));
    net.modules().map(hook).collect()
}

#[test]
fn hooks_that_always_run_do_so_once_after_errors_and_panics() {
    let (net, log) = (fragile(), Log::default());
    let hooks = on_all(&net, &log);
    let lines = |failed, outputs| {
        let line = |kind: &str| (kind.to_owned(), failed, outputs);
        vec![line("Fragile"), line("Sequential")]
    };
    assert!(net.call(vector(1.0)).is_err());
    assert_eq!(log.take(), lines(true, 0));
    let panic = catch_unwind(AssertUnwindSafe(|| net.call(vector(2.0)))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"forward panicked"));
    assert_eq!(log.take(), lines(true, 0));
    // They are still there, and the others too.
    net.call(vector(0.0)).unwrap();
    let kinds = ["Fragile", "Identity", "Sequential"];
    let lines = kinds.map(|kind| (kind.to_owned(), false, 1));
    assert_eq!(log.take(), lines);
    drop(hooks);
    assert!(net.call(vector(1.0)).is_err());
    assert!(log.take().is_empty());
}

#[test]
fn a_panic_of_a_hook_that_always_runs_does_not_hide_the_first_failure() {
    let (net, counter) = (fragile(), Counter::default());
    let options = HookOptions::new().always_call(true);
    let _panics = net.register_forward_hook_with(options, |_| -> () { panic!("on purpose") });
    let _counts = net.register_forward_hook_with(options, counter.hook());
    let error = net.call(vector(1.0)).unwrap_err();
    assert_eq!(error.to_string(), "0 (Fragile): forward failed");
    let panic = catch_unwind(AssertUnwindSafe(|| net.call(vector(2.0)))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"forward panicked"));
    assert_eq!(counter.take(), 2);
    // If it is the first failure itself, it is the one reported.
    let panic = catch_unwind(AssertUnwindSafe(|| net.call(vector(0.0)))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
    assert_eq!(counter.take(), 1);
}

#[test]
fn the_output_of_a_failed_call_cannot_be_replaced() {
    let (net, messages) = (fragile(), Rc::new(RefCell::new(Vec::new())));
    let (seen, options) = (messages.clone(), HookOptions::new().always_call(true));
    let _hook = net.register_forward_hook_with(options, move |call| {
        let error = call.set_output(input()).unwrap_err();
        seen.borrow_mut().push(error.to_string());
    });
    net.call(vector(1.0)).unwrap_err();
    assert_eq!(
        messages.take(),
        ["set_output: count = 1: the call failed, so that there is no output to replace"]
    );
}

#[test]
fn handles_dropped_by_a_panic_take_their_hooks_along_and_no_others() {
    let (net, counter) = (fragile(), Counter::default());
    let _stays = net.register_forward_hook(counter.hook());
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _goes = net.register_forward_pre_hook(|call| call.set_input(vector(2.0)));
        net.call(vector(0.0))
    }));
    assert!(panic.is_err());
    assert_eq!(
        net.call(vector(0.0)).unwrap().to_vec::<f32>().unwrap(),
        [0.0]
    );
    assert_eq!(counter.take(), 1);
}

#[test]
fn a_pre_hook_that_panics_is_a_failed_call() {
    let (net, log) = (fragile(), Log::default());
    let _pre = net.register_forward_pre_hook(|_| -> () { panic!("on purpose") });
    let _hooks = on_all(&net, &log);
    assert!(catch_unwind(AssertUnwindSafe(|| net.call(vector(0.0)))).is_err());
    assert_eq!(log.take(), [("Sequential".to_owned(), true, 0)]);
}
