//! Peak memory of gradients that a hook uses and drops, and of factors of products.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use module_core::{AttentionOptions, set_num_threads};
use module_nn::CheckpointedSequential;
use module_nn::functional::{
    LinearCrossEntropyArguments, LinearCrossEntropyOptions, linear_cross_entropy,
};
use module_nn::prelude::*;
use module_tests::processes::ran_in_a_child;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is forwarded to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller guarantees.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LAYERS: usize = 12;
const WIDTH: usize = 256;

/// The peak memory of a backward pass beyond what was held at its start.
fn peak_of_a_pass(net: &Sequential) -> usize {
    let y = net.call(Tensor::ones([1, WIDTH], DType::F32).unwrap());
    let loss = y.unwrap().mean(..).unwrap();
    Device::cpu().empty_cache();
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    loss.backward().unwrap();
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn gradients_that_are_used_and_dropped_at_once_are_not_in_memory_together() {
    if ran_in_a_child(
        "gradient_memory::gradients_that_are_used_and_dropped_at_once_are_not_in_memory_together",
    ) {
        return;
    }
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

/// The peak memory of a function beyond what was held before; its result is held until the end.
fn peak_of<T>(work: impl FnOnce() -> Result<T>) -> usize {
    Device::cpu().empty_cache();
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let _held = work().unwrap();
    PEAK.load(Ordering::Relaxed) - before
}

fn peak_of_a_product(a: &Tensor, b: &Tensor) -> usize {
    peak_of(|| a.matmul(b))
}

#[test]
fn a_factor_is_not_copied_for_each_element_of_the_batch() {
    if ran_in_a_child("gradient_memory::a_factor_is_not_copied_for_each_element_of_the_batch") {
        return;
    }
    let drawn = |shape: &[usize]| Tensor::randn(shape, DType::F32).unwrap();
    let (a, b) = (drawn(&[16, 1, 64, 64]), drawn(&[1, 16, 64, 64]));
    let product = 16 * 16 * 64 * 64 * 4;
    // The packed factors are a part of this.
    let slack = product / 4;
    let peak = peak_of_a_product(&a, &b);
    assert!(
        peak < product + slack,
        "{peak} bytes, a product of {product}"
    );

    // The heads of attention, which are adjacent in memory.
    let heads = |x: Tensor| x.transpose(1, 2).unwrap();
    let (q, k) = (
        heads(drawn(&[4, 256, 8, 64])),
        heads(drawn(&[4, 256, 8, 64])),
    );
    let product = 4 * 8 * 256 * 256 * 4;
    let peak = peak_of_a_product(&q, &k.transpose(-1, -2).unwrap());
    assert!(
        peak < product + slack,
        "{peak} bytes, a product of {product}"
    );

    // Half precision is converted once, and so is the product.
    let [a, b] = [a, b].map(|x| x.to_dtype(DType::BF16).unwrap());
    let product = 16 * 16 * 64 * 64 * 6;
    let peak = peak_of_a_product(&a, &b);
    assert!(
        peak < product + slack,
        "{peak} bytes, a product of {product}"
    );
}

/// The peak memory of a forward and a backward pass beyond what was held before, with existing gradients.
fn peak_of_a_step(net: &impl Forward<Tensor, Output = Tensor>, x: &Tensor) -> usize {
    let step = || {
        let loss = net.call(x.clone())?.mean(..)?;
        loss.backward()
    };
    step().unwrap();
    peak_of(step)
}

#[test]
fn checkpointed_segments_take_a_part_of_the_memory() {
    if ran_in_a_child("gradient_memory::checkpointed_segments_take_a_part_of_the_memory") {
        return;
    }
    let mlp = || {
        let pairs = (0..32).map(|_| Linear::new(64, 64).unwrap());
        let empty = Sequential::new();
        pairs.fold(empty, |net, linear| net.push(linear).push(Tanh::new()))
    };
    let encoder = || {
        let layer = || TransformerEncoderLayerConfig::new(32, 4).dim_feedforward(64);
        let layer = || layer().batch_first(true).build().unwrap();
        (0..16).map(|_| layer()).collect::<Sequential>()
    };
    let x = Tensor::ones([1024, 64], DType::F32).unwrap();
    let sequences = Tensor::ones([8, 32, 32], DType::F32).unwrap();
    let rows = [
        ("MLP", mlp as fn() -> Sequential, x, 8, 0.5),
        ("transformer encoder", encoder, sequences, 4, 0.4),
    ];
    for (name, net, x, segments, part) in rows {
        let plain = peak_of_a_step(&net(), &x);
        let net = CheckpointedSequential::new(net(), segments).unwrap();
        let checkpointed = peak_of_a_step(&net, &x);
        let ratio = checkpointed as f64 / plain as f64;
        println!("{name}: {plain} bytes, {checkpointed} in {segments} segments: {ratio:.2}");
        assert!(ratio < part, "{name}: {ratio}");
    }
}

#[test]
fn the_logits_of_a_large_vocabulary_are_never_in_memory_together() {
    if ran_in_a_child(
        "gradient_memory::the_logits_of_a_large_vocabulary_are_never_in_memory_together",
    ) {
        return;
    }
    set_num_threads(1);
    let [rows, width, classes] = [512, 32, 20_000];
    let drawn = |shape: [usize; 2]| {
        Tensor::randn(shape, DType::F32)
            .unwrap()
            .with_grad()
            .unwrap()
    };
    let target: Vec<i64> = (0..rows as i64).map(|i| i * 37 % classes as i64).collect();
    let target = Tensor::from(target);
    let peak = |options: Option<&LinearCrossEntropyOptions>| {
        let (x, weight) = (drawn([rows, width]), drawn([classes, width]));
        let arguments = LinearCrossEntropyArguments {
            options,
            ..Default::default()
        };
        peak_of(|| linear_cross_entropy(&x, &weight, &target, arguments)?.backward())
    };
    let (logits, of_weight) = (rows * classes * 4, classes * width * 4);
    let (whole, chunked) = (peak(None), peak(Some(&LinearCrossEntropyOptions::new())));
    println!("{whole} bytes, {chunked} in chunks, of which {of_weight} are the gradient");
    assert!(whole >= logits, "{whole} bytes for logits of {logits}");
    assert!(
        chunked < of_weight + logits / 4,
        "{chunked} bytes for logits of {logits}"
    );
}

#[test]
fn a_mask_that_is_repeated_is_not_copied_for_each_head_and_query() {
    if ran_in_a_child(
        "gradient_memory::a_mask_that_is_repeated_is_not_copied_for_each_head_and_query",
    ) {
        return;
    }
    set_num_threads(1);
    let [batch, heads, steps, width] = [8, 4, 512, 8];
    let drawn = || Tensor::randn([batch, heads, steps, width], DType::F32).unwrap();
    let padding = Tensor::arange(0, steps as i64, ())
        .unwrap()
        .lt(400)
        .unwrap();
    let padding = padding.reshape([1, 1, 1, steps]).unwrap();
    let padding = padding
        .expand([batch, 1, 1, steps])
        .unwrap()
        .contiguous()
        .unwrap();
    let added = padding.to_dtype(DType::F32).unwrap();
    let whole = |mask: &Tensor| mask.expand([batch, heads, steps, steps]).unwrap();
    let peaks = |mask: Option<&Tensor>| {
        let options = AttentionOptions::new().attn_mask(mask);
        let x = drawn();
        let forward = peak_of(|| no_grad(|| x.scaled_dot_product_attention(&x, &x, options)));
        let x = x.with_grad().unwrap();
        let both = peak_of(|| {
            let y = x.scaled_dot_product_attention(&x, &x, options)?;
            y.sum(..)?.backward()
        });
        [forward, both]
    };
    let none = peaks(None);
    // A quarter of a mask for each batch element and query alone, without the heads.
    let copy = batch * steps * steps / 4;
    for mask in [&padding, &added, &whole(&padding), &whole(&added)] {
        let masked = peaks(Some(mask));
        let name = format!("{} {}", mask.dtype(), mask.shape());
        println!("{name}: {masked:?} bytes, {none:?} without");
        for (masked, none) in masked.into_iter().zip(none) {
            assert!(
                masked < none + copy,
                "{name}: {masked} bytes, {none} without"
            );
        }
    }
}
