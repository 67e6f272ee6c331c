//! Hooks on many modules.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use module_nn::hooks::Tensors;
use module_nn::prelude::*;

use super::{input, net};

#[test]
fn a_set_hooks_the_selected_modules_and_has_their_paths() {
    let (net, log) = (net(), Rc::new(RefCell::new(Vec::new())));
    let paths = ["plain", "list.*", "again", "sequence"];
    let seen = log.clone();
    let pre = HookSet::forward_pre(&net, paths, move |call| {
        seen.borrow_mut().push(call.path().to_owned());
    })
    .unwrap();
    let seen = log.clone();
    let post = HookSet::forward(&net, "map.?ey", move |call| {
        seen.borrow_mut().push(format!("after {}", call.path()));
    })
    .unwrap();
    // `shared` is the same module as `again`, and called at both places.
    assert_eq!((pre.len(), post.len()), (5, 1));
    assert!(
        pre.unfired()
            .eq(["plain", "again", "list.0", "list.1", "sequence"])
    );
    net.call(input()).unwrap();
    assert_eq!(
        log.take(),
        [
            "plain",
            "again",
            "again",
            "list.0",
            "list.1",
            "after map.key",
            "sequence"
        ]
    );
    assert_eq!(pre.unfired().count() + post.unfired().count(), 0);
    pre.remove();
    net.call(input()).unwrap();
    assert_eq!(log.take(), ["after map.key"]);
}

#[test]
fn a_set_hooks_modules_of_one_type() {
    let (net, log) = (net(), Arc::new(Mutex::new(Vec::new())));
    let seen = log.clone();
    let hooks = HookSet::full_backward_of::<ReLU, _>(&net, move |call| {
        let line = format!(
            "{} {} {}",
            call.path(),
            call.kind(),
            call.grad_inputs().len()
        );
        seen.lock().unwrap().push(line);
    })
    .unwrap();
    let backward = || net.call(input()).unwrap().sum(..).unwrap().backward();
    backward().unwrap();
    assert_eq!(*log.lock().unwrap(), ["tuple.1 ReLU 1"]);
    drop(hooks);
    backward().unwrap();
    assert_eq!(log.lock().unwrap().len(), 1);
    assert_eq!(
        HookSet::forward_of::<Linear, _>(&net, |_| ())
            .unwrap()
            .len(),
        10
    );
    assert_eq!(
        HookSet::forward_pre_of::<Linear, _>(&net, |_| ())
            .unwrap()
            .len(),
        10
    );
    assert_eq!(
        HookSet::full_backward_pre_of::<Linear, _>(&net, |_| ())
            .unwrap()
            .len(),
        10
    );
}

#[test]
fn a_set_of_nothing_is_an_error() {
    let net = net();
    let error = HookSet::forward_of::<CrossEntropyLoss, _>(&net, |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`the type CrossEntropyLoss` selects nothing"
    );
    let error = HookSet::full_backward(&net, "lst.*", |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`lst.*` selects nothing; did you mean `list.*`?"
    );
}

#[test]
fn a_set_collects_handles() {
    let net = net();
    let mut hooks: HookSet<'_> = net
        .list
        .iter()
        .map(|m| m.register_forward_hook(|_| ()))
        .collect();
    hooks.push(net.plain.register_forward_pre_hook(|_| ()));
    hooks.extend([net.boxed.register_full_backward_hook(|_| ())]);
    assert_eq!((hooks.len(), hooks.is_empty()), (4, false));
    assert_eq!(format!("{hooks:?}"), "HookSet(4)");
}

/// Every structure that can contain tensors.
#[derive(Tensors)]
enum Batch<'a, T> {
    Rows {
        rows: T,
        #[module(skip)]
        #[expect(dead_code, reason = "it shows that it can be left out")]
        source: std::path::PathBuf,
    },
    Many(Vec<T>, (usize, Option<Box<T>>), &'a Tensor),
    #[expect(dead_code, reason = "a form without tensors")]
    Empty,
}

#[test]
fn derived_tensors_are_shown_in_order_and_replaced() {
    let tensor = |value: f32| Tensor::from(value);
    let (borrowed, seen) = (tensor(4.0), RefCell::new(Vec::new()));
    let mut batches = [
        Batch::Rows {
            rows: tensor(0.0),
            source: "rows.csv".into(),
        },
        Batch::Many(
            vec![tensor(1.0), tensor(2.0)],
            (7, Some(Box::new(tensor(3.0)))),
            &borrowed,
        ),
    ];
    let show = |batches: &[Batch<'_, Tensor>; 2]| {
        batches.for_each(&mut |x| seen.borrow_mut().push(x.item::<f32>().unwrap()));
        seen.take()
    };
    assert_eq!(show(&batches), [0.0, 1.0, 2.0, 3.0, 4.0]);
    batches.for_each_mut(&mut |x| *x = x.add(10.0).unwrap());
    assert_eq!(show(&batches), [10.0, 11.0, 12.0, 13.0, 4.0]);
}
