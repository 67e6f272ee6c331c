//! Optimizers and whole networks.

use candle_core::{DType, IndexOp, Result, Tensor};
use candle_nn::{
    AdamW, BatchNorm, BatchNormConfig, Conv2d, Conv2dConfig, LayerNorm, Linear, Module, ModuleT, Optimizer,
    ParamsAdamW, SGD, VarBuilder, VarMap,
};

use crate::operations::{attend, mask};
use crate::row::{CPU, Rows, randn, work};

/// A model over new variables.
fn build<T>(make: impl FnOnce(VarBuilder) -> Result<T>) -> Result<(T, VarMap)> {
    let variables = VarMap::new();
    let model = make(VarBuilder::from_varmap(&variables, DType::F32, &CPU))?;
    Ok((model, variables))
}

/// Linear layers of these sizes with ReLU between them.
struct Classifier(Vec<Linear>);

impl Classifier {
    fn new(sizes: &[usize], vars: &VarBuilder) -> Result<Self> {
        let layer = |(i, pair): (usize, &[usize])| candle_nn::linear(pair[0], pair[1], vars.pp(i));
        sizes.windows(2).enumerate().map(layer).collect::<Result<_>>().map(Self)
    }
}

impl Module for Classifier {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (last, hidden) = self.0.split_last().expect("a layer");
        let x = hidden.iter().try_fold(x.clone(), |x, layer| layer.forward(&x)?.relu())?;
        last.forward(&x)
    }
}

fn targets(count: u32, classes: u32) -> Result<Tensor> {
    Tensor::from_iter((0..count).map(|i| i % classes), &CPU)
}

fn mlp(rows: &mut Rows) {
    const SIZES: [usize; 4] = [784, 512, 256, 10];
    for batch in [64, 1] {
        rows.add(format!("MLP 784-512-256-10, batch {batch}, inference"), move || {
            let (model, _vars) = build(|vars| Classifier::new(&SIZES, &vars))?;
            let detached = |layer: &Linear| Linear::new(layer.weight().detach(), layer.bias().map(Tensor::detach));
            let model = Classifier(model.0.iter().map(detached).collect());
            let x = randn(&[batch, 784])?;
            work(move || model.forward(&x))
        });
    }
    rows.add("MLP 784-512-256-10, batch 64, SGD step", || {
        let (model, vars) = build(|vars| Classifier::new(&SIZES, &vars))?;
        let (x, target) = (randn(&[64, 784])?, targets(64, 10)?);
        let mut optimizer = SGD::new(vars.all_vars(), 1e-4)?;
        work(move || optimizer.backward_step(&candle_nn::loss::cross_entropy(&model.forward(&x)?, &target)?))
    });
    rows.add("MLP 784-512-256-10, batch 64, AdamW step", || {
        let (model, vars) = build(|vars| Classifier::new(&SIZES, &vars))?;
        let (x, target) = (randn(&[64, 784])?, targets(64, 10)?);
        let mut optimizer = AdamW::new(vars.all_vars(), ParamsAdamW::default())?;
        work(move || optimizer.backward_step(&candle_nn::loss::cross_entropy(&model.forward(&x)?, &target)?))
    });
    rows.add("MLP 2-16-1, batch 8, SGD step", || {
        let (model, vars) = build(|vars| Classifier::new(&[2, 16, 1], &vars))?;
        let (x, y) = (randn(&[8, 2])?, randn(&[8, 1])?);
        let mut optimizer = SGD::new(vars.all_vars(), 1e-3)?;
        work(move || optimizer.backward_step(&(model.forward(&x)? - &y)?.sqr()?.mean_all()?))
    });
}

fn optimizers(rows: &mut Rows) {
    let gradients = || -> Result<_> {
        let (model, vars) = build(|vars| Classifier::new(&[768, 2304, 768, 2304, 768], &vars))?;
        let gradients = model.forward(&randn(&[1, 768])?)?.sum_all()?.backward()?;
        Ok((vars, gradients))
    };
    rows.add("SGD, 7.1 million parameters", move || {
        let (vars, gradients) = gradients()?;
        let mut optimizer = SGD::new(vars.all_vars(), 1e-6)?;
        work(move || optimizer.step(&gradients))
    });
    rows.add("AdamW, 7.1 million parameters", move || {
        let (vars, gradients) = gradients()?;
        let mut optimizer = AdamW::new(vars.all_vars(), ParamsAdamW::default())?;
        work(move || optimizer.step(&gradients))
    });
}

/// A block of GPT-2: attention and an MLP of four times the width, each after a layer normalization.
struct Gpt2Block {
    ln_1: LayerNorm,
    c_attn: Linear,
    c_proj: Linear,
    ln_2: LayerNorm,
    c_fc: Linear,
    mlp_proj: Linear,
    mask: Tensor,
}

impl Gpt2Block {
    fn new(width: usize, vars: &VarBuilder) -> Result<Self> {
        Ok(Self {
            ln_1: candle_nn::layer_norm(width, 1e-5, vars.pp("ln_1"))?,
            c_attn: candle_nn::linear(width, 3 * width, vars.pp("c_attn"))?,
            c_proj: candle_nn::linear(width, width, vars.pp("c_proj"))?,
            ln_2: candle_nn::layer_norm(width, 1e-5, vars.pp("ln_2"))?,
            c_fc: candle_nn::linear(width, 4 * width, vars.pp("c_fc"))?,
            mlp_proj: candle_nn::linear(4 * width, width, vars.pp("mlp_proj"))?,
            mask: mask(&[128, 128], |i| i % 128 <= i / 128)?,
        })
    }
}

