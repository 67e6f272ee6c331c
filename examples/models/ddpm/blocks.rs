//! The blocks of the network.

use module_nn::prelude::*;
use module_nn::{AttentionOptions, InterpolateOptions};

use super::UNet2DConfig;

#[derive(Module)]
pub(super) struct TimestepEmbedding {
    pub(super) linear_1: Linear,
    pub(super) act: SiLU,
    pub(super) linear_2: Linear,
}

/// A block on the way down, in the middle or on the way up.
#[derive(Module)]
pub(super) struct Block {
    attentions: Vec<Attention>,
    pub(super) resnets: Vec<ResnetBlock2D>,
    pub(super) downsamplers: Vec<Downsample2D>,
    pub(super) upsamplers: Vec<Upsample2D>,
}

#[derive(Module)]
pub(super) struct ResnetBlock2D {
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
pub(super) struct Attention {
    heads: usize,
    group_norm: GroupNorm,
    to_q: Linear,
    to_k: Linear,
    to_v: Linear,
    to_out: Sequential,
}

#[derive(Module)]
pub(super) struct Downsample2D {
    pub(super) padding: usize,
    pub(super) conv: Conv2d,
}

#[derive(Module)]
pub(super) struct Upsample2D {
    pub(super) conv: Conv2d,
}

pub(super) fn conv3x3(inputs: usize, outputs: usize) -> Result<Conv2d> {
    Conv2dConfig::new(inputs, outputs, 3).padding(1).build()
}

pub(super) fn norm(config: &UNet2DConfig, channels: usize) -> Result<GroupNorm> {
    let norm = GroupNormConfig::new(config.norm_num_groups, channels);
    norm.eps(config.norm_eps).build()
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
    /// Residual convolutions, one for each number of input channels, with `outputs` channels.
    pub(super) fn new(
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
        // The positions become a sequence: `[batch, channels, height, width]` to `[batch, positions, channels]`.
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

/// Downward: all states, of which the last is passed on.
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

/// Upward: each step is joined with a state of the downward path, in reverse order.
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
