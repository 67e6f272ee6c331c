//! Normalizations, softmax, attention and cross-entropy, forward and with their gradients.
//!
//! `cargo bench --bench normalization`; `python benches/peers/normalization.py` measures PyTorch's.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use module_nn::prelude::*;
use module_nn::{AttentionOptions, BackwardOptions};

/// Measures `f` alone, and with the gradients of all inputs.
fn both(
    c: &mut Criterion,
    name: &str,
    shapes: &[&[usize]],
    f: impl Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<()> {
    let draw = |shape: &&[usize]| Tensor::randn(*shape, DType::F32);
    let inputs = shapes.iter().map(draw).collect::<Result<Vec<_>>>()?;
    let leaves = inputs.iter().map(Tensor::with_grad);
    let leaves = leaves.collect::<Result<Vec<_>>>()?;
    let grad = f(&inputs)?.ones_like()?;
    let mut group = c.benchmark_group(name);
    group.bench_function("forward", |bench| {
        bench.iter(|| no_grad(|| f(black_box(&inputs))));
    });
    group.bench_function("forward and backward", |bench| {
        bench.iter(|| {
            leaves.iter().for_each(Tensor::zero_grad);
            f(black_box(&leaves))?.backward_with(&grad, BackwardOptions::default())
        });
    });
    group.finish();
    Ok(())
}

fn all(c: &mut Criterion) -> Result<()> {
    both(
        c,
        "layer_norm [256, 1024]",
        &[&[256, 1024], &[1024], &[1024]],
        |x| x[0].layer_norm([1024], Some(&x[1]), Some(&x[2]), 1e-5),
    )?;
    both(c, "rms_norm [256, 1024]", &[&[256, 1024], &[1024]], |x| {
        x[0].rms_norm([1024], Some(&x[1]), Some(1e-6))
    })?;
    both(
        c,
        "group_norm [8, 64, 32, 32], 8",
        &[&[8, 64, 32, 32], &[64], &[64]],
        |x| x[0].group_norm(8, Some(&x[1]), Some(&x[2]), 1e-5),
    )?;
    both(
        c,
        "batch_norm [8, 64, 32, 32]",
        &[&[8, 64, 32, 32], &[64], &[64]],
        |x| Ok(x[0].batch_norm_train(Some(&x[1]), Some(&x[2]), 1e-5)?.0),
    )?;
    both(
        c,
        "batch_norm [1024, 256]",
        &[&[1024, 256], &[256], &[256]],
        |x| Ok(x[0].batch_norm_train(Some(&x[1]), Some(&x[2]), 1e-5)?.0),
    )?;
    let (mean, var) = (
        Tensor::randn([64], DType::F32)?,
        Tensor::rand([64], DType::F32)?,
    );
    both(
        c,
        "batch_norm [8, 64, 32, 32], evaluation",
        &[&[8, 64, 32, 32], &[64], &[64]],
        |x| x[0].batch_norm(&mean, &var, Some(&x[1]), Some(&x[2]), 1e-5),
    )?;
    both(c, "softmax [256, 1024]", &[&[256, 1024]], |x| {
        x[0].softmax(-1)
    })?;
    both(c, "softmax [8, 256, 128], 1", &[&[8, 256, 128]], |x| {
        x[0].softmax(1)
    })?;
    both(c, "log_softmax [256, 1024]", &[&[256, 1024]], |x| {
        x[0].log_softmax(-1)
    })?;
    both(c, "log_softmax [8, 256, 128], 1", &[&[8, 256, 128]], |x| {
        x[0].log_softmax(1)
    })?;
    both(c, "logsumexp [256, 1024]", &[&[256, 1024]], |x| {
        x[0].logsumexp(-1)
    })?;
    both(c, "logsumexp [8, 256, 128], 1", &[&[8, 256, 128]], |x| {
        x[0].logsumexp(1)
    })?;
    let classes = |count: i64| (0..count).map(|i| i * 37 % 100).collect::<Vec<_>>();
    let target = Tensor::from_vec(classes(256), [256])?;
    both(c, "cross_entropy [256, 1024]", &[&[256, 1024]], |x| {
        x[0].cross_entropy(&target, Default::default())
    })?;
    let target = Tensor::from_vec(classes(1024), [8, 128])?;
    both(c, "cross_entropy [8, 256, 128]", &[&[8, 256, 128]], |x| {
        x[0].cross_entropy(&target, Default::default())
    })?;
    let heads: &[usize] = &[2, 8, 256, 64];
    for is_causal in [false, true] {
        let name = format!(
            "attention [2, 8, 256, 64]{}",
            if is_causal { ", causal" } else { "" }
        );
        both(c, &name, &[heads, heads, heads], |x| {
            let options = AttentionOptions::new().is_causal(is_causal);
            x[0].scaled_dot_product_attention(&x[1], &x[2], options)
        })?;
    }
    Ok(())
}

fn benches(c: &mut Criterion) {
    manual_seed(0);
    if let Err(error) = all(c) {
        eprintln!("{error}");
    }
}

criterion_group! {
    name = normalization;
    config = module_benches::criterion();
    targets = benches
}
criterion_main!(normalization);
