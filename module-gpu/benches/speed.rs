//! How long the work of models takes on an adapter, what it launches, and what it copies.
//!
//! ```text
//! cargo bench --manifest-path module-gpu/Cargo.toml --target-dir target --bench speed -- 0 tensor-cores float16
//! ```
//!
//! All arguments are optional: the index of the adapter, whether to use its tensor cores, and a part of the names of the rows.
//!
//! It prints the adapter, the processor and a table. A time is the median of runs, each of so many calls that it takes a while,
//! followed by a wait; it is divided by the number of calls. `speed.py` prints the same rows of PyTorch on an NVIDIA GPU.

#[path = "../tests/common/steps.rs"]
mod steps;

use std::time::{Duration, Instant};

use module_examples::models::gpt2::GPT2Config;
use module_gpu::{Gpu, Stats};
use module_nn::AttentionOptions;
use module_nn::prelude::*;
use module_nn::quantize::{Scheme, quantize};
use steps::{BuildStep, STEPS, Step};

/// The argument for tensor cores.
const CORES: &str = "tensor-cores";

/// Runs of each row: until this time has passed, at least [`LEAST`].
const TIME: Duration = Duration::from_millis(800);
const LEAST: usize = 5;

/// The time that the calls of a run take together, and their maximum.
const RUN: Duration = Duration::from_millis(20);
const MOST: usize = 500;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let index = arguments.iter().find_map(|argument| argument.parse().ok());
    let open = match arguments.iter().any(|argument| argument == CORES) {
        true => module_gpu::device_with_tensor_cores,
        false => module_gpu::device,
    };
    let device = open(index.unwrap_or(0))?;
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
    let large = match adapter.is_software {
        true => &[][..],
        false => &LARGE,
    };
    let is_part = |argument: &&String| {
        let is_index = argument.parse::<usize>().is_ok();
        // Cargo passes `--bench`.
        !is_index && *argument != CORES && !argument.starts_with("--")
    };
    let part = arguments.iter().find(is_part).map_or("", String::as_str);
    let all = WORKS.iter().chain(large).chain(&STEPS);
    for &(name, work) in all.filter(|(name, _)| name.contains(part)) {
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
    let mut run = |calls: usize| {
        let start = Instant::now();
        for _ in 0..calls {
            work()?;
        }
        device.synchronize()?;
        Ok::<_, Error>(start.elapsed())
    };
    let once = run(1)?.min(run(1)?).as_secs_f64();
    let calls = ((RUN.as_secs_f64() / once).ceil() as usize).clamp(1, MOST);
    let (start, mut times) = (Instant::now(), Vec::new());
    while times.len() < LEAST || start.elapsed() < TIME {
        times.push(run(calls)?);
    }
    times.sort();
    let median = times[times.len() / 2].as_secs_f64() * 1e3 / calls as f64;
    let routes = |stats: &Stats| stats.host_routes.values().sum::<u64>();
    println!(
        "| {name} | {median:.3} ms | {} | {} | {} | {} | {} |",
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
    ("convolution 3 × 3, 64 channels, 56 × 56", |device| {
        convolution(device, 1, DType::F32)
    }),
    ("transformer block, 768 wide, 1 × 64 tokens", |device| {
        block(device, [1, 64], DType::F32)
    }),
    ("linear 768 → 3072, 1 row", |device| linear(device, None)),
    ("the same, int8", |device| {
        linear(device, Some(Scheme::Int8))
    }),
    ("the same, nf4", |device| linear(device, Some(Scheme::NF4))),
];

/// Work for hardware.
const LARGE: [(&str, BuildStep); 17] = [
    ("product, 4096³", |device| product(device, 4096)),
    ("the same, float16", |device| {
        let [a, b] = [0, 1].map(|_| normal(device, &[4096, 4096])?.to_dtype(DType::F16));
        let (a, b) = (a?, b?);
        Ok(Box::new(move || a.matmul(&b)))
    }),
    ("linear 4096 → 4096, 1 row", |device| {
        forward(
            device,
            Linear::new(4096, 4096)?,
            normal(device, &[1, 4096])?,
        )
    }),
    ("convolution, the same, 32 images", |device| {
        convolution(device, 32, DType::F32)
    }),
    ("convolution, 32 images, float16", |device| {
        convolution(device, 32, DType::F16)
    }),
    ("transformer block, 768 wide, 8 × 512 tokens", |device| {
        block(device, [8, 512], DType::F32)
    }),
    ("transformer block, 8 × 512 tokens, float16", |device| {
        block(device, [8, 512], DType::F16)
    }),
    ("attention, 8 × 12 × 512 × 64, causal", |device| {
        let x = normal(device, &[8, 12, 512, 64])?;
        Ok(Box::new(move || {
            let options = AttentionOptions::new().is_causal(true);
            x.scaled_dot_product_attention(&x, &x, options)
        }))
    }),
    ("addition, 16 million elements", |device| {
        let [a, b] = [0, 1].map(|_| normal(device, &[4096, 4096]));
        let (a, b) = (a?, b?);
        Ok(Box::new(move || &a + &b))
    }),
    ("addition of rows, the same", |device| {
        let (a, b) = (normal(device, &[4096, 4096])?, normal(device, &[4096])?);
        Ok(Box::new(move || &a + &b))
    }),
    ("gelu, the same", |device| {
        let x = normal(device, &[4096, 4096])?;
        Ok(Box::new(move || x.gelu(Approximate::None)))
    }),
    ("sum, the same", |device| {
        let x = normal(device, &[4096, 4096])?;
        Ok(Box::new(move || x.sum(..)))
    }),
    ("softmax, the same", |device| {
        let x = normal(device, &[4096, 4096])?;
        Ok(Box::new(move || x.softmax(1)))
    }),
    ("layer norm, the same", |device| {
        forward(
            device,
            LayerNorm::new(4096)?,
            normal(device, &[4096, 4096])?,
        )
    }),
    ("ResNet-18, 32 images of 224 × 224", |device| {
        steps::resnet_18(device, [32, 224])
    }),
    (
        "GPT-2 with 124 million parameters, 4 × 256 tokens",
        |device| steps::gpt2(device, GPT2Config::default(), [4, 256]),
    ),
    ("GPT-2, the same, without dropout", |device| {
        let config = GPT2Config {
            resid_pdrop: 0.0,
            embd_pdrop: 0.0,
            attn_pdrop: 0.0,
            ..GPT2Config::default()
        };
        steps::gpt2(device, config, [4, 256])
    }),
];

fn normal(device: Device, shape: &[usize]) -> Result<Tensor> {
    Tensor::randn(shape, (DType::F32, device))
}

fn product(device: Device, size: usize) -> Result<Step> {
    let [a, b] = [0, 1].map(|_| normal(device, &[size, size]));
    let (a, b) = (a?, b?);
    Ok(Box::new(move || a.matmul(&b)))
}

fn convolution(device: Device, images: usize, dtype: DType) -> Result<Step> {
    let layer = Conv2dConfig::new(64, 64, 3).padding(1).build()?;
    let x = normal(device, &[images, 64, 56, 56])?.to_dtype(dtype)?;
    layer.to_dtype(dtype)?;
    forward(device, layer, x)
}

/// A block of the size of GPT-2 small.
fn block(device: Device, [batch, length]: [usize; 2], dtype: DType) -> Result<Step> {
    let layer = TransformerEncoderLayerConfig::new(768, 12)
        .dim_feedforward(3072)
        .norm_first(true)
        .batch_first(true)
        .build()?;
    layer.eval();
    let x = normal(device, &[batch, length, 768])?.to_dtype(dtype)?;
    layer.to_dtype(dtype)?;
    forward(device, layer, x)
}

fn linear(device: Device, scheme: Option<Scheme>) -> Result<Step> {
    let layer = Linear::new(768, 3072)?;
    if let Some(scheme) = scheme {
        quantize(&layer, Select::all(), scheme)?;
    }
    let x = normal(device, &[1, 768])?;
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
