//! What `benches/tensor.rs`, `training.rs`, `normalization.rs` and `convolution.rs` measure, in candle.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release --manifest-path benches/peers/candle/Cargo.toml`

use std::hint::black_box;
use std::time::Instant;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use candle_nn::{AdamW, Linear, Module, Optimizer, ParamsAdamW, SGD, VarBuilder, VarMap};

const CPU: Device = Device::Cpu;

/// Prints the microseconds that `work` takes: the median of samples of a tenth of a second each, and the least.
fn report<T>(name: &str, mut work: impl FnMut() -> Result<T>) -> Result<()> {
    let mut runs = 1_u32;
    let mut sample = |runs: u32| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..runs {
            black_box(work()?);
        }
        Ok(start.elapsed().as_secs_f64() * 1e6 / f64::from(runs))
    };
    while sample(runs)? * f64::from(runs) < 1e5 && runs < 1 << 24 {
        runs *= 2;
    }
    let mut samples = (0..11).map(|_| sample(runs)).collect::<Result<Vec<_>>>()?;
    samples.sort_by(f64::total_cmp);
    println!("{name:<44}{:>12.3} us{:>12.3}", samples[5], samples[0]);
    Ok(())
}

fn randn(shape: &[usize]) -> Result<Tensor> {
    Tensor::randn(0_f32, 1_f32, shape, &CPU)
}

fn small_operations() -> Result<()> {
    let (a, b) = (Tensor::new(&[1_f32], &CPU)?, Tensor::new(&[2_f32], &CPU)?);
    let tracked = Var::from_tensor(&a)?;
    report("add, untracked", || &a + &b)?;
    report("add, tracked", || tracked.as_tensor() + &b)?;
    report("mul by a number", || &a * 2.0)
}

fn layers(vars: &VarMap, sizes: &[usize]) -> Result<Vec<Linear>> {
    let vars = VarBuilder::from_varmap(vars, DType::F32, &CPU);
    (sizes.windows(2).enumerate())
        .map(|(i, sizes)| candle_nn::linear(sizes[0], sizes[1], vars.pp(i)))
        .collect()
}

fn forward(layers: &[Linear], x: &Tensor) -> Result<Tensor> {
    let (last, hidden) = layers.split_last().expect("a layer");
    let x = hidden.iter().try_fold(x.clone(), |x, layer| layer.forward(&x)?.relu())?;
    last.forward(&x)
}

fn small_step() -> Result<()> {
    let vars = VarMap::new();
    let layers = layers(&vars, &[2, 16, 1])?;
    let mut optimizer = SGD::new(vars.all_vars(), 1e-3)?;
    let (x, y) = (randn(&[8, 2])?, randn(&[8, 1])?);
    report("training step, MLP 2-16-1, batch 8, SGD", || {
        let loss = (forward(&layers, &x)? - &y)?.sqr()?.mean_all()?;
        optimizer.backward_step(&loss)
    })
}

fn large_step() -> Result<()> {
    let vars = VarMap::new();
    let layers = layers(&vars, &[784, 512, 256, 10])?;
    let mut optimizer = AdamW::new(vars.all_vars(), ParamsAdamW::default())?;
    let x = randn(&[64, 784])?;
    let target = Tensor::from_iter((0..64_u32).map(|i| i % 10), &CPU)?;
    report("training step, MLP 784-512-256-10, AdamW", || {
        let loss = candle_nn::loss::cross_entropy(&forward(&layers, &x)?, &target)?;
        optimizer.backward_step(&loss)
    })
}

/// `f` of a variable: forward alone, and with the gradient of its mean.
fn both(name: &str, shape: &[usize], f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<()> {
    let x = randn(shape)?;
    report(&format!("{name}, forward"), || f(&x))?;
    let x = Var::from_tensor(&x)?;
    report(&format!("{name}, and backward"), || f(x.as_tensor())?.sum_all()?.backward())
}

fn main() -> Result<()> {
    small_operations()?;
    small_step()?;
    large_step()?;
    let rows = [256, 1024];
    both("softmax [256, 1024]", &rows, |x| candle_nn::ops::softmax(x, D::Minus1))?;
    let (weight, bias) = (randn(&[1024])?, randn(&[1024])?);
    both("layer_norm [256, 1024]", &rows, |x| candle_nn::ops::layer_norm_slow(x, &weight, &bias, 1e-5))?;
    both("GELU [256, 1024]", &rows, Tensor::gelu_erf)?;
    let kernel = randn(&[64, 64, 3, 3])?;
    both("conv2d 3x3 [8, 64, 56, 56]", &[8, 64, 56, 56], |x| x.conv2d(&kernel, 1, 1, 1, 1))
}