impl Module for Gpt2Block {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (batch, len, width) = x.dims3()?;
        let qkv = self.c_attn.forward(&self.ln_1.forward(x)?)?.reshape((batch, len, 3, 12, width / 12))?;
        let heads = |i: usize| qkv.i((.., .., i))?.transpose(1, 2)?.contiguous();
        let y = attend(&heads(0)?, &heads(1)?, &heads(2)?, Some(&self.mask))?;
        let x = (x + self.c_proj.forward(&y.transpose(1, 2)?.reshape((batch, len, width))?)?)?;
        let y = self.c_fc.forward(&self.ln_2.forward(&x)?)?.gelu()?;
        &x + self.mlp_proj.forward(&y)?
    }
}

fn gpt2(rows: &mut Rows) {
    for batch in [1, 4] {
        let name = format!("GPT-2 block of 768, 128 tokens, batch {batch}");
        rows.add(format!("{name}, inference"), move || {
            let (block, _vars) = build(|vars| Gpt2Block::new(768, &vars))?;
            let x = randn(&[batch, 128, 768])?;
            work(move || block.forward(&x))
        });
        rows.add(format!("{name}, AdamW step"), move || {
            let (block, vars) = build(|vars| Gpt2Block::new(768, &vars))?;
            let x = randn(&[batch, 128, 768])?;
            let mut optimizer = AdamW::new(vars.all_vars(), ParamsAdamW::default())?;
            work(move || optimizer.backward_step(&block.forward(&x)?.sqr()?.mean_all()?))
        });
    }
}

fn conv(inputs: usize, outputs: usize, kernel: usize, stride: usize, vars: VarBuilder) -> Result<Conv2d> {
    let config = Conv2dConfig { padding: kernel / 2, stride, ..Conv2dConfig::default() };
    candle_nn::conv2d_no_bias(inputs, outputs, kernel, config, vars)
}

fn norm(channels: usize, vars: VarBuilder) -> Result<BatchNorm> {
    candle_nn::batch_norm(channels, BatchNormConfig::default(), vars)
}

struct BasicBlock {
    conv1: Conv2d,
    bn1: BatchNorm,
    conv2: Conv2d,
    bn2: BatchNorm,
    downsample: Option<(Conv2d, BatchNorm)>,
}

impl BasicBlock {
    fn new(inputs: usize, outputs: usize, stride: usize, vars: &VarBuilder) -> Result<Self> {
        let downsample = match stride != 1 || inputs != outputs {
            true => Some((conv(inputs, outputs, 1, stride, vars.pp("down.0"))?, norm(outputs, vars.pp("down.1"))?)),
            false => None,
        };
        Ok(Self {
            conv1: conv(inputs, outputs, 3, stride, vars.pp("conv1"))?,
            bn1: norm(outputs, vars.pp("bn1"))?,
            conv2: conv(outputs, outputs, 3, 1, vars.pp("conv2"))?,
            bn2: norm(outputs, vars.pp("bn2"))?,
            downsample,
        })
    }
}

impl ModuleT for BasicBlock {
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        let y = self.bn1.forward_t(&self.conv1.forward(x)?, train)?.relu()?;
        let y = self.bn2.forward_t(&self.conv2.forward(&y)?, train)?;
        match &self.downsample {
            Some((conv, norm)) => (y + norm.forward_t(&conv.forward(x)?, train)?)?.relu(),
            None => (y + x)?.relu(),
        }
    }
}

struct ResNet {
    conv1: Conv2d,
    bn1: BatchNorm,
    blocks: Vec<BasicBlock>,
    fc: Linear,
}

impl ResNet {
    fn new(vars: &VarBuilder) -> Result<Self> {
        let mut blocks = Vec::new();
        for (i, (inputs, outputs)) in [(64, 64), (64, 128), (128, 256), (256, 512)].into_iter().enumerate() {
            let stride = if i == 0 { 1 } else { 2 };
            blocks.push(BasicBlock::new(inputs, outputs, stride, &vars.pp(format!("{i}.0")))?);
            blocks.push(BasicBlock::new(outputs, outputs, 1, &vars.pp(format!("{i}.1")))?);
        }
        let fc = candle_nn::linear(512, 1000, vars.pp("fc"))?;
        Ok(Self { conv1: conv(3, 64, 7, 2, vars.pp("conv1"))?, bn1: norm(64, vars.pp("bn1"))?, blocks, fc })
    }
}

impl ModuleT for ResNet {
    fn forward_t(&self, x: &Tensor, train: bool) -> Result<Tensor> {
        let x = self.bn1.forward_t(&self.conv1.forward(x)?, train)?.relu()?;
        let x = x.pad_with_same(2, 1, 1)?.pad_with_same(3, 1, 1)?.max_pool2d_with_stride(3, 2)?;
        let x = self.blocks.iter().try_fold(x, |x, block| block.forward_t(&x, train))?;
        self.fc.forward(&x.mean((2, 3))?)
    }
}

fn resnet(rows: &mut Rows) {
    for (batch, size) in [(1, 224), (8, 64)] {
        rows.add(format!("ResNet-18, batch {batch} of {size}x{size}, inference"), move || {
            let (net, _vars) = build(|vars| ResNet::new(&vars))?;
            let x = randn(&[batch, 3, size, size])?;
            work(move || net.forward_t(&x, false))
        });
    }
}

pub fn add(rows: &mut Rows) {
    optimizers(rows);
    mlp(rows);
    gpt2(rows);
    resnet(rows);
}
