//! MobileNetV3 of torchvision.
//!
//! Source: Howard et al., *Searching for MobileNetV3* (2019).

use module_nn::init::{self, FanMode, KaimingNormal, Nonlinearity, Normal};
use module_nn::prelude::*;
use serde::Deserialize;

use super::initialize::draw;
use super::pretrained::Pretrained;

/// The arguments of torchvision's constructor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MobileNetV3Config {
    /// The blocks.
    pub inverted_residual_setting: Vec<InvertedResidualConfig>,
    /// The number of features before the last layer.
    pub last_channel: usize,
    /// The number of classes.
    pub num_classes: usize,
    /// The probability of dropping a feature before the last layer.
    pub dropout: f64,
}

/// A block, with torchvision's names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are torchvision's")]
pub struct InvertedResidualConfig {
    pub input_channels: usize,
    pub kernel: usize,
    pub expanded_channels: usize,
    pub out_channels: usize,
    pub use_se: bool,
    pub use_hs: bool,
    pub stride: usize,
    pub dilation: usize,
}

/// `(N, 3, H, W)` images to `(N, num_classes)` logits.
#[derive(Module)]
pub struct MobileNetV3 {
    features: Sequential,
    avgpool: AdaptiveAvgPool2d,
    classifier: Sequential,
}

/// A depthwise convolution between two 1×1 convolutions, with a skip connection if the shape does not change.
#[derive(Module)]
struct InvertedResidual {
    residual: bool,
    block: Sequential,
}

/// A convolution without a bias, a normalization and an optional activation.
fn conv(
    config: &Conv2dNormActivationConfig,
    activation: Option<ActivationLayer>,
) -> Result<Conv2dNormActivation> {
    let norm = BatchNorm2dConfig::new(config.out_channels);
    let norm = norm.eps(0.001).momentum(0.01).build()?;
    let activation = activation.map(ActivationLayer::build).transpose()?;
    config.build_with(Some(Box::new(norm)), activation)
}

/// [`conv`] with a 1×1 kernel.
fn pointwise(
    inputs: usize,
    outputs: usize,
    activation: Option<ActivationLayer>,
) -> Result<Conv2dNormActivation> {
    let config = Conv2dNormActivationConfig::new(inputs, outputs);
    conv(&config.kernel_size(1), activation)
}

/// The nearest multiple of 8 that is not more than a tenth smaller.
fn multiple_of_8(channels: usize) -> usize {
    let nearest = ((channels + 4) / 8 * 8).max(8);
    nearest + if 10 * nearest < 9 * channels { 8 } else { 0 }
}

impl InvertedResidual {
    fn new(config: &InvertedResidualConfig) -> Result<Self> {
        let (inputs, outputs) = (config.input_channels, config.out_channels);
        let (expanded, dilation) = (config.expanded_channels, config.dilation);
        let activation = Some(match config.use_hs {
            true => ActivationLayer::Hardswish,
            false => ActivationLayer::ReLU,
        });
        let mut block = Sequential::new();
        if expanded != inputs {
            block.append(pointwise(inputs, expanded, activation)?);
        }
        let depthwise = Conv2dNormActivationConfig::new(expanded, expanded)
            .kernel_size(config.kernel)
            .stride(if dilation > 1 { 1 } else { config.stride })
            .dilation(dilation)
            .groups(expanded);
        block.append(conv(&depthwise, activation)?);
        if config.use_se {
            let squeeze = SqueezeExcitationConfig::new(expanded, multiple_of_8(expanded / 4));
            let squeeze = squeeze.scale_activation(ActivationLayer::Hardsigmoid);
            block.append(squeeze.build()?);
        }
        Ok(Self {
            residual: config.stride == 1 && inputs == outputs,
            block: block.push(pointwise(expanded, outputs, None)?),
        })
    }
}

impl Forward for InvertedResidual {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.block.call(x.clone())?;
        if self.residual { y.add(&x) } else { Ok(y) }
    }
}

impl Pretrained for MobileNetV3 {
    type Config = MobileNetV3Config;

    fn new(config: &MobileNetV3Config) -> Result<Self> {
        let blocks = &config.inverted_residual_setting;
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else {
            let (name, problem) = ("inverted_residual_setting", "must have a block at least");
            return Err(Error::argument("mobilenet_v3", name, "[]", problem));
        };
        let hardswish = Some(ActivationLayer::Hardswish);
        let stem = Conv2dNormActivationConfig::new(3, first.input_channels).stride(2);
        let mut features = Sequential::new().push(conv(&stem, hardswish)?);
        for block in blocks {
            features.append(InvertedResidual::new(block)?);
        }
        let width = 6 * last.out_channels;
        let model = Self {
            features: features.push(pointwise(last.out_channels, width, hardswish)?),
            avgpool: AdaptiveAvgPool2d::new(1)?,
            classifier: Sequential::new()
                .push(Linear::new(width, config.last_channel)?)
                .push(Hardswish::new())
                .push(Dropout::new(config.dropout)?)
                .push(Linear::new(config.last_channel, config.num_classes)?),
        };
        init::each(&model, |_, conv: &Conv2d| {
            let kaiming = KaimingNormal::of(Nonlinearity::Relu).mode(FanMode::FanOut);
            draw(conv.weight(), conv.bias(), kaiming)
        })?;
        let (mean, std) = (0.0, 0.01);
        init::each(&model, |_, linear: &Linear| {
            draw(linear.weight(), linear.bias(), Normal { mean, std })
        })?;
        Ok(model)
    }
}

impl Forward for MobileNetV3 {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.avgpool.call(self.features.call(x)?)?;
        self.classifier.call(x.flatten(1, -1)?)
    }
}
