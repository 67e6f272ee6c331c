//! Whisper of Hugging Face's transformers, `WhisperForConditionalGeneration`: speech to text.
//!
//! ```text
//! let features = LogMel::from_pretrained(dir)?.call(sound)?;     // 16,000 samples a second, (N, samples), at most 30 seconds
//! let mut config = WhisperGenerationConfig::from_pretrained(dir)?;
//! config.language = Some("de".to_owned());                       // which it finds out otherwise
//! let tokens = Whisper::from_pretrained(dir)?.generate(features, &config)?;
//! ```
//!
//! The output is the likeliest text of one chunk of audio. Longer audio, timestamps and sampling are refused with errors
//! that say what to do instead.
//!
//! Source: Radford et al., *Robust Speech Recognition via Large-Scale Weak Supervision* (2022).

mod generation;
mod log_mel;

use module_nn::init::{self, Normal};
use module_nn::prelude::*;
use module_nn::{Generator, PositionLayout, default_dtype};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::initialize::draw;
use super::pretrained::{IGNORED, Pretrained};
use super::transformers::{self, Activation, Attention};

pub use generation::WhisperGenerationConfig;
pub use log_mel::{LogMel, LogMelConfig};

/// transformers' `config.json`.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the names are transformers'")]
pub struct WhisperConfig {
    pub vocab_size: usize,
    pub num_mel_bins: usize,
    pub d_model: usize,
    pub encoder_layers: usize,
    pub encoder_attention_heads: usize,
    pub encoder_ffn_dim: usize,
    pub decoder_layers: usize,
    pub decoder_attention_heads: usize,
    pub decoder_ffn_dim: usize,
    pub max_source_positions: usize,
    pub max_target_positions: usize,
    pub activation_function: Activation,
    pub dropout: f64,
    pub attention_dropout: f64,
    pub activation_dropout: f64,
    pub init_std: f64,
    pub pad_token_id: Option<isize>,
    #[serde(default = "yes")]
    pub tie_word_embeddings: bool,
    /// Arguments that must have the value of this model.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

fn yes() -> bool {
    true
}

/// `(N, num_mel_bins, 2 · max_source_positions)` of audio and `(N, L)` token ids to `(N, L, vocab_size)` logits for the
/// token after each.
///
/// With ids, the output of [`encode`](Self::encode) and the caches, it returns logits and the updated caches.
#[derive(Module)]
pub struct Whisper {
    model: Model,
    proj_out: Linear,
}

/// The caches of each decoder layer: of the text, and of the audio, whose keys and values are computed once.
pub type Caches = Vec<LayerCache>;

/// The caches of one layer.
pub type LayerCache = (KeyValueCache, KeyValueCache);

#[derive(Module)]
struct Model {
    encoder: Encoder,
    decoder: Decoder,
}

#[derive(Module)]
struct Encoder {
    conv1: Conv1d,
    conv2: Conv1d,
    gelu: GELU,
    embed_positions: Embedding,
    dropout: Dropout,
    layers: Vec<EncoderLayer>,
    layer_norm: LayerNorm,
}

#[derive(Module)]
struct Decoder {
    embed_tokens: Embedding,
    embed_positions: Embedding,
    dropout: Dropout,
    layers: Vec<DecoderLayer>,
    layer_norm: LayerNorm,
}

#[derive(Module)]
struct EncoderLayer {
    self_attn: Attention,
    self_attn_layer_norm: LayerNorm,
    dropout: Dropout,
    #[module(flatten)]
    feed_forward: FeedForward,
}

#[derive(Module)]
struct DecoderLayer {
    self_attn: Attention,
    self_attn_layer_norm: LayerNorm,
    encoder_attn: Attention,
    encoder_attn_layer_norm: LayerNorm,
    dropout: Dropout,
    #[module(flatten)]
    feed_forward: FeedForward,
}

#[derive(Module)]
struct FeedForward {
    fc1: Linear,
    activation_fn: Box<dyn Layer>,
    activation_dropout: Dropout,
    fc2: Linear,
    fc2_dropout: Dropout,
    final_layer_norm: LayerNorm,
}

impl Forward for FeedForward {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.fc1.call(self.final_layer_norm.call(x.clone())?)?;
        let y = self.activation_dropout.call(self.activation_fn.call(y)?)?;
        x.add(&self.fc2_dropout.call(self.fc2.call(y)?)?)
    }
}

impl Forward for EncoderLayer {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let y = self.self_attn_layer_norm.call(x.clone())?;
        let attended = self.self_attn.keys_and_values(&y)?;
        let y = self.self_attn.call((y, attended, None))?;
        let x = x.add(&self.dropout.call(y)?)?;
        self.feed_forward.call(x)
    }
}

impl Forward<(Tensor, Tensor, LayerCache)> for DecoderLayer {
    type Output = (Tensor, LayerCache);

