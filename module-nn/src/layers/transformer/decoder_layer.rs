use module_core::{Call, Forward, Module, Result, Tensor};

use super::TransformerActivation;
use super::feedforward::Feedforward;
use super::sublayers::{Sublayers, run_sublayer};
use crate::config::{Build, config, input};
use crate::layers::{Dropout, LayerNorm, MultiheadAttention, MultiheadAttentionInput};

/// Self-attention, attention to the encoder's output, and a feed-forward network, each with a residual connection and a
/// normalization:
///
/// ```text
/// norm_first = false: x = norm1(x + attention(x))
///                     x = norm2(x + attention(x, memory))
///                     y = norm3(x + linear2(activation(linear1(x))))
/// norm_first = true:  x = x + attention(norm1(x)), and so on
/// ```
///
/// Dropout follows both attentions, the activation and `linear2`. It is called with the sequence and the memory, or with a
/// [`TransformerDecoderLayerInput`] for masks.
///
/// Source: Vaswani et al., *Attention Is All You Need* (2017); Xiong et al., *On Layer Normalization in the
/// Transformer Architecture* (2020) for `norm_first`.
///
/// # Shapes
///
/// `[length, batch, d_model]` and `[memory, batch, d_model]`, both batch-first with `batch_first`, or both without a batch;
/// the output has the shape of the first.
///
/// # State dict
///
/// `self_attn.*` and `multihead_attn.*` of a [`MultiheadAttention`], `linear1.*`, `linear2.*`, `norm1.*`, `norm2.*`,
/// `norm3.*`; no biases if `bias` is false.
///
/// # Initialization
///
/// Those of its sublayers, in this order.
///
/// # Errors
///
/// Those of [`MultiheadAttention`].
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let layer = TransformerDecoderLayerConfig::new(8, 2).dim_feedforward(16).batch_first(true).build()?;
/// let (tgt, memory) = (Tensor::randn([3, 5, 8], DType::F32)?, Tensor::randn([3, 7, 8], DType::F32)?);
/// assert_eq!(layer.call((tgt.clone(), memory.clone()))?.shape(), tgt.shape());
/// let causal = TransformerDecoderLayerInput::new(tgt, memory).tgt_is_causal(true);
/// layer.call(causal)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct TransformerDecoderLayer {
    #[module(skip)]
    config: TransformerDecoderLayerConfig,
    self_attn: MultiheadAttention,
    multihead_attn: MultiheadAttention,
    #[module(flatten)]
    feedforward: Feedforward,
    norm1: LayerNorm,
    norm2: LayerNorm,
    norm3: LayerNorm,
    dropout1: Dropout,
    dropout2: Dropout,
    dropout3: Dropout,
    norm_first: bool,
}

config! {
    /// The arguments of [`TransformerDecoderLayer`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let layer: TransformerDecoderLayer = TransformerDecoderLayerConfig::new(8, 2)
    ///     .dim_feedforward(16)
    ///     .dropout(0.0)
    ///     .activation(TransformerActivation::Gelu)
    ///     .layer_norm_eps(1e-6)
    ///     .norm_first(true)
    ///     .bias(false)
    ///     .build()?;
    /// assert!(!layer.state_dict()?.keys().any(|key| key.ends_with("bias")));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TransformerDecoderLayerConfig => TransformerDecoderLayer {
        required {
            /// The size of inputs and outputs.
            d_model: usize,
            /// The number of heads of both attentions.
            nhead: usize,
        }
        optional {
            /// The size between `linear1` and `linear2`.
            dim_feedforward: usize = 2048_usize,
            /// The dropout probability in training.
            dropout: f64 = 0.1,
            /// The activation between `linear1` and `linear2`.
            activation: TransformerActivation = TransformerActivation::Relu,
            /// The `eps` of the normalizations.
            layer_norm_eps: f64 = 1e-5,
            /// Whether the batch is the first dimension rather than the second.
            batch_first: bool = false,
            /// Whether the normalizations come first (pre-norm) rather than last.
            norm_first: bool = false,
            /// Whether the linear maps and the normalizations have biases.
            bias: bool = true,
        }
    }
}

impl Build for TransformerDecoderLayerConfig {
    type Output = TransformerDecoderLayer;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, heads that do not divide `d_model`, a probability outside `[0, 1]`, a `layer_norm_eps` below 0.
    fn build(&self) -> Result<TransformerDecoderLayer> {
        let sublayers = Sublayers {
            d_model: self.d_model,
            nhead: self.nhead,
            dim_feedforward: self.dim_feedforward,
            dropout: self.dropout,
            activation: &self.activation,
            layer_norm_eps: self.layer_norm_eps,
            batch_first: self.batch_first,
            bias: self.bias,
        };
        Ok(TransformerDecoderLayer {
            config: self.clone(),
            self_attn: sublayers.attention()?,
            multihead_attn: sublayers.attention()?,
            feedforward: sublayers.feedforward()?,
            norm1: sublayers.norm()?,
            norm2: sublayers.norm()?,
            norm3: sublayers.norm()?,
            dropout1: sublayers.dropout()?,
            dropout2: sublayers.dropout()?,
            dropout3: sublayers.dropout()?,
            norm_first: self.norm_first,
        })
    }
}

