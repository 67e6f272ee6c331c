//! A hook that uses each gradient at once and drops it keeps the peak of memory down.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use module_nn::prelude::*;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is passed on to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LAYERS: usize = 12;
const WIDTH: usize = 256;

/// The most bytes that a backward pass takes beyond what was held when it began.
fn peak_of_a_pass(net: &Sequential) -> usize {
    let y = net.call(Tensor::ones([1, WIDTH], DType::F32).unwrap());
    let loss = y.unwrap().mean(.., false).unwrap();
    Device::cpu().empty_cache();
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    loss.backward().unwrap();
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn gradients_that_are_used_and_dropped_at_once_are_not_in_memory_together() {
    let mut net = Sequential::new();
    for _ in 0..LAYERS {
        net = net.push(Linear::new(WIDTH, WIDTH).unwrap());
    }
    let one = WIDTH * WIDTH * 4;
    let together = peak_of_a_pass(&net);
    assert!(together >= LAYERS * one, "{together} bytes");
    net.zero_grad();
    let hooks: Vec<_> = net
        .parameters()
        .map(|parameter| {
            parameter.register_post_accumulate_grad_hook(|parameter| {
                let step = parameter.grad().unwrap().mul(-1e-3)?;
                parameter.zero_grad();
                parameter.set(parameter.detach().add(&step)?)
            })
        })
        .collect();
    let apart = peak_of_a_pass(&net);
    assert!(net.parameters().all(|parameter| parameter.grad().is_none()));
    assert!(apart < 6 * one, "{apart} bytes, {together} without");
    drop(hooks);
    let together = peak_of_a_pass(&net);
    assert!(together >= LAYERS * one, "{together} bytes");
}
