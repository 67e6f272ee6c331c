mod activation;
mod decoder;
mod decoder_layer;
mod encoder;
mod encoder_layer;
mod feedforward;
mod stack;
mod sublayers;

use module_core::{Call, DType, Device, Forward, Module, ModuleExt, Result, Tensor};

use self::stack::check_count;
use super::LayerNormConfig;
use super::causal::{additive_mask, causal_mask};
use crate::config::{Build, config, input};
use crate::init::XavierUniform;

pub use activation::TransformerActivation;
pub use decoder::{TransformerDecoder, TransformerDecoderConfig, TransformerDecoderInput};
pub use decoder_layer::{
    TransformerDecoderLayer, TransformerDecoderLayerConfig, TransformerDecoderLayerInput,
};
pub use encoder::{TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput};
pub use encoder_layer::{
    TransformerEncoderLayer, TransformerEncoderLayerConfig, TransformerEncoderLayerInput,
};

/// An encoder that reads one sequence and a decoder that writes another: `decoder(tgt, encoder(src))`, both with a final
/// normalization.
///
/// It is called with `src` and `tgt`, or with a [`TransformerInput`] for masks.
///
/// Source: Vaswani et al., *Attention Is All You Need* (2017).
///
/// # Shapes
///
/// `src` `[source, batch, d_model]` and `tgt` `[target, batch, d_model]`, both batch-first with `batch_first`, or both
/// without a batch; the output has the shape of `tgt`.
///
/// # State dict
///
/// `encoder.*` of a [`TransformerEncoder`] and `decoder.*` of a [`TransformerDecoder`], both with `norm`.
///
/// # Initialization
///
/// Encoder and decoder, then every parameter of two or more dimensions by [`XavierUniform`].
///
/// # Errors
///
/// Those of [`MultiheadAttention`](crate::MultiheadAttention).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let transformer = TransformerConfig::new()
///     .d_model(8)
///     .nhead(2)
///     .num_encoder_layers(2)
///     .num_decoder_layers(1)
///     .dim_feedforward(16)
///     .batch_first(true)
///     .build()?;
/// let (src, tgt) = (Tensor::randn([2, 5, 8], DType::F32)?, Tensor::randn([2, 3, 8], DType::F32)?);
/// let y = transformer.call(TransformerInput::new(src, tgt.clone()).tgt_is_causal(true))?;
/// assert_eq!(y.shape(), tgt.shape());
///
/// // Paddings of both sequences, and a mask of the target by hand.
/// let (src, tgt) = (Tensor::randn([2, 5, 8], DType::F32)?, Tensor::randn([2, 3, 8], DType::F32)?);
/// let later = Tensor::ones([3, 3], DType::Bool)?.triu(1)?;
/// let padding = Tensor::from([[false, false, false, true, true], [false; 5]]);
/// let input = TransformerInput::new(src, tgt)
///     .src_mask(Tensor::zeros([5, 5], DType::Bool)?)
///     .src_key_padding_mask(padding.clone())
///     .tgt_mask(later)
///     .tgt_key_padding_mask(Tensor::from([[false; 3], [false, false, true]]))
///     .memory_mask(Tensor::zeros([3, 5], DType::Bool)?)
///     .memory_key_padding_mask(padding);
/// assert_eq!(transformer.call(input)?.shape().to_string(), "[2, 3, 8]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Transformer {
    #[module(skip)]
    config: TransformerConfig,
    encoder: TransformerEncoder,
    decoder: TransformerDecoder,
}

config! {
    /// The arguments of [`Transformer`].
    ///
    /// For PyTorch's `custom_encoder` and `custom_decoder`, write your own module with two fields.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let transformer = TransformerConfig::new()
    ///     .d_model(8)
    ///     .nhead(2)
    ///     .num_encoder_layers(1)
    ///     .num_decoder_layers(1)
    ///     .dim_feedforward(16)
    ///     .dropout(0.0)
    ///     .activation(TransformerActivation::Gelu)
    ///     .layer_norm_eps(1e-6)
    ///     .norm_first(true)
    ///     .bias(false)
    ///     .build()?;
    /// // Without causal masks, a decoder sees the whole target and the whole source.
    /// let (src, tgt) = (Tensor::randn([5, 2, 8], DType::F32)?, Tensor::randn([3, 2, 8], DType::F32)?);
    /// let causal = TransformerInput::new(src.clone(), tgt.clone()).src_is_causal(true).memory_is_causal(true);
    /// let y = transformer.call(TransformerInput::new(src, tgt))?;
    /// assert!(!y.equal(&transformer.call(causal)?)?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TransformerConfig => Transformer {
        optional {
            /// The size of inputs and outputs.
            d_model: usize = 512_usize,
            /// The number of heads of each attention.
            nhead: usize = 8_usize,
            /// The number of layers of the encoder.
            num_encoder_layers: usize = 6_usize,
            /// The number of layers of the decoder.
            num_decoder_layers: usize = 6_usize,
            /// The hidden size of the feed-forward network of each layer.
            dim_feedforward: usize = 2048_usize,
            /// The dropout probability in training.
            dropout: f64 = 0.1,
            /// The activation of the feed-forward network.
            activation: TransformerActivation = TransformerActivation::Relu,
            /// The `eps` of the normalizations.
            layer_norm_eps: f64 = 1e-5,
            /// Whether the batch is the first dimension rather than the second.
            batch_first: bool = false,
            /// Whether the normalizations of each layer come first (pre-norm) rather than last.
            norm_first: bool = false,
            /// Whether the linear maps and the normalizations have biases.
            bias: bool = true,
        }
    }
}

