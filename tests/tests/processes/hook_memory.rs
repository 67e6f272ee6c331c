//! Captures and backward hooks over many passes do not increase the process's memory.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::cell::RefCell;
use std::rc::Rc;

use module_nn::prelude::*;
use module_tests::processes::{ran_in_a_child, resident_bytes};

#[test]
fn ten_thousand_captures_keep_memory_flat() {
    if ran_in_a_child("hook_memory::ten_thousand_captures_keep_memory_flat") {
        return;
    }
    const PASSES: usize = 10_000;
    let layers = |size| Linear::new(size, size).unwrap();
    let net = Sequential::new()
        .push(layers(64))
        .push(ReLU::new())
        .push(layers(64));
    let latest = Rc::new(RefCell::new(Vec::new()));
    let keep = latest.clone();
    let _features = HookSet::forward(&net, "*", move |call| {
        let mut latest = keep.borrow_mut();
        latest.extend(call.outputs());
        let surplus = latest.len().saturating_sub(3);
        latest.drain(..surplus);
    })
    .unwrap();
    let _gradients = HookSet::full_backward(&net, Select::all(), |call| {
        assert_eq!(call.grad_inputs().len(), 1);
    })
    .unwrap();
    let x = Tensor::randn([16, 64], DType::F32)
        .unwrap()
        .with_grad()
        .unwrap();
    let pass = |i: usize| {
        let y = net.call(x.clone()).unwrap();
        // The graph of every other pass is dropped without a backward pass.
        if i.is_multiple_of(2) {
            y.sum(..).unwrap().backward().unwrap();
        }
    };
    (0..500).for_each(pass);
    let before = resident_bytes().unwrap();
    (0..PASSES).for_each(pass);
    let grown = resident_bytes().unwrap().saturating_sub(before);
    // One feature is 4 KiB and a graph more: a leak of either would be 40 MB.
    assert!(grown < 4 << 20, "{grown} bytes");
}
