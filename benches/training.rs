//! Steps of training in which the arithmetic counts.
//!
//! `cargo bench --bench training`; `python benches/peers/training.py` measures PyTorch's.

use criterion::{Criterion, criterion_group, criterion_main};
use module_nn::prelude::*;

#[derive(Module)]
struct Mlp {
    first: Linear,
    second: Linear,
    head: Linear,
}

impl Forward for Mlp {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.first.call(x)?.relu()?;
        self.head.call(self.second.call(x)?.relu()?)
    }
}

fn mlp(c: &mut Criterion) -> Result<()> {
    manual_seed(0);
    let model = Mlp {
        first: Linear::new(784, 512)?,
        second: Linear::new(512, 256)?,
        head: Linear::new(256, 10)?,
    };
    let mut optimizer = AdamW::new(&model, 1e-3)?;
    let x = Tensor::randn([64, 784], DType::F32)?;
    let target = Tensor::from_vec((0..64).map(|i| i % 10).collect::<Vec<i64>>(), [64])?;
    let backward = || {
        let logits = model.call(x.clone())?;
        model.zero_grad();
        logits
            .cross_entropy(&target, Default::default())?
            .backward()
    };
    backward()?;
    optimizer.step(&model)?;
    let mut group = c.benchmark_group("MLP 784-512-256-10, batch 64");
    group.bench_function("forward", |bench| {
        bench.iter(|| no_grad(|| model.call(x.clone())));
    });
    group.bench_function("forward and backward", |bench| bench.iter(backward));
    group.bench_function("AdamW", |bench| bench.iter(|| optimizer.step(&model)));
    group.bench_function("training step", |bench| {
        bench.iter(|| {
            backward()?;
            optimizer.step(&model)
        });
    });
    group.finish();
    Ok(())
}

fn benches(c: &mut Criterion) {
    if let Err(error) = mlp(c) {
        eprintln!("{error}");
    }
}

criterion_group! {
    name = training;
    config = module_benches::criterion();
    targets = benches
}
criterion_main!(training);