    fn forward(&self, input: (Tensor, Tensor, LayerCache)) -> Result<Self::Output> {
        let (x, sound, (mut of_text, mut of_sound)) = input;
        let y = self.self_attn_layer_norm.call(x.clone())?;
        let (key, value) = self.self_attn.keys_and_values(&y)?;
        let attended = of_text.append(key, value)?;
        let y = self.self_attn.call((y, attended, None))?;
        let x = x.add(&self.dropout.call(y)?)?;
        let y = self.encoder_attn_layer_norm.call(x.clone())?;
        let attended = match (of_sound.key(), of_sound.value()) {
            // The audio is the same for each token.
            (Some(key), Some(value)) => (key, value),
            _ => {
                let (key, value) = self.encoder_attn.keys_and_values(&sound)?;
                of_sound.append(key, value)?
            }
        };
        let y = self.encoder_attn.call((y, attended, None))?;
        let x = x.add(&self.dropout.call(y)?)?;
        Ok((self.feed_forward.call(x)?, (of_text, of_sound)))
    }
}

impl Forward for Encoder {
    type Output = Tensor;

    fn forward(&self, features: Tensor) -> Result<Tensor> {
        let (bins, positions) = (
            self.conv1.config().in_channels,
            self.embed_positions.config().num_embeddings,
        );
        let frames = 2 * positions;
        if features.rank() != 3 || features.shape()[1..] != [bins, frames] {
            let expected = format!("[batch, {bins}, {frames}]");
            return Err(features.shape().error("Whisper", expected));
        }
        let x = self.gelu.call(self.conv1.call(features)?)?;
        let x = self.gelu.call(self.conv2.call(x)?)?;
        let positions = Tensor::arange(0, positions as i64, ())?;
        let positions = self.embed_positions.call(positions)?;
        // Channels still precede positions: the original draws its dropout in this order.
        let x = self.dropout.call(x.add(&positions.transpose(0, 1)?)?)?;
        let mut x = x.transpose(1, 2)?;
        for layer in &self.layers {
            x = layer.call(x)?;
        }
        self.layer_norm.call(x)
    }
}

impl Forward<(Tensor, Tensor, Caches)> for Decoder {
    type Output = (Tensor, Caches);

    fn forward(&self, (ids, sound, caches): (Tensor, Tensor, Caches)) -> Result<Self::Output> {
        let past = caches.first().map_or(0, |(of_text, _)| of_text.len());
        let positions = Tensor::arange(past as i64, (past + ids.size(1)?) as i64, ())?;
        let x = self.embed_tokens.call(ids)?;
        let x = x.add(&self.embed_positions.call(positions)?)?;
        let mut x = self.dropout.call(x)?;
        let (mut caches, mut seen) = (caches.into_iter(), Caches::new());
        for layer in &self.layers {
            let cache;
            (x, cache) = layer.call((x, sound.clone(), caches.next().unwrap_or_default()))?;
            seen.push(cache);
        }
        Ok((self.layer_norm.call(x)?, seen))
    }
}

impl Pretrained for Whisper {
    type Config = WhisperConfig;

