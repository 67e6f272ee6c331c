//! ResNets of torchvision and timm, which have the same keys.
//!
//! Source: He, Zhang, Ren and Sun, *Deep Residual Learning for Image Recognition* (2015).

use module_nn::init::{self, FanMode, KaimingNormal, Nonlinearity};
use module_nn::prelude::*;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::pretrained::Pretrained;
use super::timm::{GlobalPool, TimmConfig};

/// timm's `config.json`.
pub type ResNetConfig = TimmConfig<ResNetArgs>;

/// Arguments that replace those of the architecture.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResNetArgs {
    /// The channels of each stage; blocks with a bottleneck have four times as many.
    pub channels: Option<[usize; 4]>,
    /// The channels of images.
    pub in_chans: Option<usize>,
    /// How the last features are pooled.
    pub global_pool: GlobalPool,
    /// Already given next to these arguments.
    pub num_classes: IgnoredAny,
}

/// `(N, in_chans, H, W)` images to `(N, num_classes)` logits.
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

/// Two 3×3 convolutions and a shortcut.
#[derive(Module)]
struct BasicBlock {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    relu: ReLU,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    downsample: Sequential,
}

/// A 3×3 convolution with a quarter of the channels between two 1×1 convolutions, and a shortcut.
#[derive(Module)]
struct Bottleneck {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    conv3: Conv2d,
    bn3: BatchNorm2d,
    relu: ReLU,
    downsample: Sequential,
}

fn conv(inputs: usize, outputs: usize, kernel: usize, stride: usize) -> Result<Conv2d> {
    let config = Conv2dConfig::new(inputs, outputs, kernel).stride(stride);
    config.padding(kernel / 2).bias(false).build()
}

/// The shortcut of a block: nothing, meaning the identity, if the shape does not change.
fn shortcut(inputs: usize, outputs: usize, stride: usize) -> Result<Sequential> {
    if stride == 1 && inputs == outputs {
        return Ok(Sequential::new());
    }
    let project = Sequential::new().push(conv(inputs, outputs, 1, stride)?);
    Ok(project.push(BatchNorm2d::new(outputs)?))
}

// Members are built in torchvision's order, because each continues the random stream: the shortcut first.

impl BasicBlock {
    fn new(inputs: usize, width: usize, stride: usize) -> Result<Self> {
        Ok(Self {
            downsample: shortcut(inputs, width, stride)?,
            conv1: conv(inputs, width, 3, stride)?,
            bn1: BatchNorm2d::new(width)?,
            relu: ReLU::new(),
            conv2: conv(width, width, 3, 1)?,
            bn2: BatchNorm2d::new(width)?,
        })
    }
}

impl Forward for BasicBlock {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.bn1.call(self.conv1.call(x.clone())?)?;
        let y = self.bn2.call(self.conv2.call(self.relu.call(y)?)?)?;
        self.relu.call(y.add(&self.downsample.call(x)?)?)
    }
}

impl Bottleneck {
    fn new(inputs: usize, width: usize, stride: usize) -> Result<Self> {
        Ok(Self {
            downsample: shortcut(inputs, 4 * width, stride)?,
            conv1: conv(inputs, width, 1, 1)?,
            bn1: BatchNorm2d::new(width)?,
            conv2: conv(width, width, 3, stride)?,
            bn2: BatchNorm2d::new(width)?,
            conv3: conv(width, 4 * width, 1, 1)?,
            bn3: BatchNorm2d::new(4 * width)?,
            relu: ReLU::new(),
        })
    }
}

impl Forward for Bottleneck {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.bn1.call(self.conv1.call(x.clone())?)?;
        let y = self.bn2.call(self.conv2.call(self.relu.call(y)?)?)?;
        let y = self.bn3.call(self.conv3.call(self.relu.call(y)?)?)?;
        self.relu.call(y.add(&self.downsample.call(x)?)?)
    }
}

impl Pretrained for ResNet {
    type Config = ResNetConfig;

    fn new(config: &ResNetConfig) -> Result<Self> {
        let (bottleneck, layers) = match config.architecture.as_str() {
            "resnet18" => (false, [2, 2, 2, 2]),
            "resnet34" => (false, [3, 4, 6, 3]),
            "resnet50" => (true, [3, 4, 6, 3]),
            "resnet101" => (true, [3, 4, 23, 3]),
            _ => return Err(config.unknown("resnet", "resnet18, resnet34, resnet50 or resnet101")),
        };
        let channels = config.model_args.channels.unwrap_or([64, 128, 256, 512]);
        let in_chans = config.model_args.in_chans.unwrap_or(3);
        let mut inputs = 64;
        let mut stage = |i: usize, stride| -> Result<Sequential> {
            let mut blocks = Sequential::new();
            for block in 0..layers[i] {
                let stride = if block == 0 { stride } else { 1 };
                if bottleneck {
                    blocks.append(Bottleneck::new(inputs, channels[i], stride)?);
                    inputs = 4 * channels[i];
                } else {
                    blocks.append(BasicBlock::new(inputs, channels[i], stride)?);
                    inputs = channels[i];
                }
            }
            Ok(blocks)
        };
        let net = Self {
            conv1: conv(in_chans, 64, 7, 2)?,
            bn1: BatchNorm2d::new(64)?,
            relu: ReLU::new(),
            maxpool: MaxPool2dConfig::new(3).stride(2).padding(1).build()?,
            layer1: stage(0, 1)?,
            layer2: stage(1, 2)?,
            layer3: stage(2, 2)?,
            layer4: stage(3, 2)?,
            avgpool: AdaptiveAvgPool2d::new(1)?,
            fc: Linear::new(inputs, config.num_classes)?,
        };
        init::each(&net, |_, conv: &Conv2d| {
            let kaiming = KaimingNormal::of(Nonlinearity::Relu).mode(FanMode::FanOut);
            conv.weight().initialize(kaiming)
        })?;
        Ok(net)
    }
}

impl Forward for ResNet {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.relu.call(self.bn1.call(self.conv1.call(x)?)?)?;
        let x = self.layer1.call(self.maxpool.call(x)?)?;
        let x = self.layer4.call(self.layer3.call(self.layer2.call(x)?)?)?;
        self.fc.call(self.avgpool.call(x)?.flatten(1, -1)?)
    }
}
