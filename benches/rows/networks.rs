//! Whole networks: inference, and training steps.

use module_examples::models::pretrained::Pretrained;
use module_examples::models::resnet::{ResNet, ResNetConfig};
use module_nn::prelude::*;
use module_nn::{Approximate, AttentionOptions};

use super::row::{Rows, clear, randn, work};

/// Linear layers of these sizes with ReLU between them.
pub(crate) fn classifier(sizes: &[usize]) -> Result<Sequential> {
    let mut model = Sequential::new();
    for (i, pair) in sizes.windows(2).enumerate() {
        if i > 0 {
            model = model.push(ReLU::new());
        }
        model = model.push(Linear::new(pair[0], pair[1])?);
    }
    Ok(model)
}

/// A block of GPT-2: attention and an MLP of four times the width, each after a layer normalization.
#[derive(Module)]
struct Gpt2Block {
    ln_1: LayerNorm,
    c_attn: Linear,
    c_proj: Linear,
    ln_2: LayerNorm,
    c_fc: Linear,
    mlp_proj: Linear,
    heads: usize,
}

impl Gpt2Block {
    fn new(width: usize, heads: usize) -> Result<Self> {
        Ok(Self {
            ln_1: LayerNorm::new(width)?,
            c_attn: Linear::new(width, 3 * width)?,
            c_proj: Linear::new(width, width)?,
            ln_2: LayerNorm::new(width)?,
            c_fc: Linear::new(width, 4 * width)?,
            mlp_proj: Linear::new(4 * width, width)?,
            heads,
        })
    }

    fn attend(&self, x: Tensor) -> Result<Tensor> {
        let (batch, len, width) = (x.size(0)?, x.size(1)?, x.size(2)?);
        let qkv = self.c_attn.call(x)?.chunk(3, -1)?;
        let heads = |x: &Tensor| {
            x.reshape([batch, len, self.heads, width / self.heads])?
                .transpose(1, 2)
        };
        let options = AttentionOptions::new().is_causal(true);
        let y = heads(&qkv[0])?.scaled_dot_product_attention(
            &heads(&qkv[1])?,
            &heads(&qkv[2])?,
            options,
        )?;
        self.c_proj
            .call(y.transpose(1, 2)?.reshape([batch, len, width])?)
    }
}

impl Forward for Gpt2Block {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = x.add(&self.attend(self.ln_1.call(x.clone())?)?)?;
        let y = self
            .c_fc
            .call(self.ln_2.call(x.clone())?)?
            .gelu(Approximate::Tanh)?;
        x.add(&self.mlp_proj.call(y)?)
    }
}

/// Targets that cycle through the classes.
fn targets(count: i64, classes: i64) -> Result<Tensor> {
    Tensor::from_vec(
        (0..count).map(|i| i % classes).collect::<Vec<_>>(),
        [count as usize],
    )
}

fn mlp(rows: &mut Rows) {
    for batch in [64, 1] {
        rows.add(
            format!("MLP 784-512-256-10, batch {batch}, inference"),
            move || {
                let (model, x) = (classifier(&[784, 512, 256, 10])?, randn(&[batch, 784])?);
                model.eval();
                work(move || no_grad(|| model.call(x.clone())).map(drop))
            },
        );
    }
    for name in ["SGD", "AdamW"] {
        rows.add(
            format!("MLP 784-512-256-10, batch 64, {name} step"),
            move || {
                let (model, x) = (classifier(&[784, 512, 256, 10])?, randn(&[64, 784])?);
                let target = targets(64, 10)?;
                let mut optimizer: Box<dyn Optimizer> = match name {
                    "SGD" => Box::new(SGD::new(&model, 1e-4)?),
                    _ => Box::new(AdamW::new(&model, 1e-4)?),
                };
                work(move || {
                    clear(&model, []);
                    let loss = model
                        .call(x.clone())?
                        .cross_entropy(&target, Default::default())?;
                    loss.backward()?;
                    optimizer.step(&model)
                })
            },
        );
    }
}

