//! How long the work of models takes on an adapter, what it launches, and what it copies.
//!
//! ```text
//! cargo bench --manifest-path module-gpu/Cargo.toml --target-dir target --bench speed -- <index of the adapter, or nothing>
//! ```
//!
//! It prints the adapter, the processor and a table. A time is the median of runs that each end with a wait.

#[path = "../tests/common/steps.rs"]
mod steps;

use std::time::{Duration, Instant};

use module_gpu::{Gpu, Stats};
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, quantize};
use steps::{BuildStep, STEPS, Step};

/// Runs of each row: until this time has passed, at least [`LEAST`] and at most [`MOST`].
const TIME: Duration = Duration::from_secs(2);
const LEAST: usize = 5;
const MOST: usize = 200;

fn main() -> Result<()> {
    let arguments = std::env::args().skip(1);
    let index = arguments
        .filter_map(|argument| argument.parse().ok())
        .next();
    let device = module_gpu::device(index.unwrap_or(0))?;
    let Some(gpu) = device.backend_as::<Gpu>() else {
        return Err(device.unavailable("speed"));
    };
    let adapter = gpu.adapter();
    println!("adapter: {adapter}");
    println!("driver: {}", adapter.driver);
    println!("processor: {}", processor());
    println!();
    println!(
        "| work | time | launches | bytes to the device | bytes from it | waits | calls through the host |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (name, work) in WORKS.into_iter().chain(STEPS) {
        measure(gpu, &device, name, work(device)?)?;
    }
    Ok(())
}

/// The processor's name and the number of its threads that this program may use.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1))
        .unwrap_or(std::env::consts::ARCH);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {threads} threads")
}

/// Prints a row of the table.
fn measure(gpu: &Gpu, device: &Device, name: &str, mut work: Step) -> Result<()> {
    // The first runs compile kernels and make the state of optimizers.
    for _ in 0..2 {
        work()?;
    }
    device.synchronize()?;
    let before = gpu.stats();
    work()?;
    let after = gpu.stats();
    device.synchronize()?;
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < LEAST || (start.elapsed() < TIME && times.len() < MOST) {
        let start = Instant::now();
        work()?;
        device.synchronize()?;
        times.push(start.elapsed());
    }
    times.sort();
    let median = times[times.len() / 2].as_secs_f64() * 1e3;
    let routes = |stats: &Stats| stats.host_routes.values().sum::<u64>();
    println!(
        "| {name} | {median:.2} ms | {} | {} | {} | {} | {} |",
        after.launches - before.launches,
        after.uploaded - before.uploaded,
        after.downloaded - before.downloaded,
        after.waits - before.waits,
        routes(&after) - routes(&before),
    );
    Ok(())
}

/// Work without training: its name, and the function that builds it.
const WORKS: [(&str, BuildStep); 7] = [
    ("product, 512³", |device| product(device, 512)),
    ("product, 1024³", |device| product(device, 1024)),
    ("convolution 3 × 3, 64 channels, 56 × 56", convolution),
    ("transformer block, 768 wide, 1 × 64 tokens", block),
    ("linear 768 → 3072, 1 row", |device| linear(device, None)),
    ("the same, int8", |device| {
        linear(device, Some(Scheme::Int8))
    }),
    ("the same, nf4", |device| linear(device, Some(Scheme::NF4))),
];

fn product(device: Device, size: usize) -> Result<Step> {
    let [a, b] = [0, 1].map(|_| Tensor::randn([size, size], (DType::F32, device)));
    let (a, b) = (a?, b?);
    Ok(Box::new(move || a.matmul(&b)))
}

fn convolution(device: Device) -> Result<Step> {
    let layer = Conv2dConfig::new(64, 64, 3).padding(1).build()?;
    let x = Tensor::randn([1, 64, 56, 56], (DType::F32, device))?;
    forward(device, layer, x)
}

/// A block of the size of GPT-2 small.
fn block(device: Device) -> Result<Step> {
    let layer = TransformerEncoderLayerConfig::new(768, 12)
        .dim_feedforward(3072)
        .norm_first(true)
        .batch_first(true)
        .build()?;
    layer.eval();
    let x = Tensor::randn([1, 64, 768], (DType::F32, device))?;
    forward(device, layer, x)
}

fn linear(device: Device, scheme: Option<Scheme>) -> Result<Step> {
    let layer = Linear::new(768, 3072)?;
    if let Some(scheme) = scheme {
        quantize(&layer, Select::all(), scheme)?;
    }
    let x = Tensor::randn([1, 768], (DType::F32, device))?;
    forward(device, layer, x)
}

/// A pass of a layer without gradients.
fn forward<L>(device: Device, layer: L, x: Tensor) -> Result<Step>
where
    L: Module + Forward<Tensor, Output = Tensor> + 'static,
{
    layer.to_device(&device)?;
    Ok(Box::new(move || no_grad(|| layer.call(x.clone()))))
}
