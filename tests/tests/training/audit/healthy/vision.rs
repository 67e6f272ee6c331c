//! Networks for images.

use module_examples::models::pretrained::Pretrained;
use module_examples::models::resnet::{ResNet, ResNetConfig};
use module_nn::Approximate;
use module_nn::prelude::*;
use module_tests::digits::Digits;

use super::{classes, healthy, healthy_over, mlp, rows, step};

fn images(count: usize, channels: usize, size: usize) -> Result<Tensor> {
    Tensor::randn([count, channels, size, size], DType::F32)
}

#[test]
fn a_perceptron() {
    healthy(|| {
        let model = mlp(10, 32, 4)?;
        let mut optimizer = SGD::new(&model, 0.1)?;
        Ok((model, move |model: &Sequential| {
            let logits = model.call(rows(16, 10)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 4)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn the_digits_net() {
    healthy(|| {
        let model = Digits::new(8, 0.1)?;
        let mut optimizer = SGDConfig::new(0.05).momentum(0.9).build(&model)?;
        let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
        Ok((model, move |model: &Digits| {
            let logits = model.call(images(16, 1, 8)?)?;
            let loss = criterion.loss(&logits, &classes(16, 10)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn convolutions_with_batch_norm() {
    healthy(|| {
        let conv = |from, to| {
            Conv2dConfig::new(from, to, 3)
                .padding(1)
                .bias(false)
                .build()
        };
        let model = Sequential::new()
            .push(conv(3, 8)?)
            .push(BatchNorm2d::new(8)?)
            .push(ReLU::new())
            .push(MaxPool2d::new(2)?)
            .push(conv(8, 16)?)
            .push(BatchNorm2d::new(16)?)
            .push(ReLU::new())
            .push(AdaptiveAvgPool2d::new(1)?)
            .push(Flatten::new())
            .push(Linear::new(16, 5)?);
        let mut optimizer = AdamW::new(&model, 1e-3)?;
        Ok((model, move |model: &Sequential| {
            let logits = model.call(images(12, 3, 8)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(12, 5)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// Two convolutions with a skip connection.
#[derive(Module)]
struct Residual {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    conv2: Conv2d,
    bn2: BatchNorm2d,
}

impl Residual {
    fn new(channels: usize) -> Result<Self> {
        let conv = || {
            Conv2dConfig::new(channels, channels, 3)
                .padding(1)
                .bias(false)
                .build()
        };
        Ok(Self {
            conv1: conv()?,
            bn1: BatchNorm2d::new(channels)?,
            conv2: conv()?,
            bn2: BatchNorm2d::new(channels)?,
        })
    }
}

impl Forward for Residual {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.bn1.call(self.conv1.call(x.clone())?)?.relu()?;
        self.bn2.call(self.conv2.call(y)?)?.add(&x)?.relu()
    }
}

#[test]
fn a_residual_network_as_torchvision_starts_it() {
    healthy(|| {
        let stem = Conv2dConfig::new(3, 8, 7).stride(2).padding(3).bias(false);
        let model = Sequential::new()
            .push(stem.build()?)
            .push(BatchNorm2d::new(8)?)
            .push(ReLU::new())
            .push(Residual::new(8)?)
            .push(Residual::new(8)?)
            .push(AdaptiveAvgPool2d::new(1)?)
            .push(Flatten::new())
            .push(Linear::new(8, 10)?);
        // The last norm of a branch starts at zero, so that each block is the identity, which is not a mistake.
        for block in ["3", "4"] {
            let weight = model.get_parameter(&format!("{block}.bn2.weight"))?;
            weight.set(weight.detach().zeros_like()?)?;
        }
        let config = SGDConfig::new(0.1).momentum(0.9).weight_decay(1e-4);
        let mut optimizer = config.build(&model)?;
        Ok((model, move |model: &Sequential| {
            let logits = model.call(images(8, 3, 16)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(8, 10)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

#[test]
fn resnet_18() {
    // Its eleven million weights take seconds to draw.
    healthy_over(2, || {
        let model = ResNet::new(&ResNetConfig::new("resnet18"))?;
        let mut optimizer = SGDConfig::new(1e-3).momentum(0.9).build(&model)?;
        Ok((model, move |model: &ResNet| {
            let logits = model.call(images(4, 3, 32)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(4, 1000)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}

/// A residual block whose branch starts close to zero, as in ConvNeXt and CaiT.
#[derive(Module)]
struct ScaledBlock {
    norm: LayerNorm,
    first: Linear,
    second: Linear,
    gamma: Parameter,
}

impl Forward for ScaledBlock {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self
            .first
            .call(self.norm.call(x.clone())?)?
            .gelu(Approximate::None)?;
        x.add(&self.second.call(y)?.mul(self.gamma.tensor())?)
    }
}

#[test]
fn branches_that_are_scaled_to_nearly_nothing() {
    healthy(|| {
        let mut model = Sequential::new().push(Linear::new(10, 16)?);
        for _ in 0..3 {
            model = model.push(ScaledBlock {
                norm: LayerNorm::new(16)?,
                first: Linear::new(16, 64)?,
                second: Linear::new(64, 16)?,
                gamma: Parameter::new(Tensor::full([16], 1e-6, DType::F32)?)?,
            });
        }
        let model = model.push(LayerNorm::new(16)?).push(Linear::new(16, 4)?);
        // The first steps of a schedule with a warmup.
        let mut optimizer = AdamW::new(&model, 1e-7)?;
        Ok((model, move |model: &Sequential| {
            let logits = model.call(rows(16, 10)?)?;
            let loss = CrossEntropyLoss::new().loss(&logits, &classes(16, 4)?)?;
            step(model, &mut optimizer, loss)
        }))
    });
}
