//! MobileNetV3 of torchvision.
//!
//! Source: Howard et al., *Searching for MobileNetV3* (2019).

use std::path::Path;

use module_nn::init::{self, FanMode, KaimingNormal, Nonlinearity, Normal, zeros};
use module_nn::prelude::*;
use serde::Deserialize;

use super::pretrained;

/// The arguments of torchvision's constructor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MobileNetV3Config {
    /// The blocks.
    pub inverted_residual_setting: Vec<InvertedResidualConfig>,
    /// The features before the last layer.
    pub last_channel: usize,
    /// The number of classes.
    pub num_classes: usize,
    /// The probability of dropping a feature before the last layer.
    pub dropout: f64,
}

/// A block, by torchvision's names.
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

/// A depthwise convolution between two 1×1, around which the input passes where the shape stays.
#[derive(Module)]
struct InvertedResidual {
    residual: bool,
    block: Sequential,
}

/// A convolution without a bias, a normalization and an activation.
fn conv(
    config: Conv2dNormActivationConfig,
    activation: Option<ActivationLayer>,
) -> Result<Conv2dNormActivation> {
    let norm = BatchNorm2dConfig::new(config.out_channels)
        .eps(0.001)
        .momentum(0.01);
    let activation = activation.map(ActivationLayer::build).transpose()?;
    config.build_with(Some(Box::new(norm.build()?)), activation)
}

fn pointwise(inputs: usize, outputs: usize) -> Conv2dNormActivationConfig {
    Conv2dNormActivationConfig::new(inputs, outputs).kernel_size(1)
}

/// The multiple of 8 that is nearest, but not less by more than a tenth.
fn multiple_of_8(channels: usize) -> usize {
    let nearest = ((channels + 4) / 8 * 8).max(8);
    nearest + if 10 * nearest < 9 * channels { 8 } else { 0 }
}

impl InvertedResidual {
    fn new(config: &InvertedResidualConfig) -> Result<Self> {
        let &InvertedResidualConfig {
            input_channels: inputs,
            expanded_channels: expanded,
            ..
        } = config;
        let &InvertedResidualConfig {
            out_channels: outputs,
            stride,
            dilation,
            ..
        } = config;
        let activation = Some(match config.use_hs {
            true => ActivationLayer::Hardswish,
            false => ActivationLayer::ReLU,
        });
        let mut block = Sequential::new();
        if expanded != inputs {
            block.append(conv(pointwise(inputs, expanded), activation)?);
        }
        let depthwise = Conv2dNormActivationConfig::new(expanded, expanded)
            .kernel_size(config.kernel)
            .stride(if dilation > 1 { 1 } else { stride })
            .dilation(dilation)
            .groups(expanded);
        block.append(conv(depthwise, activation)?);
        if config.use_se {
            let squeeze = SqueezeExcitationConfig::new(expanded, multiple_of_8(expanded / 4));
            let squeeze = squeeze.scale_activation(ActivationLayer::Hardsigmoid);
            block.append(squeeze.build()?);
        }
        block.append(conv(pointwise(expanded, outputs), None)?);
        Ok(Self {
            residual: stride == 1 && inputs == outputs,
            block,
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

impl MobileNetV3 {
    /// A network with fresh weights, which are torchvision's for the same seed.
    ///
    /// # Errors
    ///
    /// No blocks, sizes of 0.
    pub fn new(config: &MobileNetV3Config) -> Result<Self> {
        let blocks = &config.inverted_residual_setting;
        let [first, .., last] = &blocks[..] else {
            let problem = "must have two blocks or more";
            return Err(Error::argument(
                "mobilenet_v3",
                "inverted_residual_setting",
                blocks.len(),
                problem,
            ));
        };
        let hardswish = Some(ActivationLayer::Hardswish);
        let stem = Conv2dNormActivationConfig::new(3, first.input_channels).stride(2);
        let mut features = Sequential::new().push(conv(stem, hardswish)?);
        for block in blocks {
            features.append(InvertedResidual::new(block)?);
        }
        let width = 6 * last.out_channels;
        let features = features.push(conv(pointwise(last.out_channels, width), hardswish)?);
        let classifier = Sequential::new()
            .push(Linear::new(width, config.last_channel)?)
            .push(Hardswish::new())
            .push(Dropout::new(config.dropout)?)
            .push(Linear::new(config.last_channel, config.num_classes)?);
        let model = Self {
            features,
            avgpool: AdaptiveAvgPool2d::new(1)?,
            classifier,
        };
        init::apply(&model, |_, module| {
            let module: &dyn std::any::Any = module;
            let bias = if let Some(conv) = module.downcast_ref::<Conv2d>() {
                let kaiming = KaimingNormal::of(Nonlinearity::Relu).mode(FanMode::FanOut);
                conv.weight().initialize(kaiming)?;
                conv.bias()
            } else if let Some(linear) = module.downcast_ref::<Linear>() {
                linear.weight().initialize(Normal {
                    mean: 0.0,
                    std: 0.01,
                })?;
                linear.bias()
            } else {
                return Ok(());
            };
            bias.get().map_or(Ok(()), |bias| bias.initialize(zeros()))
        })?;
        Ok(model)
    }

    /// The network of a directory with `config.json` and weights.
    ///
    /// # Errors
    ///
    /// As [`pretrained::from_pretrained`].
    pub fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        pretrained::from_pretrained(dir, Self::new)
    }
}

impl Forward for MobileNetV3 {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.avgpool.call(self.features.call(x)?)?;
        self.classifier.call(x.flatten(1, -1)?)
    }
}
