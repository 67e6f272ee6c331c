//! The encoders of CLIP, called towers: transformers that reduce each text or image to one vector.

use module_nn::init::{Normal, zeros};
use module_nn::prelude::*;

use super::super::transformers::{Activation, Attention, check_heads};
use super::{CLIPTowerConfig, check_rest};

#[derive(Module)]
pub(super) struct TextModel {
    eos_token_id: i64,
    embeddings: TextEmbeddings,
    encoder: Encoder,
    final_layer_norm: LayerNorm,
}

#[derive(Module)]
struct TextEmbeddings {
    token_embedding: Embedding,
    position_embedding: Embedding,
}

#[derive(Module)]
pub(super) struct VisionModel {
    embeddings: VisionEmbeddings,
    /// The files spell it this way.
    pre_layrnorm: LayerNorm,
    encoder: Encoder,
    post_layernorm: LayerNorm,
}

#[derive(Module)]
struct VisionEmbeddings {
    image_size: usize,
    class_embedding: Parameter,
    patch_embedding: Conv2d,
    position_embedding: Embedding,
}

#[derive(Module)]
struct Encoder {
    layers: Vec<EncoderLayer>,
}

#[derive(Module)]
struct EncoderLayer {
    self_attn: Attention,
    layer_norm1: LayerNorm,
    mlp: Mlp,
    layer_norm2: LayerNorm,
}

#[derive(Module)]
struct Mlp {
    activation_fn: Box<dyn Layer>,
    fc1: Linear,
    fc2: Linear,
}

impl CLIPTowerConfig {
    /// A normal distribution with a standard deviation that is multiplied by the factor.
    fn normal(&self, std: f64) -> Normal {
        let std = self.initializer_factor.unwrap_or(1.0) * std;
        Normal { mean: 0.0, std }
    }

    fn table(&self, rows: usize, width: usize, std: f64) -> Result<Embedding> {
        Embedding::from_parts(Parameter::with_init([rows, width], self.normal(std))?)
    }

    fn norm(&self, width: usize) -> Result<LayerNorm> {
        let eps = self.layer_norm_eps.unwrap_or(1e-5);
        LayerNormConfig::new(width).eps(eps).build()
    }
}

impl Encoder {
    /// Builds it from a configuration; `width` is the width, and `heads` the default number of heads.
    fn new(config: &CLIPTowerConfig, width: usize, heads: usize) -> Result<Self> {
        let hidden = config.intermediate_size.unwrap_or(heads * 256);
        let heads = config.num_attention_heads.unwrap_or(heads);
        check_heads("CLIP", width, heads)?;
        let act = config.hidden_act.unwrap_or(Activation::QuickGelu);
        let count = config.num_hidden_layers.unwrap_or(12);
        let root = (width as f64).sqrt();
        let inner = root * (2.0 * count as f64).sqrt();
        let linear = |from: usize, to: usize, over: f64| {
            let weight = Parameter::with_init([to, from], config.normal(1.0 / over))?;
            Linear::from_parts(weight, Parameter::with_init([to], zeros())?)
        };
        let layer = |_| -> Result<EncoderLayer> {
            Ok(EncoderLayer {
                self_attn: Attention {
                    heads,
                    is_causal: false,
                    dropout: config.attention_dropout,
                    k_proj: linear(width, width, inner)?,
                    v_proj: linear(width, width, inner)?,
                    q_proj: linear(width, width, inner)?,
                    out_proj: linear(width, width, root)?,
                    training: Training::new(),
                },
                layer_norm1: config.norm(width)?,
                mlp: Mlp {
                    activation_fn: act.build()?,
                    fc1: linear(width, hidden, root * 2_f64.sqrt())?,
                    fc2: linear(hidden, width, inner)?,
                },
                layer_norm2: config.norm(width)?,
            })
        };
        let layers: Result<_> = (0..count).map(layer).collect();
        Ok(Self { layers: layers? })
    }
}

impl Forward for Mlp {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.fc2.call(self.activation_fn.call(self.fc1.call(x)?)?)
    }
}

/// The queries' input, and a mask that is true where a token is visible; without a mask all are.
impl Forward<(Tensor, Option<Tensor>)> for EncoderLayer {
    type Output = Tensor;

    fn forward(&self, (x, is_seen): (Tensor, Option<Tensor>)) -> Result<Tensor> {
        let y = self.layer_norm1.call(x.clone())?;
        let attended = self.self_attn.keys_and_values(&y)?;
        let x = x.add(&self.self_attn.call((y, attended, is_seen))?)?;
        let y = self.layer_norm2.call(x.clone())?;
        x.add(&self.mlp.call(y)?)
    }
}

