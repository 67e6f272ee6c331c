//! What convolutions, pooling and other sizes of images cost, forward and with the gradients.
//!
//! `cargo bench --bench convolution`; `python benches/peers/convolution.py` measures PyTorch's, on one
//! thread as ours.

use criterion::{Criterion, criterion_group, criterion_main};
use module_nn::{
    AvgPoolOptions, BackwardOptions, ConvOptions, ConvTransposeOptions, InterpolateMode,
    InterpolateOptions, Padding, PoolOptions, UnfoldOptions, prelude::*,
};

/// Measures `f` of tensors of these shapes, and `f` with its gradients.
fn measure(
    c: &mut Criterion,
    name: &str,
    shapes: &[&[usize]],
    f: impl Fn(&[Tensor]) -> Result<Tensor>,
) {
    let mut bench = || {
        let random = |shape: &&[usize]| Tensor::randn(*shape, DType::F32);
        let inputs = shapes.iter().map(random).collect::<Result<Vec<_>>>()?;
        let leaves: Vec<Tensor> = inputs
            .iter()
            .map(Tensor::with_grad)
            .collect::<Result<_>>()?;
        let grad = f(&inputs)?.ones_like()?;
        let mut group = c.benchmark_group(name);
        group.sample_size(20);
        group.bench_function("forward", |bench| bench.iter(|| f(&inputs)));
        group.bench_function("forward and backward", |bench| {
            bench.iter(|| {
                leaves.iter().for_each(Tensor::zero_grad);
                f(&leaves)?.backward_with(&grad, BackwardOptions::default())
            });
        });
        group.finish();
        Ok::<(), Error>(())
    };
    if let Err(error) = bench() {
        eprintln!("{name}: {error}");
    }
}

fn conv<const N: usize>(stride: usize, padding: usize, groups: usize) -> ConvOptions<N> {
    ConvOptions::new()
        .stride([stride; N])
        .padding(Padding::Size([padding; N]))
        .groups(groups)
}

fn convolutions(c: &mut Criterion) {
    let image: &[usize] = &[8, 64, 56, 56];
    measure(c, "conv2d 3x3", &[image, &[64, 64, 3, 3]], |x| {
        x[0].conv2d(&x[1], conv(1, 1, 1))
    });
    measure(c, "conv2d 3x3, stride 2", &[image, &[128, 64, 3, 3]], |x| {
        x[0].conv2d(&x[1], conv(2, 1, 1))
    });
    measure(c, "conv2d 1x1", &[image, &[64, 64, 1, 1]], |x| {
        x[0].conv2d(&x[1], conv(1, 0, 1))
    });
    measure(c, "conv2d 3x3, depthwise", &[image, &[64, 1, 3, 3]], |x| {
        x[0].conv2d(&x[1], conv(1, 1, 64))
    });
    measure(
        c,
        "conv2d 3x3, 256 channels of 14x14",
        &[&[8, 256, 14, 14], &[256, 256, 3, 3]],
        |x| x[0].conv2d(&x[1], conv(1, 1, 1)),
    );
    measure(
        c,
        "conv2d 7x7, stride 2, 3 channels of 224x224",
        &[&[1, 3, 224, 224], &[64, 3, 7, 7]],
        |x| x[0].conv2d(&x[1], conv(2, 3, 1)),
    );
    measure(
        c,
        "conv1d 9, 64 channels of 4000",
        &[&[8, 64, 4000], &[64, 64, 9]],
        |x| x[0].conv1d(&x[1], conv(1, 4, 1)),
    );
    measure(
        c,
        "conv3d 3x3x3, 16 channels of 16x28x28",
        &[&[2, 16, 16, 28, 28], &[16, 16, 3, 3, 3]],
        |x| x[0].conv3d(&x[1], conv(1, 1, 1)),
    );
    let doubling = ConvTransposeOptions::new().stride([2, 2]).padding([1, 1]);
    measure(
        c,
        "conv_transpose2d 4x4, stride 2, 28x28",
        &[&[8, 64, 28, 28], &[64, 32, 4, 4]],
        |x| x[0].conv_transpose2d(&x[1], doubling),
    );
    let window = UnfoldOptions::new([3, 3]).padding([1, 1]);
    measure(c, "im2col 3x3", &[image], |x| x[0].im2col(window));
}

fn pooling(c: &mut Criterion) {
    let image: &[usize] = &[8, 64, 56, 56];
    measure(c, "max_pool2d 2x2", &[image], |x| {
        x[0].max_pool2d(PoolOptions::new([2, 2]))
    });
    let overlapping = PoolOptions::new([3, 3]).stride([2, 2]).padding([1, 1]);
    measure(c, "max_pool2d 3x3, stride 2", &[image], |x| {
        x[0].max_pool2d(overlapping)
    });
    measure(c, "avg_pool2d 2x2", &[image], |x| {
        x[0].avg_pool2d(AvgPoolOptions::new([2, 2]))
    });
    let overlapping = AvgPoolOptions::new([3, 3]).stride([1, 1]).padding([1, 1]);
    measure(c, "avg_pool2d 3x3, stride 1", &[image], |x| {
        x[0].avg_pool2d(overlapping)
    });
    measure(c, "adaptive_avg_pool2d to 1", &[image], |x| {
        x[0].adaptive_avg_pool2d(1)
    });
    measure(c, "adaptive_max_pool2d to 7", &[image], |x| {
        x[0].adaptive_max_pool2d(7)
    });
}

fn sizes(c: &mut Criterion) {
    for (name, mode) in [
        ("interpolate nearest, by 2", InterpolateMode::Nearest),
        ("interpolate bilinear, by 2", InterpolateMode::Bilinear),
        ("interpolate bicubic, by 2", InterpolateMode::Bicubic),
    ] {
        let options = InterpolateOptions::scale_factor([2.0]).mode(mode);
        measure(c, name, &[&[8, 64, 28, 28]], |x| x[0].interpolate(&options));
    }
}

criterion_group! {
    name = benches;
    config = module_benches::criterion();
    targets = convolutions, pooling, sizes
}
criterion_main!(benches);