fn gpt2(rows: &mut Rows) {
    for batch in [1, 4] {
        let name = format!("GPT-2 block of 768, 128 tokens, batch {batch}");
        rows.add(format!("{name}, inference"), move || {
            let (block, x) = (Gpt2Block::new(768, 12)?, randn(&[batch, 128, 768])?);
            block.eval();
            work(move || no_grad(|| block.call(x.clone())).map(drop))
        });
        rows.add(format!("{name}, AdamW step"), move || {
            let (block, x) = (Gpt2Block::new(768, 12)?, randn(&[batch, 128, 768])?);
            let mut optimizer = AdamW::new(&block, 1e-5)?;
            work(move || {
                clear(&block, []);
                let loss = block.call(x.clone())?.square()?.mean(..)?;
                loss.backward()?;
                optimizer.step(&block)
            })
        });
    }
}

fn resnet_18() -> Result<ResNet> {
    ResNet::new(&ResNetConfig::new("resnet18"))
}

fn resnet(rows: &mut Rows) {
    rows.add("ResNet-18, batch 1 of 224x224, inference", || {
        let (net, x) = (resnet_18()?, randn(&[1, 3, 224, 224])?);
        net.eval();
        work(move || no_grad(|| net.call(x.clone())).map(drop))
    });
    rows.add("ResNet-18, batch 8 of 64x64, inference", || {
        let (net, x) = (resnet_18()?, randn(&[8, 3, 64, 64])?);
        net.eval();
        work(move || no_grad(|| net.call(x.clone())).map(drop))
    });
    rows.add("ResNet-18, batch 8 of 224x224, SGD step", || {
        let (net, x, target) = (resnet_18()?, randn(&[8, 3, 224, 224])?, targets(8, 1000)?);
        let mut optimizer = SGD::new(&net, 1e-4)?;
        work(move || {
            clear(&net, []);
            let loss = net
                .call(x.clone())?
                .cross_entropy(&target, Default::default())?;
            loss.backward()?;
            optimizer.step(&net)
        })
    });
}

/// Layers that are four times as wide between their two linear maps.
fn encoder(
    layers: usize,
    [width, heads]: [usize; 2],
    norm_first: bool,
) -> Result<TransformerEncoder> {
    let layer = TransformerEncoderLayerConfig::new(width, heads)
        .dim_feedforward(4 * width)
        .activation(TransformerActivation::Gelu)
        .dropout(0.0)
        .batch_first(true)
        .norm_first(norm_first);
    TransformerEncoderConfig::new(layer, layers).build()
}

fn encoders(rows: &mut Rows) {
    let minilm = || encoder(6, [384, 12], false);
    rows.add(
        "MiniLM's 6 layers of 384, 32x128 tokens, inference",
        move || {
            let (model, x) = (minilm()?, randn(&[32, 128, 384])?);
            model.eval();
            work(move || no_grad(|| model.call(x.clone())).map(drop))
        },
    );
    let name = "MiniLM's 6 layers of 384, 8x64 tokens, AdamW step";
    encoder_step(rows, name, minilm, [8, 64, 384]);
    let name = "12 pre-norm layers of 256, 8x128 tokens, AdamW step";
    encoder_step(rows, name, || encoder(12, [256, 4], true), [8, 128, 256]);
}

fn encoder_step(
    rows: &mut Rows,
    name: &str,
    model: impl FnOnce() -> Result<TransformerEncoder> + 'static,
    shape: [usize; 3],
) {
    rows.add(name, move || {
        let (model, x) = (model()?, randn(&shape)?);
        let mut optimizer = AdamW::new(&model, 1e-5)?;
        work(move || {
            clear(&model, []);
            let loss = model.call(x.clone())?.square()?.mean(..)?;
            loss.backward()?;
            optimizer.step(&model)
        })
    });
}

pub(crate) fn add(rows: &mut Rows) {
    mlp(rows);
    gpt2(rows);
    resnet(rows);
    encoders(rows);
}
