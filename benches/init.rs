//! The time to initialize layers and models.
//!
//! `cargo bench --bench init`; `python benches/peers/init.py` runs this and PyTorch in turn.

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

use module_examples::models::pretrained::Pretrained;
use module_examples::models::resnet::{ResNet, ResNetConfig};
use module_nn::init::{self, Normal, zeros};
use module_nn::prelude::*;

/// torchvision's network.
fn resnet_18() -> Result<ResNet> {
    ResNet::new(&ResNetConfig::new("resnet18"))
}

/// The CPU time of this thread in nanoseconds, which other programs affect little; if the system does
/// not report it, the wall time of the program.
fn now() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split(' ').next().and_then(|text| text.parse().ok());
    first.unwrap_or_else(|| START.elapsed().as_secs_f64() * 1e9)
}

/// Prints the minimum time of several rounds; their results are dropped outside of the measurement.
fn time<T>(what: &str, mut run: impl FnMut() -> Result<T>) -> Result<()> {
    let mut least = f64::INFINITY;
    for _ in 0..7 {
        let start = now();
        let result = black_box(run()?);
        least = least.min(now() - start);
        drop(result);
        // Otherwise memory cached for tensors would make later rounds cheaper.
        Device::cpu().empty_cache();
    }
    println!("{what:32} {:9.2} ms", 1e-6 * least);
    Ok(())
}

#[derive(Module)]
struct Attention {
    c_attn: Linear,
    c_proj: Linear,
}

#[derive(Module)]
struct Mlp {
    c_fc: Linear,
    c_proj: Linear,
}

#[derive(Module)]
struct Block {
    ln_1: LayerNorm,
    attn: Attention,
    ln_2: LayerNorm,
    mlp: Mlp,
}

/// The members of GPT-2 with 124 million parameters, and its initialization.
#[derive(Module)]
struct Gpt2 {
    wte: Embedding,
    wpe: Embedding,
    h: Vec<Block>,
    ln_f: LayerNorm,
}

const WIDTH: usize = 768;

impl Block {
    fn new() -> Result<Self> {
        Ok(Self {
            ln_1: LayerNorm::new(WIDTH)?,
            attn: Attention {
                c_attn: Linear::new(WIDTH, 3 * WIDTH)?,
                c_proj: Linear::new(WIDTH, WIDTH)?,
            },
            ln_2: LayerNorm::new(WIDTH)?,
            mlp: Mlp {
                c_fc: Linear::new(WIDTH, 4 * WIDTH)?,
                c_proj: Linear::new(4 * WIDTH, WIDTH)?,
            },
        })
    }
}

impl Gpt2 {
    fn new() -> Result<Self> {
        let model = Self {
            wte: Embedding::new(50257, WIDTH)?,
            wpe: Embedding::new(1024, WIDTH)?,
            h: (0..12).map(|_| Block::new()).collect::<Result<_>>()?,
            ln_f: LayerNorm::new(WIDTH)?,
        };
        let normal = Normal {
            mean: 0.0,
            std: 0.02,
        };
        init::each(&model, |_, linear: &Linear| {
            linear.weight().initialize(normal)?;
            linear
                .bias()
                .get()
                .map_or(Ok(()), |bias| bias.initialize(zeros()))
        })?;
        init::each(&model, |_, table: &Embedding| {
            table.weight().initialize(normal)
        })?;
        Ok(model)
    }
}

fn main() -> Result<()> {
    module_nn::set_num_threads(1);
    manual_seed(0);
    time("Linear(4096, 4096)", || Linear::new(4096, 4096))?;
    time("normal_, 16 Mi numbers", || {
        Tensor::randn(1 << 24, DType::F32)
    })?;
    time("uniform_, 16 Mi numbers", || {
        Tensor::rand(1 << 24, DType::F32)
    })?;
    time("ResNet-18", resnet_18)?;
    time("GPT-2 124M", Gpt2::new)?;
    time("ResNet-18, deferred", || deferred(resnet_18))?;
    let model = resnet_18()?;
    time("ResNet-18, reset", || model.reset_parameters())
}
