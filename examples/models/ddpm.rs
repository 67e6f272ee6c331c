//! diffusers' `UNet2DModel`, which predicts the noise in images, and its `DDPMScheduler`, which removes it.
//!
//! Source: Ho, Jain and Abbeel, *Denoising Diffusion Probabilistic Models* (2020).

mod blocks;
mod scheduler;

use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::pretrained::{IGNORED, Pretrained, check_rest};
use blocks::{Block, Downsample2D, TimestepEmbedding, Upsample2D, conv3x3, norm};
pub use scheduler::{DDPMScheduler, DDPMSchedulerConfig};

/// diffusers' `config.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are diffusers'")]
pub struct UNet2DConfig {
    pub in_channels: usize,
    pub out_channels: usize,
    pub center_input_sample: bool,
    pub time_embedding_dim: Option<usize>,
    pub freq_shift: f64,
    pub flip_sin_to_cos: bool,
    pub down_block_types: Vec<BlockType>,
    pub up_block_types: Vec<BlockType>,
    pub block_out_channels: Vec<usize>,
    pub layers_per_block: usize,
    pub downsample_padding: usize,
    pub dropout: f64,
    pub attention_head_dim: Option<usize>,
    pub norm_num_groups: usize,
    pub norm_eps: f64,
    pub add_attention: bool,
    /// Arguments that must have the value of this model.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The kind of block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum BlockType {
    /// Residual convolutions.
    #[serde(alias = "DownBlock2D", alias = "UpBlock2D")]
    Plain,
    /// With attention after each of them.
    #[serde(alias = "AttnDownBlock2D", alias = "AttnUpBlock2D")]
    Attention,
}

impl Default for UNet2DConfig {
    fn default() -> Self {
        use BlockType::{Attention, Plain};
        Self {
            in_channels: 3,
            out_channels: 3,
            center_input_sample: false,
            time_embedding_dim: None,
            freq_shift: 0.0,
            flip_sin_to_cos: true,
            down_block_types: vec![Plain, Attention, Attention, Attention],
            up_block_types: vec![Attention, Attention, Attention, Plain],
            block_out_channels: vec![224, 448, 672, 896],
            layers_per_block: 2,
            downsample_padding: 1,
            dropout: 0.0,
            attention_head_dim: Some(8),
            norm_num_groups: 32,
            norm_eps: 1e-5,
            add_attention: true,
            rest: Map::new(),
        }
    }
}

/// `(N, in_channels, H, W)` images and their `(N)` steps to the noise in them; `unet` in a pipeline's directory.
#[derive(Module)]
pub struct UNet2DModel {
    #[module(skip)]
    config: UNet2DConfig,
    conv_in: Conv2d,
    time_embedding: TimestepEmbedding,
    down_blocks: Vec<Block>,
    up_blocks: Vec<Block>,
    mid_block: Block,
    conv_norm_out: GroupNorm,
    conv_act: SiLU,
    conv_out: Conv2d,
}

impl UNet2DConfig {
    fn time_channels(&self) -> usize {
        let channels = self.block_out_channels.first().copied().unwrap_or(0);
        self.time_embedding_dim.unwrap_or(4 * channels)
    }
}

impl Pretrained for UNet2DModel {
    type Config = UNet2DConfig;