impl Forward<(Tensor, Option<Tensor>)> for Encoder {
    type Output = Tensor;

    fn forward(&self, (mut x, is_seen): (Tensor, Option<Tensor>)) -> Result<Tensor> {
        for layer in &self.layers {
            x = layer.call((x, is_seen.clone()))?;
        }
        Ok(x)
    }
}

impl TextModel {
    pub(super) fn new(config: &CLIPTowerConfig, width: usize) -> Result<Self> {
        check_rest("clip_text_model", &config.rest)?;
        let words = config.vocab_size.unwrap_or(49408);
        let positions = config.max_position_embeddings.unwrap_or(77);
        Ok(Self {
            eos_token_id: config.eos_token_id.unwrap_or(49407),
            embeddings: TextEmbeddings {
                token_embedding: config.table(words, width, 0.02)?,
                position_embedding: config.table(positions, width, 0.02)?,
            },
            encoder: Encoder::new(config, width, 8)?,
            final_layer_norm: config.norm(width)?,
        })
    }
}

impl Forward for TextEmbeddings {
    type Output = Tensor;

    fn forward(&self, ids: Tensor) -> Result<Tensor> {
        let positions = Tensor::arange(0, ids.size(1)? as i64, ())?;
        let x = self.token_embedding.call(ids)?;
        x.add(&self.position_embedding.call(positions)?)
    }
}

/// Token ids and a mask that is 0 for padding, to the state at the end of each text.
impl Forward<(Tensor, Option<Tensor>)> for TextModel {
    type Output = Tensor;

    fn forward(&self, (ids, mask): (Tensor, Option<Tensor>)) -> Result<Tensor> {
        let mut is_seen = Tensor::ones([ids.size(1)?; 2], DType::Bool)?.tril(0)?;
        if let Some(mask) = mask {
            is_seen = is_seen.logical_and(&mask.ne(0)?.unsqueeze(1)?.unsqueeze(1)?)?;
        }
        let x = self.embeddings.call(ids.clone())?;
        let x = self.encoder.call((x, Some(is_seen)))?;
        let x = self.final_layer_norm.call(x)?;
        let is_end = match self.eos_token_id {
            // Older configurations say 2 and mean the greatest id.
            2 => ids,
            end => ids.eq(end)?.to_dtype(DType::I64)?,
        };
        let first = is_end.argmax(1)?.unsqueeze(1)?.unsqueeze(1)?;
        x.take_along_dim(&first, 1)?.select(1, 0)
    }
}

impl VisionModel {
    pub(super) fn new(config: &CLIPTowerConfig, width: usize) -> Result<Self> {
        check_rest("clip_vision_model", &config.rest)?;
        let image_size = config.image_size.unwrap_or(224);
        let patch = config.patch_size.unwrap_or(32);
        let patches = Conv2dConfig::new(config.num_channels.unwrap_or(3), width, patch);
        let patches = patches.stride(patch).bias(false).build()?;
        let std = config.initializer_range.unwrap_or(0.02);
        patches.weight().initialize(config.normal(std))?;
        let class = config.normal((width as f64).powf(-0.5));
        let count = (image_size / patch).pow(2);
        Ok(Self {
            embeddings: VisionEmbeddings {
                image_size,
                class_embedding: Parameter::with_init([width], class)?,
                patch_embedding: patches,
                position_embedding: config.table(count + 1, width, std)?,
            },
            pre_layrnorm: config.norm(width)?,
            encoder: Encoder::new(config, width, 12)?,
            post_layernorm: config.norm(width)?,
        })
    }
}

impl Forward for VisionEmbeddings {
    type Output = Tensor;

    fn forward(&self, images: Tensor) -> Result<Tensor> {
        let size = self.image_size;
        if !images.shape().ends_with(&[size, size]) {
            let expected = format!("[N, channels, {size}, {size}]");
            return Err(images.shape().error("CLIP", expected));
        }
        let patches = self.patch_embedding.call(images)?;
        let patches = patches.flatten(2, -1)?.transpose(1, 2)?;
        let count = patches.size(0)? as isize;
        let class = self.class_embedding.tensor().expand([count, 1, -1])?;
        let x = Tensor::cat(&[class, patches], 1)?;
        let positions = Tensor::arange(0, x.size(1)? as i64, ())?;
        x.add(&self.position_embedding.call(positions)?)
    }
}

/// Images to the first token of each, which represents the whole image.
impl Forward for VisionModel {
    type Output = Tensor;

    fn forward(&self, images: Tensor) -> Result<Tensor> {
        let x = self.pre_layrnorm.call(self.embeddings.call(images)?)?;
        let x = self.encoder.call((x, None))?.select(1, 0)?;
        self.post_layernorm.call(x)
    }
}
