//! The cost of the module mechanism: calls, hooks, traversals.
//!
//! `cargo bench --bench module`; `python benches/peers/module.py` measures PyTorch's.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use module_nn::module::Visitor;
use module_nn::{
    Call, Forward, Identity, Marker, Module, ModuleExt, Parameter, Result, Tensor, hooks,
};

/// A module that computes nothing, so that only the mechanism is measured.
#[derive(Module)]
struct Empty {
    marker: Marker,
}

impl Forward<()> for Empty {
    type Output = ();

    #[inline(never)]
    fn forward(&self, (): ()) -> Result<()> {
        black_box(&self.marker);
        Ok(())
    }
}

/// A layer's two parameters.
#[derive(Module)]
struct Pair {
    weight: Parameter,
    bias: Parameter,
}

fn parameter() -> Result<Parameter> {
    Parameter::new(Tensor::from([0.0_f32]))
}

fn deep(layers: usize) -> Result<Vec<Pair>> {
    let pair = || {
        Ok(Pair {
            weight: parameter()?,
            bias: parameter()?,
        })
    };
    (0..layers).map(|_| pair()).collect()
}

/// Counts parameters without building names.
#[derive(Default)]
struct Count(usize);

impl<'a> Visitor<'a> for Count {
    fn parameter(&mut self, _: &str, parameter: &'a Parameter) {
        black_box(parameter);
        self.0 += 1;
    }

    fn module(&mut self, _: &str, module: &'a dyn Module) {
        module.visit(self);
    }
}

fn calls(c: &mut Criterion) {
    let (module, other) = (
        Empty {
            marker: Marker::new(),
        },
        Empty {
            marker: Marker::new(),
        },
    );
    let mut group = c.benchmark_group("call");
    group.bench_function("forward", |b| b.iter(|| black_box(&module).forward(())));
    group.bench_function("call", |b| b.iter(|| black_box(&module).call(())));
    let hook = other.register_forward_hook(|_| ());
    group.bench_function("call, a hook elsewhere", |b| {
        b.iter(|| black_box(&module).call(()))
    });
    drop(hook);
    let hook = module.register_forward_hook(|_| ());
    group.bench_function("call, an empty hook", |b| {
        b.iter(|| black_box(&module).call(()))
    });
    drop(hook);
    group.finish();
    calls_of_a_layer(c);
}

/// The cost of hooks that see a tensor.
fn calls_of_a_layer(c: &mut Criterion) {
    let layer = Identity::new();
    let Ok(x) = Tensor::from([0.0_f32]).with_grad() else {
        return;
    };
    let mut group = c.benchmark_group("call of a layer");
    let mut measure = |name: &str| {
        group.bench_function(name, |b| b.iter(|| black_box(&layer).call(x.clone())));
    };
    measure("without hooks");
    let hook = layer.register_forward_hook(|_| ());
    measure("an empty hook");
    drop(hook);
    let hook = hooks::register_module_forward_hook(|_| ());
    measure("an empty hook on every module");
    drop(hook);
    let hook = layer.register_full_backward_hook(|_| ());
    measure("an empty full backward hook");
    drop(hook);
    group.finish();
}

fn walks(c: &mut Criterion) {
    const LAYERS: usize = 10_000;
    let Ok(model) = deep(LAYERS) else { return };
    let mut group = c.benchmark_group("walk of 10,000 layers");
    group.throughput(Throughput::Elements(2 * LAYERS as u64));
    group.bench_function("visit", |b| {
        b.iter(|| {
            let mut count = Count::default();
            black_box(&model).visit(&mut count);
            count.0
        });
    });
    group.bench_function("named_parameters", |b| {
        b.iter(|| black_box(&model).named_parameters().count())
    });
    group.bench_function("state_dict", |b| {
        b.iter(|| black_box(&model).state_dict().map(|s| s.len()))
    });
    group.finish();
}

criterion_group!(benches, calls, walks);
criterion_main!(benches);