    fn new(config: &UNet2DConfig) -> Result<Self> {
        let only = [
            ("act_fn", json!("silu")),
            ("mid_block_type", json!("UNetMidBlock2D")),
            ("mid_block_scale_factor", json!(1)),
            ("time_embedding_type", json!("positional")),
            ("resnet_time_scale_shift", json!("default")),
            ("downsample_type", json!("conv")),
            ("upsample_type", json!("conv")),
            ("attn_norm_num_groups", json!(null)),
            ("class_embed_type", json!(null)),
            ("num_class_embeds", json!(null)),
            ("num_train_timesteps", json!(null)),
            ("sample_size", json!(IGNORED)),
            ("_class_name", json!(IGNORED)),
            ("_diffusers_version", json!(IGNORED)),
        ];
        check_rest("UNet2DModel", &config.rest, &only)?;
        let channels = &config.block_out_channels;
        let [first, .., last] = channels[..] else {
            let problem = "must have two blocks or more";
            return Err(Error::argument(
                "UNet2DModel",
                "block_out_channels",
                channels.len(),
                problem,
            ));
        };
        let layers = config.layers_per_block;
        let kinds = [&config.down_block_types, &config.up_block_types];
        if layers == 0 || kinds.iter().any(|kinds| kinds.len() != channels.len()) {
            let problem =
                "must be 1 or more, and each of block_out_channels needs a type on both ways";
            return Err(Error::argument(
                "UNet2DModel",
                "layers_per_block",
                layers,
                problem,
            ));
        }
        let attentions = |kind, layers| {
            if kind == BlockType::Attention {
                layers
            } else {
                0
            }
        };

        let (mut down_blocks, mut inputs) = (Vec::new(), first);
        for (i, (&outputs, &kind)) in channels.iter().zip(&config.down_block_types).enumerate() {
            let mut resnets = vec![outputs; layers];
            resnets[..1].fill(inputs);
            let mut block = Block::new(config, &resnets, outputs, attentions(kind, layers))?;
            if i + 1 < channels.len() {
                let padding = config.downsample_padding;
                let conv = Conv2dConfig::new(outputs, outputs, 3)
                    .stride(2)
                    .padding(padding);
                block.downsamplers.push(Downsample2D {
                    padding,
                    conv: conv.build()?,
                });
            }
            down_blocks.push(block);
            inputs = outputs;
        }
        let mid_block = Block::new(config, &[last; 2], last, usize::from(config.add_attention))?;
        let mut up_blocks = Vec::new();
        for (i, (&outputs, &kind)) in channels
            .iter()
            .rev()
            .zip(&config.up_block_types)
            .enumerate()
        {
            // Each takes states of the downward path in reverse order, and the last of these has the next block's channels.
            let next = channels.iter().rev().nth(i + 1).copied().unwrap_or(first);
            let mut resnets = vec![2 * outputs; layers + 1];
            resnets[0] = inputs + outputs;
            resnets[layers] = resnets[layers] - outputs + next;
            let mut block = Block::new(config, &resnets, outputs, attentions(kind, layers + 1))?;
            if i + 1 < channels.len() {
                block.upsamplers.push(Upsample2D {
                    conv: conv3x3(outputs, outputs)?,
                });
            }
            up_blocks.push(block);
            inputs = outputs;
        }
        let time = config.time_channels();
        let (linear_1, linear_2) = (Linear::new(first, time)?, Linear::new(time, time)?);
        Ok(Self {
            config: config.clone(),
            conv_in: conv3x3(config.in_channels, first)?,
            time_embedding: TimestepEmbedding {
                linear_1,
                act: SiLU::new(),
                linear_2,
            },
            down_blocks,
            up_blocks,
            mid_block,
            conv_norm_out: norm(config, first)?,
            conv_act: SiLU::new(),
            conv_out: conv3x3(first, config.out_channels)?,
        })
    }
}

impl UNet2DModel {
    /// Sinusoidal embeddings of the steps, which the original computes in `F32` whatever the model's dtype.
    fn waves(&self, steps: &Tensor) -> Result<Tensor> {
        let half = self.conv_in.config().out_channels / 2;
        let exponents = Tensor::arange(0, half as i64, DType::F32)?.mul(-(10_000_f64.ln()))?;
        let frequencies = exponents.div(half as f64 - self.config.freq_shift)?.exp()?;
        let angles = steps
            .to_dtype(DType::F32)?
            .unsqueeze(1)?
            .mul(&frequencies)?;
        let mut waves = [angles.sin()?, angles.cos()?];
        if self.config.flip_sin_to_cos {
            waves.reverse();
        }
        Tensor::cat(&waves, 1)?.to_dtype(self.conv_in.weight().dtype())
    }
}

impl Forward<(Tensor, Tensor)> for UNet2DModel {
    type Output = Tensor;

    fn forward(&self, (mut x, steps): (Tensor, Tensor)) -> Result<Tensor> {
        if self.config.center_input_sample {
            x = x.mul(2.0)?.sub(1.0)?;
        }
        let time = self.time_embedding.call(self.waves(&steps)?)?;
        let mut x = self.conv_in.call(x)?;
        let mut states = vec![x.clone()];
        for block in &self.down_blocks {
            states.extend(block.call((x, time.clone()))?);
            x = states[states.len() - 1].clone();
        }
        for state in self.mid_block.call((x.clone(), time.clone()))? {
            x = state;
        }
        for block in &self.up_blocks {
            let own = states.split_off(states.len() - block.resnets.len());
            x = block.call((x, time.clone(), own))?;
        }
        let x = self.conv_act.call(self.conv_norm_out.call(x)?)?;
        self.conv_out.call(x)
    }
}