input! {
    /// The input of [`TransformerDecoderLayer`] for calls with masks or options; masks are
    /// those of [`MultiheadAttentionInput`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let decoder = TransformerDecoderLayerConfig::new(8, 2).dim_feedforward(16).batch_first(true).build()?;
    /// let (tgt, memory) = (Tensor::randn([1, 3, 8], DType::F32)?, Tensor::randn([1, 5, 8], DType::F32)?);
    /// let input = TransformerDecoderLayerInput::new(tgt, memory).tgt_is_causal(true);
    /// assert_eq!(decoder.call(input)?.shape().to_string(), "[1, 3, 8]");
    ///
    /// // Padding in the memory, and masks by hand instead of a causal one.
    /// let (tgt, memory) = (Tensor::randn([1, 3, 8], DType::F32)?, Tensor::randn([1, 5, 8], DType::F32)?);
    /// let later = |keys: usize| Tensor::ones([3, keys], DType::Bool)?.triu(1);
    /// let input = TransformerDecoderLayerInput::new(tgt.clone(), memory.clone())
    ///     .tgt_mask(later(3)?)
    ///     .memory_mask(later(5)?)
    ///     .tgt_key_padding_mask(Tensor::from([[false, false, true]]))
    ///     .memory_key_padding_mask(Tensor::from([[false, false, false, true, true]]));
    /// decoder.eval();
    /// let y = decoder.call(input)?;
    /// // The same, because causal masks block all later elements.
    /// let input = TransformerDecoderLayerInput::new(tgt, memory).tgt_is_causal(true).memory_is_causal(true);
    /// let causal = decoder.call(input)?;
    /// assert!(y.narrow(1, 0..2)?.allclose(&causal.narrow(1, 0..2)?, Tolerance::new().atol(1e-5))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TransformerDecoderLayerInput {
        required {
            /// The sequence.
            tgt,
            /// The output of the encoder.
            memory,
        }
        tensors {
            /// The query-key pairs of the sequence that are masked out.
            tgt_mask: Tensor,
            /// The pairs of sequence and memory positions that are masked out.
            memory_mask: Tensor,
            /// The elements of the sequence that none may attend to.
            tgt_key_padding_mask: Tensor,
            /// The elements of the memory that none may attend to.
            memory_key_padding_mask: Tensor,
        }
        options {
            /// Whether an element attends only to itself and earlier elements; a `tgt_mask` must agree.
            tgt_is_causal: bool = false,
            /// The same for the memory; a `memory_mask` must agree.
            memory_is_causal: bool = false,
        }
    }
}

impl TransformerDecoderLayer {
    /// PyTorch prints no arguments.
    fn extra_repr(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }

    fn attend(&self, x: Tensor, input: &TransformerDecoderLayerInput) -> Result<Tensor> {
        let attention = MultiheadAttentionInput::new(x.clone(), x.clone(), x)
            .attn_mask(input.tgt_mask.clone())
            .key_padding_mask(input.tgt_key_padding_mask.clone())
            .is_causal(input.tgt_is_causal)
            .need_weights(false);
        let (x, _) = self.self_attn.call(attention)?;
        self.dropout1.call(x)
    }

    fn attend_memory(&self, x: Tensor, input: &TransformerDecoderLayerInput) -> Result<Tensor> {
        let memory = &input.memory;
        let attention = MultiheadAttentionInput::new(x, memory.clone(), memory.clone())
            .attn_mask(input.memory_mask.clone())
            .key_padding_mask(input.memory_key_padding_mask.clone())
            .is_causal(input.memory_is_causal)
            .need_weights(false);
        let (x, _) = self.multihead_attn.call(attention)?;
        self.dropout2.call(x)
    }

    fn feed(&self, x: Tensor) -> Result<Tensor> {
        self.dropout3.call(self.feedforward.run(x)?)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> TransformerDecoderLayerConfig {
        self.config.clone()
    }
}

impl Forward<TransformerDecoderLayerInput> for TransformerDecoderLayer {
    type Output = Tensor;

    fn forward(&self, input: TransformerDecoderLayerInput) -> Result<Tensor> {
        let x = input.tgt.clone();
        let x = run_sublayer(self.norm_first, x, &self.norm1, |x| self.attend(x, &input))?;
        let x = run_sublayer(self.norm_first, x, &self.norm2, |x| {
            self.attend_memory(x, &input)
        })?;
        run_sublayer(self.norm_first, x, &self.norm3, |x| self.feed(x))
    }
}

impl Forward<(Tensor, Tensor)> for TransformerDecoderLayer {
    type Output = Tensor;

    fn forward(&self, (tgt, memory): (Tensor, Tensor)) -> Result<Tensor> {
        self.forward(TransformerDecoderLayerInput::new(tgt, memory))
    }
}
