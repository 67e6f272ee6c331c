//! torchvision's ResNet-18, with its members under the same keys and its recipe of initial values.

use module_nn::init::{self, FanMode, KaimingNormal, Nonlinearity, ones, zeros};
use module_nn::prelude::*;

/// Two 3×3 convolutions and a shortcut, which is projected where the shape changes.
#[derive(Module)]
pub struct BasicBlock {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    relu: ReLU,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    downsample: Downsample,
}

/// The shortcut of a block.
#[derive(Module, Forward)]
pub enum Downsample {
    /// A strided 1×1 convolution with its normalization.
    Project(Sequential),
    /// The input itself.
    Identity(Identity),
}

/// `(N, 3, H, W)` images to `(N, 1000)` logits.
#[derive(Module)]
pub struct ResNet {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    relu: ReLU,
    maxpool: MaxPool2d,
    layer1: Sequential,
    layer2: Sequential,
    layer3: Sequential,
    layer4: Sequential,
    avgpool: AdaptiveAvgPool2d,
    fc: Linear,
}

fn conv(inputs: usize, outputs: usize, kernel: usize, stride: usize) -> Result<Conv2d> {
    let config = Conv2dConfig::new(inputs, outputs, kernel).stride(stride);
    config.padding(kernel / 2).bias(false).build()
}

impl BasicBlock {
    /// The members are made in torchvision's order, because each continues the random stream: the
    /// projection first.
    fn new(inputs: usize, outputs: usize, stride: usize) -> Result<Self> {
        let downsample = if stride != 1 || inputs != outputs {
            let project = Sequential::new().push(conv(inputs, outputs, 1, stride)?);
            Downsample::Project(project.push(BatchNorm2d::new(outputs)?))
        } else {
            Downsample::Identity(Identity::new())
        };
        Ok(Self {
            conv1: conv(inputs, outputs, 3, stride)?,
            bn1: BatchNorm2d::new(outputs)?,
            relu: ReLU::new(),
            conv2: conv(outputs, outputs, 3, 1)?,
            bn2: BatchNorm2d::new(outputs)?,
            downsample,
        })
    }
}

impl Forward for BasicBlock {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.bn1.call(self.conv1.call(x.clone())?)?;
        let y = self.bn2.call(self.conv2.call(self.relu.call(y)?)?)?;
        let shortcut = self.downsample.call(x)?;
        self.relu.call(y.add(&shortcut)?)
    }
}

fn stage(inputs: usize, outputs: usize, stride: usize) -> Result<Sequential> {
    let first = BasicBlock::new(inputs, outputs, stride)?;
    let second = BasicBlock::new(outputs, outputs, 1)?;
    Ok(Sequential::new().push(first).push(second))
}

impl ResNet {
    /// The ResNet with 18 layers.
    pub fn new() -> Result<Self> {
        let pool = MaxPool2dConfig::new(3).stride(2).padding(1);
        let net = Self {
            conv1: Conv2dConfig::new(3, 64, 7)
                .stride(2)
                .padding(3)
                .bias(false)
                .build()?,
            bn1: BatchNorm2d::new(64)?,
            relu: ReLU::new(),
            maxpool: pool.build()?,
            layer1: stage(64, 64, 1)?,
            layer2: stage(64, 128, 2)?,
            layer3: stage(128, 256, 2)?,
            layer4: stage(256, 512, 2)?,
            avgpool: AdaptiveAvgPool2d::new(1)?,
            fc: Linear::new(512, 1000)?,
        };
        init::each(&net, |_, conv: &Conv2d| {
            let kaiming = KaimingNormal::of(Nonlinearity::Relu).mode(FanMode::FanOut);
            conv.weight().initialize(kaiming)
        })?;
        init::each(&net, |_, norm: &BatchNorm2d| {
            norm.get_parameter("weight")?.initialize(ones())?;
            norm.get_parameter("bias")?.initialize(zeros())
        })?;
        Ok(net)
    }
}

impl Forward for ResNet {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.relu.call(self.bn1.call(self.conv1.call(x)?)?)?;
        let mut x = self.maxpool.call(x)?;
        for stage in [&self.layer1, &self.layer2, &self.layer3, &self.layer4] {
            x = stage.call(x)?;
        }
        self.fc.call(self.avgpool.call(x)?.flatten(1, -1)?)
    }
}
