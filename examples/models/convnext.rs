//! ConvNeXts of timm.
//!
//! Source: Liu, Mao, Wu, Feichtenhofer, Darrell and Xie, *A ConvNet for the 2020s* (2022).

use module_nn::init::Constant;
use module_nn::prelude::*;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::pretrained::Pretrained;
use super::timm::{self, GlobalPool, Mlp, TimmConfig};

/// timm's `config.json`.
pub type ConvNeXtConfig = TimmConfig<ConvNeXtArgs>;

/// Arguments that replace those of the architecture.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are timm's")]
pub struct ConvNeXtArgs {
    pub depths: Option<[usize; 4]>,
    pub dims: Option<[usize; 4]>,
    pub in_chans: Option<usize>,
    pub global_pool: GlobalPool,
    /// Already given next to these arguments.
    pub num_classes: IgnoredAny,
}

/// `(N, in_chans, H, W)` images to `(N, num_classes)` logits.
#[derive(Module)]
pub struct ConvNeXt {
    stem: Sequential,
    stages: Sequential,
    head: Head,
}

#[derive(Module)]
struct Stage {
    downsample: Sequential,
    blocks: Sequential,
}

#[derive(Module)]
struct Block {
    gamma: Parameter,
    conv_dw: Conv2d,
    norm: LayerNorm,
    mlp: Mlp,
}

#[derive(Module)]
struct Head {
    norm: LayerNorm2d,
    fc: Linear,
}

fn norm(channels: usize) -> Result<LayerNorm2d> {
    LayerNorm2dConfig::new(channels).eps(1e-6).build()
}

fn patches(inputs: usize, outputs: usize, size: usize) -> Result<Conv2d> {
    Conv2dConfig::new(inputs, outputs, size)
        .stride(size)
        .build()
}

impl Block {
    fn new(channels: usize) -> Result<Self> {
        let conv = Conv2dConfig::new(channels, channels, 7).padding(3);
        Ok(Self {
            gamma: Parameter::with_init(channels, Constant(1e-6))?,
            conv_dw: conv.groups(channels).build()?,
            norm: LayerNormConfig::new(channels).eps(1e-6).build()?,
            mlp: Mlp::new(channels, 4 * channels)?,
        })
    }
}

impl Forward for Block {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.conv_dw.call(x.clone())?.permute([0, 2, 3, 1])?;
        let y = self
            .mlp
            .call(self.norm.call(y)?)?
            .mul(self.gamma.tensor())?;
        y.permute([0, 3, 1, 2])?.add(&x)
    }
}

impl Forward for Stage {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.blocks.call(self.downsample.call(x)?)
    }
}

impl Forward for Head {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let means = self.norm.call(x.adaptive_avg_pool2d(1)?)?;
        self.fc.call(means.flatten(1, -1)?)
    }
}

impl Pretrained for ConvNeXt {
    type Config = ConvNeXtConfig;

    fn new(config: &ConvNeXtConfig) -> Result<Self> {
        let (depths, dims) = match config.architecture.as_str() {
            "convnext_tiny" => ([3, 3, 9, 3], [96, 192, 384, 768]),
            "convnext_small" => ([3, 3, 27, 3], [96, 192, 384, 768]),
            "convnext_base" => ([3, 3, 27, 3], [128, 256, 512, 1024]),
            "convnext_large" => ([3, 3, 27, 3], [192, 384, 768, 1536]),
            _ => return Err(config.unknown("convnext", "convnext_{tiny, small, base, large}")),
        };
        let ConvNeXtArgs {
            depths: other_depths,
            dims: other_dims,
            in_chans,
            ..
        } = config.model_args;
        let dims = other_dims.unwrap_or(dims);
        let mut stages = Sequential::new();
        let mut inputs = dims[0];
        for (i, (depth, channels)) in other_depths
            .unwrap_or(depths)
            .into_iter()
            .zip(dims)
            .enumerate()
        {
            let downsample = match i {
                0 => Sequential::new(),
                _ => Sequential::new()
                    .push(norm(inputs)?)
                    .push(patches(inputs, channels, 2)?),
            };
            let blocks: Result<_> = (0..depth).map(|_| Block::new(channels)).collect();
            stages.append(Stage {
                downsample,
                blocks: blocks?,
            });
            inputs = channels;
        }
        let stem = Sequential::new().push(patches(in_chans.unwrap_or(3), dims[0], 4)?);
        let (head_norm, fc) = (norm(inputs)?, Linear::new(inputs, config.num_classes)?);
        let head = Head {
            norm: head_norm,
            fc,
        };
        let model = Self {
            stem: stem.push(norm(dims[0])?),
            stages,
            head,
        };
        timm::initialize(&model, 0.02)?;
        Ok(model)
    }
}

impl Forward for ConvNeXt {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.head.call(self.stages.call(self.stem.call(x)?)?)
    }
}
