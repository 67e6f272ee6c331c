//! The memory that a training step of a transformer encoder needs, in bytes rather than time.
//!
//! `cargo bench --bench memory`; `python benches/peers/memory.py` measures PyTorch's.

// A counting allocator implements an `unsafe` trait.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use module_nn::prelude::*;
use module_nn::{Approximate, AttentionOptions};

const LAYERS: usize = 12;
const WIDTH: usize = 256;
const HEADS: usize = 4;
const HIDDEN: usize = 1024;
const BATCH: usize = 8;
const LENGTH: usize = 128;

/// The system's allocator, which counts the bytes that are allocated and not freed.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn count(bytes: usize) {
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Module)]
struct Norm {
    weight: Parameter,
    bias: Parameter,
}

impl Norm {
    fn new() -> Result<Self> {
        let cpu = Device::cpu();
        Ok(Self {
            weight: Parameter::new(Tensor::ones([WIDTH], (DType::F32, &cpu))?)?,
            bias: Parameter::new(Tensor::zeros([WIDTH], (DType::F32, &cpu))?)?,
        })
    }
}

impl Forward for Norm {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let (weight, bias) = (self.weight.tensor(), self.bias.tensor());
        x.layer_norm([WIDTH], Some(&weight), Some(&bias), 1e-5)
    }
}

/// A pre-norm layer.
#[derive(Module)]
struct EncoderLayer {
    norm1: Norm,
    in_proj: Linear,
    out_proj: Linear,
    norm2: Norm,
    linear1: Linear,
    linear2: Linear,
}

impl EncoderLayer {
    fn new() -> Result<Self> {
        Ok(Self {
            norm1: Norm::new()?,
            in_proj: Linear::new(WIDTH, 3 * WIDTH)?,
            out_proj: Linear::new(WIDTH, WIDTH)?,
            norm2: Norm::new()?,
            linear1: Linear::new(WIDTH, HIDDEN)?,
            linear2: Linear::new(HIDDEN, WIDTH)?,
        })
    }

    fn attention(&self, x: Tensor) -> Result<Tensor> {
        let shape = x.shape().clone();
        let qkv = self.in_proj.call(x)?;
        let heads = [BATCH, LENGTH, HEADS, WIDTH / HEADS];
        let part = |i: usize| {
            qkv.narrow(-1, i * WIDTH..(i + 1) * WIDTH)?
                .reshape(heads)?
                .transpose(1, 2)
        };
        let (query, key, value) = (part(0)?, part(1)?, part(2)?);
        drop(qkv);
        let options = AttentionOptions::default();
        let y = query.scaled_dot_product_attention(&key, &value, options)?;
        drop((query, key, value));
        self.out_proj.call(y.transpose(1, 2)?.reshape(&shape)?)
    }
}

impl Forward for EncoderLayer {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = x.add(&self.attention(self.norm1.call(x.clone())?)?)?;
        let hidden = self.linear1.call(self.norm2.call(x.clone())?)?;
        let hidden = hidden.gelu(Approximate::None)?;
        x.add(&self.linear2.call(hidden)?)
    }
}

#[derive(Module)]
struct Encoder {
    layers: Vec<EncoderLayer>,
    norm: Norm,
}

impl Forward for Encoder {
    type Output = Tensor;

    fn forward(&self, mut x: Tensor) -> Result<Tensor> {
        for layer in &self.layers {
            x = layer.call(x)?;
        }
        self.norm.call(x)
    }
}

/// The peak number of live bytes since the last call, in MiB.
fn report(what: &str) {
    let peak = PEAK.swap(LIVE.load(Relaxed), Relaxed);
    println!("{what:30} {:8.1} MiB", peak as f64 / f64::from(1 << 20));
}

/// A line of the system's status of this process, in MiB.
fn resident(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: f64 = line.trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1024.0)
}

fn main() -> Result<()> {
    manual_seed(0);
    let before = resident("VmRSS:");
    let layers = (0..LAYERS).map(|_| EncoderLayer::new());
    let model = Encoder {
        layers: layers.collect::<Result<_>>()?,
        norm: Norm::new()?,
    };
    let mut optimizer = AdamW::new(&model, 1e-3)?;
    let x = Tensor::randn([BATCH, LENGTH, WIDTH], DType::F32)?;
    report("model and input");
    for _ in 0..3 {
        model.zero_grad();
        let loss = model.call(x.clone())?.mean(..)?;
        report("forward");
        loss.backward()?;
        drop(loss);
        report("backward");
        optimizer.step(&model)?;
        report("AdamW");
    }
    if let (Some(before), Some(peak)) = (before, resident("VmHWM:")) {
        let more = peak - before;
        println!("resident at most {peak:.1} MiB, {more:.1} MiB more than before the model");
    }
    Ok(())
}
