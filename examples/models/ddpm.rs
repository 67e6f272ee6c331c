//! diffusers' `UNet2DModel`, which predicts the noise in images, and its `DDPMScheduler`, which takes it away.
//!
//! Source: Ho, Jain and Abbeel, *Denoising Diffusion Probabilistic Models* (2020).

use std::path::Path;

use module_nn::prelude::*;
use module_nn::{AttentionOptions, InterpolateOptions};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::pretrained::{self, IGNORED};

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
    /// What this model has no choice of.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The kind of a block.
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

/// `(N, in_channels, H, W)` images and their `(N)` steps to the noise in them.
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

#[derive(Module)]
struct TimestepEmbedding {
    linear_1: Linear,
    act: SiLU,
    linear_2: Linear,
}

/// A block on the way down, in the middle or on the way up.
#[derive(Module)]
struct Block {
    attentions: Vec<Attention>,
    resnets: Vec<ResnetBlock2D>,
    downsamplers: Vec<Downsample2D>,
    upsamplers: Vec<Upsample2D>,
}

#[derive(Module)]
struct ResnetBlock2D {
    norm1: GroupNorm,
    conv1: Conv2d,
    time_emb_proj: Linear,
    norm2: GroupNorm,
    dropout: Dropout,
    conv2: Conv2d,
    nonlinearity: SiLU,
    conv_shortcut: Box<dyn Layer>,
}

#[derive(Module)]
struct Attention {
    heads: usize,
    group_norm: GroupNorm,
    to_q: Linear,
    to_k: Linear,
    to_v: Linear,
    to_out: Sequential,
}

#[derive(Module)]
struct Downsample2D {
    padding: usize,
    conv: Conv2d,
}

#[derive(Module)]
struct Upsample2D {
    conv: Conv2d,
}

fn conv3x3(inputs: usize, outputs: usize) -> Result<Conv2d> {
    Conv2dConfig::new(inputs, outputs, 3).padding(1).build()
}

fn norm(config: &UNet2DConfig, channels: usize) -> Result<GroupNorm> {
    let norm = GroupNormConfig::new(config.norm_num_groups, channels);
    norm.eps(config.norm_eps).build()
}

impl UNet2DConfig {
    fn time_channels(&self) -> usize {
        let channels = self.block_out_channels.first().copied().unwrap_or(0);
        self.time_embedding_dim.unwrap_or(4 * channels)
    }
}

impl ResnetBlock2D {
    fn new(config: &UNet2DConfig, inputs: usize, outputs: usize) -> Result<Self> {
        Ok(Self {
            norm1: norm(config, inputs)?,
            conv1: conv3x3(inputs, outputs)?,
            time_emb_proj: Linear::new(config.time_channels(), outputs)?,
            norm2: norm(config, outputs)?,
            dropout: Dropout::new(config.dropout)?,
            conv2: conv3x3(outputs, outputs)?,
            nonlinearity: SiLU::new(),
            conv_shortcut: match inputs == outputs {
                true => Box::new(Identity::new()),
                false => Box::new(Conv2d::new(inputs, outputs, 1)?),
            },
        })
    }
}

impl Attention {
    fn new(config: &UNet2DConfig, channels: usize) -> Result<Self> {
        let project = || Linear::new(channels, channels);
        Ok(Self {
            heads: channels / config.attention_head_dim.unwrap_or(channels),
            group_norm: norm(config, channels)?,
            to_q: project()?,
            to_k: project()?,
            to_v: project()?,
            to_out: Sequential::new().push(project()?).push(Dropout::new(0.0)?),
        })
    }
}

impl Block {
    /// Residual convolutions from each number of channels to `outputs`.
    fn new(
        config: &UNet2DConfig,
        inputs: &[usize],
        outputs: usize,
        attentions: usize,
    ) -> Result<Self> {
        let attentions = (0..attentions).map(|_| Attention::new(config, outputs));
        let resnets = inputs
            .iter()
            .map(|&inputs| ResnetBlock2D::new(config, inputs, outputs));
        Ok(Self {
            attentions: attentions.collect::<Result<_>>()?,
            resnets: resnets.collect::<Result<_>>()?,
            downsamplers: Vec::new(),
            upsamplers: Vec::new(),
        })
    }

    /// Residual convolution `i`, and the attention after it.
    fn layer(&self, i: usize, x: Tensor, time: &Tensor) -> Result<Tensor> {
        let x = match self.resnets.get(i) {
            Some(resnet) => resnet.call((x, time.clone()))?,
            None => x,
        };
        self.attentions
            .get(i)
            .map_or(Ok(x.clone()), |attention| attention.call(x))
    }
}

