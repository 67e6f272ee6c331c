//! What products of matrices cost, and the layers whose time they are, in the shapes of real models.
//!
//! `cargo bench --bench products`; `python benches/peers/products.py` measures PyTorch's, on one thread as
//! ours. Times are the least of many rounds, with the multiply-adds that they make in a nanosecond, twice.

use std::time::Instant;

use module_nn::prelude::*;
use module_nn::{AttentionOptions, BackwardOptions, ConvOptions, Padding, set_num_threads};

/// Prints the least time of `f`, and its rate for so many multiply-adds.
fn measure(name: &str, products: usize, mut f: impl FnMut() -> Result<()>) -> Result<()> {
    f()?;
    let (mut least, begin) = (f64::MAX, Instant::now());
    while begin.elapsed().as_secs_f64() < 0.4 {
        let start = Instant::now();
        f()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    let rate = 2.0 * products as f64 / least / 1e9;
    println!("{name:44} {:10.1} µs {rate:7.1} GFLOP/s", least * 1e6);
    Ok(())
}

/// The time of `f`, and that of `f` with the gradients of its inputs.
fn both(
    name: &str,
    products: usize,
    inputs: &[Tensor],
    f: impl Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<()> {
    measure(name, products, || f(inputs).map(drop))?;
    let leaves = inputs.iter().map(Tensor::with_grad);
    let leaves = leaves.collect::<Result<Vec<_>>>()?;
    let grad = f(inputs)?.ones_like()?;
    measure(&format!("{name}, and backward"), 3 * products, || {
        leaves.iter().for_each(Tensor::zero_grad);
        f(&leaves)?.backward_with(&grad, BackwardOptions::default())
    })
}

fn random<const N: usize>(shape: [usize; N]) -> Result<Tensor> {
    Tensor::randn(shape, DType::F32)
}

fn products() -> Result<()> {
    for [m, k, n] in [
        [512, 512, 512],
        [1024, 1024, 1024],
        [2048, 768, 768],
        [64, 784, 512],
        [512, 64, 784],
        [64, 64, 64],
        [32, 32, 32],
        [16, 16, 16],
        [8, 1024, 1024],
        [4, 1024, 4096],
        [1, 1024, 4096],
    ] {
        let (a, b) = (random([m, k])?, random([k, n])?);
        let (at, bt) = (random([k, m])?.t()?, random([n, k])?.t()?);
        let size = format!("{m}x{k}x{n}");
        measure(&size, m * k * n, || a.matmul(&b).map(drop))?;
        measure(&format!("{size}, b transposed"), m * k * n, || {
            a.matmul(&bt).map(drop)
        })?;
        measure(&format!("{size}, a transposed"), m * k * n, || {
            at.matmul(&b).map(drop)
        })?;
        measure(&format!("{size}, both transposed"), m * k * n, || {
            at.matmul(&bt).map(drop)
        })?;
    }
    let (a, b) = (random([96, 128, 64])?, random([96, 64, 128])?);
    both(
        "batch of 96, 128x64x128",
        96 * 128 * 64 * 128,
        &[a, b],
        |x| x[0].matmul(&x[1]),
    )
}

fn layers() -> Result<()> {
    for (rows, dtype) in [
        (1, DType::F32),
        (1, DType::BF16),
        (1, DType::F16),
        (64, DType::BF16),
    ] {
        let x = random([rows, 1024])?.to_dtype(dtype)?;
        let w = random([4096, 1024])?.to_dtype(dtype)?;
        let name = format!("linear 1024 to 4096, {rows} rows, {dtype}");
        measure(&name, rows * 1024 * 4096, || x.linear(&w, None).map(drop))?;
    }
    let heads = [2, 8, 256, 64];
    let inputs = [random(heads)?, random(heads)?, random(heads)?];
    let padding = Tensor::arange(0, 256, ())?.lt(200)?;
    let masks = [
        ("", None),
        (
            ", padding mask",
            Some(padding.reshape([1, 1, 1, 256])?.expand([2, 8, 256, 256])?),
        ),
        (
            ", padding mask of sequences",
            Some(padding.reshape([1, 1, 1, 256])?.expand([2, 1, 1, 256])?),
        ),
    ];
    for (name, mask) in masks {
        let name = format!("attention [2, 8, 256, 64]{name}");
        both(&name, 2 * 8 * 256 * 256 * 128, &inputs, |x| {
            let options = AttentionOptions::new().attn_mask(mask.as_ref());
            x[0].scaled_dot_product_attention(&x[1], &x[2], options)
        })?;
    }
    let x = [random([64, 4096])?];
    both("relu [64, 4096]", 64 * 4096, &x, |x| x[0].relu())?;
    for (batch, channels, size) in [
        (8, 512, 2),
        (8, 512, 4),
        (1, 512, 7),
        (8, 512, 7),
        (8, 64, 56),
    ] {
        let name = format!("conv2d 3x3, [{batch}, {channels}, {size}, {size}]");
        let inputs = [
            random([batch, channels, size, size])?,
            random([channels, channels, 3, 3])?,
        ];
        let products = batch * channels * channels * 9 * size * size;
        both(&name, products, &inputs, |x| {
            let options = ConvOptions::new().padding(Padding::Size([1, 1]));
            x[0].conv2d(&x[1], options)
        })?;
    }
    Ok(())
}

fn main() -> Result<()> {
    let threads = std::env::var("THREADS").ok().and_then(|n| n.parse().ok());
    set_num_threads(threads.unwrap_or(1));
    products()?;
    layers()
}
