//! The cost of tensors and autograd beyond the arithmetic.
//!
//! `cargo bench --bench tensor`; `python benches/peers/tensor.py` measures PyTorch's.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use module_nn::prelude::*;
use module_nn::{BackwardOptions, autograd};

fn small_operations(c: &mut Criterion) {
    let (a, b) = (Tensor::from([1.0_f32]), Tensor::from([2.0_f32]));
    let Ok(tracked) = a.with_grad() else { return };
    let mut group = c.benchmark_group("one element");
    group.bench_function("add, untracked", |bench| {
        bench.iter(|| black_box(&a).add(black_box(&b)));
    });
    group.bench_function("add, tracked", |bench| {
        bench.iter(|| black_box(&tracked).add(black_box(&b)));
    });
    group.bench_function("mul by a number", |bench| {
        bench.iter(|| black_box(&a).mul(2.0));
    });
    group.finish();
}

#[derive(Module)]
struct Mlp {
    hidden: Linear,
    head: Linear,
}

impl Forward for Mlp {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.hidden.call(x)?.relu()?)
    }
}

fn step(model: &Mlp, optimizer: &mut dyn Optimizer, x: &Tensor, y: &Tensor) -> Result<()> {
    let distance = model.call(x.clone())?.sub(y)?;
    model.zero_grad();
    distance.mul(&distance)?.mean(..)?.backward()?;
    optimizer.step(model)
}

fn training_step(c: &mut Criterion) {
    let mut bench = || {
        let model = Mlp {
            hidden: Linear::new(2, 16)?,
            head: Linear::new(16, 1)?,
        };
        let mut optimizer = SGD::new(&model, 1e-3)?;
        let x = Tensor::randn([8, 2], DType::F32)?;
        let y = Tensor::randn([8, 1], DType::F32)?;
        step(&model, &mut optimizer, &x, &y)?;
        c.bench_function("training step, MLP 2-16-1, batch 8, SGD", |bench| {
            bench.iter(|| step(&model, &mut optimizer, &x, &y));
        });
        Ok::<(), Error>(())
    };
    if let Err(error) = bench() {
        eprintln!("{error}");
    }
}

/// A loop over all parts of a tensor: the time per part must not grow with their number.
fn parts(c: &mut Criterion) {
    let mut group = c.benchmark_group("unbind and backward");
    for count in [10, 100, 1000, 10_000] {
        let x = Tensor::randn([count, 16], DType::F32).and_then(|x| x.with_grad());
        let Ok(x) = x else { return };
        let pass = || {
            let parts = x.unbind(0)?;
            let grads = parts.iter().map(Tensor::ones_like);
            let grads = grads.collect::<Result<Vec<_>>>()?;
            let (parts, grads): (Vec<_>, Vec<_>) = parts.iter().zip(&grads).unzip();
            autograd::grad_with(&parts, &grads, &[&x], BackwardOptions::default())
        };
        group.bench_function(format!("{count} parts"), |bench| bench.iter(pass));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = module_benches::criterion();
    targets = small_operations, training_step, parts
}
criterion_main!(benches);