impl UNet2DModel {
    /// A network with fresh weights.
    ///
    /// # Errors
    ///
    /// Sizes of 0 or that do not divide, an argument that this model has no choice of.
    pub fn new(config: &UNet2DConfig) -> Result<Self> {
        pretrained::check_rest(
            "UNet2DModel",
            &config.rest,
            &[
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
            ],
        )?;
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
            // Each takes the states of the way down from behind, of which the last has the next block's channels.
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

    /// The network of a directory with `config.json` and weights, `unet` in that of a pipeline.
    ///
    /// # Errors
    ///
    /// As [`pretrained::from_pretrained`].
    pub fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        pretrained::from_pretrained(dir, Self::new)
    }

    /// Waves of steps, which the original computes in `F32` whatever the dtype of the model.
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

impl Forward for TimestepEmbedding {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.linear_2.call(self.act.call(self.linear_1.call(x)?)?)
    }
}

impl Forward<(Tensor, Tensor)> for ResnetBlock2D {
    type Output = Tensor;

    fn forward(&self, (x, time): (Tensor, Tensor)) -> Result<Tensor> {
        let y = self.nonlinearity.call(self.norm1.call(x.clone())?)?;
        let time = self.time_emb_proj.call(self.nonlinearity.call(time)?)?;
        let y = self.conv1.call(y)?.add(&time.unsqueeze(2)?.unsqueeze(3)?)?;
        let y = self.nonlinearity.call(self.norm2.call(y)?)?;
        let y = self.conv2.call(self.dropout.call(y)?)?;
        self.conv_shortcut.call(x)?.add(&y)
    }
}

impl Forward for Attention {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        // Places are a sequence: `[batch, channels, height, width]` to `[batch, places, channels]`.
        let places = self
            .group_norm
            .call(x.clone())?
            .flatten(2, -1)?
            .transpose(1, 2)?;
        let heads = |projected: Tensor| {
            let heads = projected.unflatten(-1, [self.heads as isize, -1])?;
            heads.transpose(1, 2)
        };
        let q = heads(self.to_q.call(places.clone())?)?;
        let k = heads(self.to_k.call(places.clone())?)?;
        let v = heads(self.to_v.call(places)?)?;
        let y = q.scaled_dot_product_attention(&k, &v, AttentionOptions::new())?;
        let y = self.to_out.call(y.transpose(1, 2)?.flatten(2, -1)?)?;
        y.transpose(1, 2)?.reshape(x.shape())?.add(&x)
    }
}

impl Forward for Downsample2D {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = if self.padding == 0 {
            x.pad([0, 1, 0, 1], 0)?
        } else {
            x
        };
        self.conv.call(x)
    }
}

impl Forward for Upsample2D {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let twice = InterpolateOptions::scale_factor([2.0, 2.0]);
        self.conv.call(x.interpolate(&twice)?)
    }
}

/// On the way down: all states, of which the last goes on.
impl Forward<(Tensor, Tensor)> for Block {
    type Output = Vec<Tensor>;

    fn forward(&self, (mut x, time): (Tensor, Tensor)) -> Result<Vec<Tensor>> {
        let mut states = Vec::new();
        for i in 0..self.resnets.len() {
            x = self.layer(i, x, &time)?;
            states.push(x.clone());
        }
        for downsampler in &self.downsamplers {
            states.push(downsampler.call(x.clone())?);
        }
        Ok(states)
    }
}

/// On the way up: joined with states of the way down, from behind.
impl Forward<(Tensor, Tensor, Vec<Tensor>)> for Block {
    type Output = Tensor;

