//! A transformer encoder layer, forward and with all gradients, without dropout and with it; one token of a decoder with a
//! cache.
//!
//! `cargo bench --bench transformer`; `python benches/peers/transformer.py` measures PyTorch's.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use module_nn::prelude::*;
use module_nn::{BackwardOptions, set_num_threads};

fn encoder_layer(c: &mut Criterion, dropout: f64) -> Result<()> {
    let layer = TransformerEncoderLayerConfig::new(256, 4)
        .dim_feedforward(1024)
        .dropout(dropout)
        .batch_first(true)
        .build()?;
    let x = Tensor::randn([8, 64, 256], DType::F32)?;
    let leaf = x.with_grad()?;
    let grad = x.ones_like()?;
    let name = format!("encoder layer [8, 64, 256], dropout {dropout}");
    let mut group = c.benchmark_group(name);
    group.bench_function("forward", |bench| {
        bench.iter(|| no_grad(|| layer.call(black_box(x.clone()))));
    });
    group.bench_function("forward and backward", |bench| {
        bench.iter(|| {
            layer.zero_grad();
            leaf.zero_grad();
            let y = layer.call(black_box(leaf.clone()))?;
            y.backward_with(&grad, BackwardOptions::default())
        });
    });
    group.finish();
    Ok(())
}

fn token(c: &mut Criterion) -> Result<()> {
    let attention = GroupedQueryAttentionConfig::new(512, 8)
        .num_kv_heads(2)
        .rotary(RotaryEmbeddingConfig::new(64))
        .build()?;
    attention.eval();
    let (past, token) = (
        Tensor::randn([1, 512, 512], DType::F32)?,
        Tensor::randn([1, 1, 512], DType::F32)?,
    );
    let (_, cache) = no_grad(|| attention.call((past, KeyValueCache::new())))?;
    c.bench_function("a token after 512, 8 heads and 2", |bench| {
        bench.iter(|| no_grad(|| attention.call((black_box(token.clone()), cache.clone()))));
    });
    Ok(())
}

fn benches(c: &mut Criterion) {
    set_num_threads(1);
    manual_seed(0);
    let run = encoder_layer(c, 0.0)
        .and_then(|()| encoder_layer(c, 0.1))
        .and_then(|()| token(c));
    if let Err(error) = run {
        eprintln!("{error}");
    }
}

criterion_group!(transformer, benches);
criterion_main!(transformer);
