//! CLIP of Hugging Face's transformers, `CLIPModel`: one encoder for text and one for images, whose features are compared.
//!
//! Source: Radford et al., *Learning Transferable Visual Models From Natural Language Supervision* (2021).

mod towers;

use module_nn::functional::normalize;
use module_nn::init::{Constant, Normal};
use module_nn::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::pretrained::{IGNORED, Pretrained};
use super::transformers::{self, Activation};
use towers::{TextModel, VisionModel};

/// transformers' `config.json`.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the names are transformers'")]
pub struct CLIPConfig {
    #[serde(default)]
    pub text_config: CLIPTowerConfig,
    #[serde(default)]
    pub vision_config: CLIPTowerConfig,
    /// In older files, instead of `text_config`.
    pub text_config_dict: Option<CLIPTowerConfig>,
    /// In older files, instead of `vision_config`.
    pub vision_config_dict: Option<CLIPTowerConfig>,
    pub projection_dim: usize,
    pub logit_scale_init_value: f64,
    pub initializer_factor: f64,
    /// Arguments that must have the value of this model.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The encoder for text or for images; missing arguments are those of `openai/clip-vit-base-patch32`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are transformers'")]
pub struct CLIPTowerConfig {
    pub hidden_size: Option<usize>,
    pub intermediate_size: Option<usize>,
    pub num_hidden_layers: Option<usize>,
    pub num_attention_heads: Option<usize>,
    pub hidden_act: Option<Activation>,
    pub layer_norm_eps: Option<f64>,
    pub attention_dropout: f64,
    pub initializer_range: Option<f64>,
    pub initializer_factor: Option<f64>,
    pub vocab_size: Option<usize>,
    pub max_position_embeddings: Option<usize>,
    pub eos_token_id: Option<i64>,
    pub num_channels: Option<usize>,
    pub image_size: Option<usize>,
    pub patch_size: Option<usize>,
    /// Arguments that must have the value of this model.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Texts and images to `(images, texts)` similarity logits, and the same with the texts first.
///
/// It is called with `(N, L)` token ids, `(M, num_channels, image_size, image_size)` images, and an optional mask `(N, L)`
/// that is 0 for padding.
#[derive(Module)]
pub struct CLIP {
    text_model: TextModel,
    vision_model: VisionModel,
    visual_projection: Linear,
    text_projection: Linear,
    logit_scale: Parameter,
}

/// Refuses arguments of a configuration, or of an encoder's, other than the fields.
fn check_rest(model_type: &str, rest: &Map<String, Value>) -> Result<()> {
    let only = [
        ("model_type", json!(model_type)),
        ("is_encoder_decoder", json!(false)),
        // In an encoder's configuration: also given next to it.
        ("projection_dim", json!(IGNORED)),
        // Nothing reads it.
        ("dropout", json!(IGNORED)),
    ];
    transformers::check_rest("CLIP", rest, &only)
}

impl Pretrained for CLIP {
    type Config = CLIPConfig;
    const UNUSED_KEYS: &'static [&'static str] = &[
        "text_model.embeddings.position_ids",
        "vision_model.embeddings.position_ids",
    ];

    fn new(config: &CLIPConfig) -> Result<Self> {
        check_rest("clip", &config.rest)?;
        let text = config.text_config_dict.as_ref();
        let text = text.unwrap_or(&config.text_config);
        let vision = config.vision_config_dict.as_ref();
        let vision = vision.unwrap_or(&config.vision_config);
        let text_width = text.hidden_size.unwrap_or(512);
        let vision_width = vision.hidden_size.unwrap_or(768);
        let projection = |width: usize| {
            let std = config.initializer_factor / (width as f64).sqrt();
            let draw = Normal { mean: 0.0, std };
            let weight = Parameter::with_init([config.projection_dim, width], draw)?;
            Linear::from_parts(weight, Bias::Absent)
        };
        Ok(Self {
            text_model: TextModel::new(text, text_width)?,
            vision_model: VisionModel::new(vision, vision_width)?,
            visual_projection: projection(vision_width)?,
            text_projection: projection(text_width)?,
            logit_scale: Parameter::with_init([], Constant(config.logit_scale_init_value))?,
        })
    }
}

impl CLIP {
    /// The features `(N, projection_dim)` of texts: `(N, L)` token ids, and a mask that is 0 for padding.
    ///
    /// # Errors
    ///
    /// Other shapes, texts that are too long, ids outside the vocabulary.
    pub fn get_text_features(&self, ids: Tensor, mask: Option<Tensor>) -> Result<Tensor> {
        self.text_projection
            .call(self.text_model.call((ids, mask))?)
    }

    /// The features of images, `(N, projection_dim)`.
    ///
    /// # Errors
    ///
    /// Images of a different size.
    pub fn get_image_features(&self, images: Tensor) -> Result<Tensor> {
        self.visual_projection.call(self.vision_model.call(images)?)
    }
}

impl Forward<(Tensor, Tensor, Option<Tensor>)> for CLIP {
    type Output = (Tensor, Tensor);

    fn forward(&self, input: (Tensor, Tensor, Option<Tensor>)) -> Result<Self::Output> {
        let (ids, images, mask) = input;
        let image_embeds = normalize(&self.get_image_features(images)?, 2.0, -1, 0.0)?;
        let text_embeds = normalize(&self.get_text_features(ids, mask)?, 2.0, -1, 0.0)?;
        let scale = self.logit_scale.tensor().exp()?;
        let logits = image_embeds.matmul(&text_embeds.t()?)?.mul(&scale)?;
        Ok((logits.clone(), logits.t()?))
    }
}