    fn forward(&self, (mut x, time, states): (Tensor, Tensor, Vec<Tensor>)) -> Result<Tensor> {
        for (i, state) in states.into_iter().rev().enumerate() {
            x = self.layer(i, Tensor::cat(&[x, state], 1)?, &time)?;
        }
        self.upsamplers
            .iter()
            .try_fold(x, |x, upsampler| upsampler.call(x))
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

/// diffusers' `scheduler_config.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are diffusers'")]
pub struct DDPMSchedulerConfig {
    pub num_train_timesteps: usize,
    pub beta_start: f64,
    pub beta_end: f64,
    pub clip_sample: bool,
    pub clip_sample_range: f64,
    pub steps_offset: usize,
    /// What this scheduler has no choice of.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Default for DDPMSchedulerConfig {
    fn default() -> Self {
        Self {
            num_train_timesteps: 1000,
            beta_start: 1e-4,
            beta_end: 0.02,
            clip_sample: true,
            clip_sample_range: 1.0,
            steps_offset: 0,
            rest: Map::new(),
        }
    }
}

/// How much noise an image has at each step, and what is left of it a step before.
#[derive(Clone, Debug)]
pub struct DDPMScheduler {
    config: DDPMSchedulerConfig,
    /// The share of the image after each step, squared.
    alphas_cumprod: Vec<f32>,
    inference_steps: usize,
}

impl DDPMScheduler {
    /// A scheduler of as many steps as in training.
    ///
    /// # Errors
    ///
    /// An argument that this scheduler has no choice of.
    pub fn new(config: &DDPMSchedulerConfig) -> Result<Self> {
        pretrained::check_rest(
            "DDPMScheduler",
            &config.rest,
            &[
                ("beta_schedule", json!("linear")),
                ("trained_betas", json!(null)),
                ("variance_type", json!("fixed_small")),
                ("prediction_type", json!("epsilon")),
                ("thresholding", json!(false)),
                ("dynamic_thresholding_ratio", json!(IGNORED)),
                ("sample_max_value", json!(IGNORED)),
                ("timestep_spacing", json!("leading")),
                ("rescale_betas_zero_snr", json!(false)),
                ("_class_name", json!(IGNORED)),
                ("_diffusers_version", json!(IGNORED)),
            ],
        )?;
        let inference_steps = config.num_train_timesteps;
        let betas = Tensor::linspace(
            config.beta_start,
            config.beta_end,
            inference_steps,
            DType::F32,
        )?;
        let alphas_cumprod = betas.neg()?.add(1.0)?.cumprod(0)?.to_vec()?;
        Ok(Self {
            config: config.clone(),
            alphas_cumprod,
            inference_steps,
        })
    }

    /// The scheduler of a directory with `scheduler_config.json`, `scheduler` in that of a pipeline.
    ///
    /// # Errors
    ///
    /// As [`pretrained::read_json`], and as [`new`](Self::new).
    pub fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        Self::new(&pretrained::read_json(
            dir.as_ref().join("scheduler_config.json"),
        )?)
    }

    /// With fewer steps than in training.
    #[must_use]
    pub fn inference_steps(mut self, steps: usize) -> Self {
        self.inference_steps = steps.clamp(1, self.alphas_cumprod.len());
        self
    }

    fn stride(&self) -> usize {
        self.alphas_cumprod.len() / self.inference_steps
    }

    /// The steps, from the noisiest.
    pub fn timesteps(&self) -> Vec<usize> {
        let step = |i| i * self.stride() + self.config.steps_offset;
        (0..self.inference_steps).rev().map(step).collect()
    }

    fn alpha(&self, step: usize) -> Result<f32> {
        let problem = || format!("must be less than {}", self.alphas_cumprod.len());
        let alpha = self.alphas_cumprod.get(step).copied();
        alpha.ok_or_else(|| Error::argument("ddpm", "step", step, problem()))
    }

    /// Images with as much noise as after a step, for training: `√ᾱ · images + √(1 - ᾱ) · noise`.
    ///
    /// # Errors
    ///
    /// A step that there is not, different shapes.
    pub fn add_noise(&self, images: &Tensor, noise: &Tensor, step: usize) -> Result<Tensor> {
        let alpha = self.alpha(step)?;
        let noise = noise.mul((1.0 - alpha).sqrt())?;
        images.mul(alpha.sqrt())?.add(&noise)
    }

    /// Images a step before, of the `predicted` noise in them, and of fresh noise.
    ///
    /// # Errors
    ///
    /// A step that there is not, different shapes.
    pub fn step(
        &self,
        predicted: &Tensor,
        step: usize,
        images: &Tensor,
        noise: &Tensor,
    ) -> Result<Tensor> {
        let alpha = self.alpha(step)?;
        let before = step
            .checked_sub(self.stride())
            .map_or(Ok(1.0), |step| self.alpha(step))?;
        let kept = alpha / before;
        let original = images
            .sub(&predicted.mul((1.0 - alpha).sqrt())?)?
            .div(alpha.sqrt())?;
        let original = match self.config.clip_sample_range {
            range if self.config.clip_sample => original.clamp(-range, range)?,
            _ => original,
        };
        let of_original = before.sqrt() * (1.0 - kept) / (1.0 - alpha);
        let of_images = kept.sqrt() * (1.0 - before) / (1.0 - alpha);
        let mean = original.mul(of_original)?.add(&images.mul(of_images)?)?;
        if step == 0 {
            return Ok(mean);
        }
        let variance = ((1.0 - before) / (1.0 - alpha) * (1.0 - kept)).max(1e-20);
        mean.add(&noise.mul(variance.sqrt())?)
    }

    /// Draws images of this shape: noise, from which a model takes what it predicts, step by step.
    ///
    /// # Errors
    ///
    /// Those of the model.
    pub fn sample(&self, model: &UNet2DModel, shape: [usize; 4]) -> Result<Tensor> {
        let draw = || Tensor::randn(shape, DType::F32);
        let mut images = draw()?;
        for step in self.timesteps() {
            let steps = Tensor::full([shape[0]], step as i64, DType::I64)?;
            let predicted = no_grad(|| model.call((images.clone(), steps)))?;
            let noise = if step == 0 { images.clone() } else { draw()? };
            images = self.step(&predicted, step, &images, &noise)?;
        }
        Ok(images)
    }
}