impl Build for TransformerConfig {
    type Output = Transformer;

    /// A model with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, heads that do not divide `d_model`, a probability outside `[0, 1]`, a `layer_norm_eps` below 0.
    fn build(&self) -> Result<Transformer> {
        const NAME: &str = "Transformer";
        let encoder_layer = TransformerEncoderLayerConfig {
            d_model: self.d_model,
            nhead: self.nhead,
            dim_feedforward: self.dim_feedforward,
            dropout: self.dropout,
            activation: self.activation.clone(),
            layer_norm_eps: self.layer_norm_eps,
            batch_first: self.batch_first,
            norm_first: self.norm_first,
            bias: self.bias,
        };
        let decoder_layer = TransformerDecoderLayerConfig {
            d_model: self.d_model,
            nhead: self.nhead,
            dim_feedforward: self.dim_feedforward,
            dropout: self.dropout,
            activation: self.activation.clone(),
            layer_norm_eps: self.layer_norm_eps,
            batch_first: self.batch_first,
            norm_first: self.norm_first,
            bias: self.bias,
        };
        // Both are checked before the first layer is built.
        let (encoders, decoders) = (self.num_encoder_layers, self.num_decoder_layers);
        check_count(NAME, "num_encoder_layers", encoders, || {
            encoder_layer.build()
        })?;
        check_count(NAME, "num_decoder_layers", decoders, || {
            decoder_layer.build()
        })?;
        let norm = LayerNormConfig::new(self.d_model)
            .eps(self.layer_norm_eps)
            .bias(self.bias);
        let transformer = Transformer {
            config: self.clone(),
            encoder: TransformerEncoderConfig::new(encoder_layer, self.num_encoder_layers)
                .norm(norm.clone())
                .build()?,
            decoder: TransformerDecoderConfig::new(decoder_layer, self.num_decoder_layers)
                .norm(norm)
                .build()?,
        };
        for parameter in transformer.parameters() {
            if parameter.shape().rank() > 1 {
                parameter.initialize(XavierUniform::default())?;
            }
        }
        Ok(transformer)
    }
}

input! {
    /// The input of [`Transformer`] for calls with masks or options; masks are those of
    /// [`MultiheadAttentionInput`](crate::MultiheadAttentionInput).
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let config = TransformerConfig::new().d_model(8).nhead(2).dim_feedforward(16).batch_first(true);
    /// let transformer = config.num_encoder_layers(1).num_decoder_layers(1).build()?;
    /// let (src, tgt) = (Tensor::randn([1, 5, 8], DType::F32)?, Tensor::randn([1, 3, 8], DType::F32)?);
    /// let input = TransformerInput::new(src, tgt).tgt_is_causal(true);
    /// assert_eq!(transformer.call(input)?.shape().to_string(), "[1, 3, 8]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TransformerInput {
        required {
            /// The input of the encoder.
            src,
            /// The input of the decoder.
            tgt,
        }
        tensors {
            /// The query-key pairs of `src` that are masked out.
            src_mask: Tensor,
            /// The query-key pairs of `tgt` that are masked out.
            tgt_mask: Tensor,
            /// The pairs of `tgt` and memory positions that are masked out.
            memory_mask: Tensor,
            /// The elements of `src` that no element of `src` may attend to.
            src_key_padding_mask: Tensor,
            /// The elements of `tgt` that no element of `tgt` may attend to.
            tgt_key_padding_mask: Tensor,
            /// The elements of the memory that no element of `tgt` may attend to.
            memory_key_padding_mask: Tensor,
        }
        options {
            /// Whether an element of `src` attends only to itself and earlier elements; if absent, this is detected from
            /// the mask.
            src_is_causal: Option<bool> = None,
            /// The same for `tgt`.
            tgt_is_causal: Option<bool> = None,
            /// The same for the memory; a `memory_mask` must agree.
            memory_is_causal: bool = false,
        }
    }
}

impl Transformer {
    /// Minus infinity where a key comes after the query, else 0, `[sz, sz]`: the mask of causal attention.
    ///
    /// # Errors
    ///
    /// A size that exceeds memory, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let mask = Transformer::generate_square_subsequent_mask(2, DType::F32, &Device::cpu())?;
    /// assert_eq!(mask.to_vec::<f32>()?, [0.0, f32::NEG_INFINITY, 0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn generate_square_subsequent_mask(
        sz: usize,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        additive_mask(&causal_mask(sz, sz, 0, device)?, dtype)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> TransformerConfig {
        self.config.clone()
    }
}

impl Forward<TransformerInput> for Transformer {
    type Output = Tensor;

    fn forward(&self, input: TransformerInput) -> Result<Tensor> {
        let source = TransformerEncoderInput::new(input.src)
            .mask(input.src_mask)
            .src_key_padding_mask(input.src_key_padding_mask)
            .is_causal(input.src_is_causal);
        let memory = self.encoder.call(source)?;
        let target = TransformerDecoderInput::new(input.tgt, memory)
            .tgt_mask(input.tgt_mask)
            .memory_mask(input.memory_mask)
            .tgt_key_padding_mask(input.tgt_key_padding_mask)
            .memory_key_padding_mask(input.memory_key_padding_mask)
            .tgt_is_causal(input.tgt_is_causal)
            .memory_is_causal(input.memory_is_causal);
        self.decoder.call(target)
    }
}

impl Forward<(Tensor, Tensor)> for Transformer {
    type Output = Tensor;

    fn forward(&self, (src, tgt): (Tensor, Tensor)) -> Result<Tensor> {
        self.forward(TransformerInput::new(src, tgt))
    }
}