    fn new(config: &WhisperConfig) -> Result<Self> {
        let width = config.d_model;
        let only = [
            ("model_type", json!("whisper")),
            ("is_encoder_decoder", json!(true)),
            ("encoder_layerdrop", json!(0.0)),
            ("decoder_layerdrop", json!(0.0)),
            ("apply_spec_augment", json!(false)),
            ("mask_feature_length", json!(IGNORED)),
            ("mask_feature_min_masks", json!(IGNORED)),
            ("mask_feature_prob", json!(IGNORED)),
            ("mask_time_length", json!(IGNORED)),
            ("mask_time_min_masks", json!(IGNORED)),
            ("mask_time_prob", json!(IGNORED)),
            // transformers does not read it either.
            ("scale_embedding", json!(IGNORED)),
            ("num_hidden_layers", json!(IGNORED)),
            // For another head.
            ("classifier_proj_size", json!(IGNORED)),
            ("use_weighted_layer_sum", json!(IGNORED)),
            // For generation, which has a separate file.
            ("forced_decoder_ids", json!(IGNORED)),
            ("median_filter_width", json!(IGNORED)),
        ];
        transformers::check_rest("Whisper", &config.rest, &only)?;
        let norm = || LayerNorm::new(width);
        let dropout = || Dropout::new(config.dropout);
        let conv = |channels| Conv1dConfig::new(channels, width, 3).padding(1);
        let attention = |heads, is_causal| -> Result<Attention> {
            transformers::check_heads("Whisper", width, heads)?;
            Ok(Attention {
                heads,
                is_causal,
                dropout: config.attention_dropout,
                k_proj: LinearConfig::new(width, width).bias(false).build()?,
                v_proj: Linear::new(width, width)?,
                q_proj: Linear::new(width, width)?,
                out_proj: Linear::new(width, width)?,
                training: Training::new(),
            })
        };
        let feed_forward = |hidden| -> Result<FeedForward> {
            Ok(FeedForward {
                fc1: Linear::new(width, hidden)?,
                activation_fn: config.activation_function.build()?,
                activation_dropout: Dropout::new(config.activation_dropout)?,
                fc2: Linear::new(hidden, width)?,
                fc2_dropout: dropout()?,
                final_layer_norm: norm()?,
            })
        };
        let encoder_layer = |_| -> Result<EncoderLayer> {
            Ok(EncoderLayer {
                self_attn: attention(config.encoder_attention_heads, false)?,
                self_attn_layer_norm: norm()?,
                dropout: dropout()?,
                feed_forward: feed_forward(config.encoder_ffn_dim)?,
            })
        };
        let decoder_layer = |_| -> Result<DecoderLayer> {
            Ok(DecoderLayer {
                self_attn: attention(config.decoder_attention_heads, true)?,
                self_attn_layer_norm: norm()?,
                encoder_attn: attention(config.decoder_attention_heads, false)?,
                encoder_attn_layer_norm: norm()?,
                dropout: dropout()?,
                feed_forward: feed_forward(config.decoder_ffn_dim)?,
            })
        };
        let encoder_layers: Result<_> = (0..config.encoder_layers).map(encoder_layer).collect();
        let decoder_layers: Result<_> = (0..config.decoder_layers).map(decoder_layer).collect();
        let words = EmbeddingConfig::new(config.vocab_size, width);
        let mut model = Self {
            model: Model {
                encoder: Encoder {
                    conv1: conv(config.num_mel_bins).build()?,
                    conv2: conv(width).stride(2).build()?,
                    gelu: GELU::new(),
                    embed_positions: Embedding::new(config.max_source_positions, width)?,
                    dropout: dropout()?,
                    layers: encoder_layers?,
                    layer_norm: norm()?,
                },
                decoder: Decoder {
                    embed_tokens: words.padding_idx(config.pad_token_id).build()?,
                    embed_positions: Embedding::new(config.max_target_positions, width)?,
                    dropout: dropout()?,
                    layers: decoder_layers?,
                    layer_norm: norm()?,
                },
            },
            proj_out: LinearConfig::new(width, config.vocab_size)
                .bias(false)
                .build()?,
        };
        model.initialize(config.init_std)?;
        if config.tie_word_embeddings {
            let words = model.model.decoder.embed_tokens.weight();
            model.proj_out.tie_weight(words)?;
        }
        Ok(model)
    }
}

impl Whisper {
    /// Initializes it; the encoder's positions are sinusoidal and stay as they are.
    fn initialize(&self, std: f64) -> Result<()> {
        transformers::initialize(self, std)?;
        init::each(self, |_, conv: &Conv1d| {
            draw(conv.weight(), conv.bias(), Normal { mean: 0.0, std })
        })?;
        let positions = self.model.encoder.embed_positions.weight();
        positions.initialize(Waves)?;
        positions.freeze();
        Ok(())
    }

    /// The encoder's output for `(N, num_mel_bins, 2 · max_source_positions)` of audio:
    /// `(N, max_source_positions, d_model)`.
    ///
    /// # Errors
    ///
    /// Another shape.
    pub fn encode(&self, features: Tensor) -> Result<Tensor> {
        self.model.encoder.call(features)
    }

    /// The maximum number of tokens of a text.
    pub fn max_target_positions(&self) -> usize {
        self.model.decoder.embed_positions.config().num_embeddings
    }
}

/// A table of sinusoids, from short to long wavelengths, all sines before all cosines.
struct Waves;

impl Init for Waves {
    fn init(&self, shape: &Shape, dtype: DType, _: &Generator) -> Result<Tensor> {
        let &[length, width] = &**shape else {
            return Err(shape.error("Whisper", "[positions, d_model]"));
        };
        let waves = SinusoidalPositionEmbeddingConfig::new(width)
            .max_len(length)
            .layout(PositionLayout::HalfSplit)
            .downscale_freq_shift(1.0);
        let none = Tensor::zeros(shape, default_dtype())?;
        waves.build()?.call(none)?.to_dtype(dtype)
    }
}

impl Forward<(Tensor, Tensor, Caches)> for Whisper {
    type Output = (Tensor, Caches);

    fn forward(&self, input: (Tensor, Tensor, Caches)) -> Result<Self::Output> {
        let (x, caches) = self.model.decoder.call(input)?;
        Ok((self.proj_out.call(x)?, caches))
    }
}

impl Forward<(Tensor, Tensor)> for Whisper {
    type Output = Tensor;

    fn forward(&self, (features, ids): (Tensor, Tensor)) -> Result<Tensor> {
        let sound = self.encode(features)?;
        let (logits, _) = self.forward((ids, sound, Caches::new()))?;
        Ok(logits)
    }
}
