use module_core::{Call, Forward, Module, Result, Tensor};

use super::TransformerActivation;
use super::feedforward::Feedforward;
use super::sublayers::{Sublayers, run_sublayer};
use crate::config::{Build, config, input};
use crate::layers::{Dropout, LayerNorm, MultiheadAttention, MultiheadAttentionInput};

/// Self-attention and a feed-forward network, each with a residual connection and a normalization:
///
/// ```text
/// norm_first = false: x = norm1(x + attention(x))     y = norm2(x + linear2(activation(linear1(x))))
/// norm_first = true:  x = x + attention(norm1(x))     y = x + linear2(activation(linear1(norm2(x))))
/// ```
///
/// Dropout follows the attention, the activation and `linear2`. It is called with a tensor, or with a
/// [`TransformerEncoderLayerInput`] for masks.
///
/// Source: Vaswani et al., *Attention Is All You Need* (2017); Xiong et al., *On Layer Normalization in the
/// Transformer Architecture* (2020) for `norm_first`.
///
/// # Shapes
///
/// `[length, batch, d_model]`, `[batch, length, d_model]` with `batch_first`, or `[length, d_model]`, to the same.
///
/// # State dict
///
/// `self_attn.*` of a [`MultiheadAttention`], `linear1.*`, `linear2.*`, `norm1.*`, `norm2.*`; no biases if `bias` is false.
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
/// use module_nn::Tolerance;
/// use module_nn::prelude::*;
///
/// let layer = TransformerEncoderLayerConfig::new(8, 2).dim_feedforward(16).batch_first(true).build()?;
/// let x = Tensor::randn([3, 5, 8], DType::F32)?;
/// assert_eq!(layer.call(x.clone())?.shape(), x.shape());
/// let causal = TransformerEncoderLayerInput::new(x).is_causal(true);
/// layer.call(causal)?;
///
/// // A mask by hand, in a layer that normalizes first.
/// let config = TransformerEncoderLayerConfig::new(8, 2).dim_feedforward(16).norm_first(true);
/// let layer = config.dropout(0.0).layer_norm_eps(1e-6).bias(false).build()?;
/// let x = Tensor::randn([5, 8], DType::F32)?;
/// let later = Tensor::ones([5, 5], DType::Bool)?.triu(1)?;
/// let y = layer.call(TransformerEncoderLayerInput::new(x.clone()).src_mask(later))?;
/// let causal = layer.call(TransformerEncoderLayerInput::new(x).is_causal(true))?;
/// assert!(y.allclose(&causal, Tolerance::new().atol(1e-5))?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct TransformerEncoderLayer {
    #[module(skip)]
    config: TransformerEncoderLayerConfig,
    self_attn: MultiheadAttention,
    #[module(flatten)]
    feedforward: Feedforward,
    norm1: LayerNorm,
    norm2: LayerNorm,
    dropout1: Dropout,
    dropout2: Dropout,
    norm_first: bool,
}

config! {
    /// The arguments of [`TransformerEncoderLayer`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let text = r#"{"d_model": 8, "nhead": 2, "activation": "gelu"}"#;
    /// let config: TransformerEncoderLayerConfig = serde_json::from_str(text)?;
    /// assert_eq!(config.activation, TransformerActivation::Gelu);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct TransformerEncoderLayerConfig => TransformerEncoderLayer {
        required {
            /// The size of inputs and outputs.
            d_model: usize,
            /// The number of heads of the attention.
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

impl Build for TransformerEncoderLayerConfig {
    type Output = TransformerEncoderLayer;

    /// A layer with fresh weights.
    ///
    /// # Errors
    ///
    /// A size of 0, heads that do not divide `d_model`, a probability outside `[0, 1]`, a `layer_norm_eps` below 0.
    fn build(&self) -> Result<TransformerEncoderLayer> {
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
        Ok(TransformerEncoderLayer {
            config: self.clone(),
            self_attn: sublayers.attention()?,
            feedforward: sublayers.feedforward()?,
            norm1: sublayers.norm()?,
            norm2: sublayers.norm()?,
            dropout1: sublayers.dropout()?,
            dropout2: sublayers.dropout()?,
            norm_first: self.norm_first,
        })
    }
}

input! {
    /// The input of [`TransformerEncoderLayer`] for calls with masks or options; masks are those of
    /// [`MultiheadAttentionInput`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let encoder = TransformerEncoderLayerConfig::new(8, 2).dim_feedforward(16).batch_first(true).build()?;
    /// let x = Tensor::randn([1, 3, 8], DType::F32)?;
    /// let padding = Tensor::from([[false, false, true]]);
    /// let input = TransformerEncoderLayerInput::new(x).src_key_padding_mask(padding);
    /// assert_eq!(encoder.call(input)?.shape().to_string(), "[1, 3, 8]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TransformerEncoderLayerInput {
        required {
            /// The sequence.
            src,
        }
        tensors {
            /// The query-key pairs that are masked out.
            src_mask: Tensor,
            /// The elements that are masked out for every position.
            src_key_padding_mask: Tensor,
        }
        options {
            /// Whether an element attends only to itself and earlier elements; a `src_mask` must agree.
            is_causal: bool = false,
        }
    }
}

impl TransformerEncoderLayer {
    /// PyTorch prints no arguments.
    fn extra_repr(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }

    fn attend(&self, x: Tensor, input: &TransformerEncoderLayerInput) -> Result<Tensor> {
        let attention = MultiheadAttentionInput::new(x.clone(), x.clone(), x)
            .attn_mask(input.src_mask.clone())
            .key_padding_mask(input.src_key_padding_mask.clone())
            .is_causal(input.is_causal)
            .need_weights(false);
        let (x, _) = self.self_attn.call(attention)?;
        self.dropout1.call(x)
    }

    fn feed(&self, x: Tensor) -> Result<Tensor> {
        self.dropout2.call(self.feedforward.run(x)?)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> TransformerEncoderLayerConfig {
        self.config.clone()
    }
}

impl Forward<TransformerEncoderLayerInput> for TransformerEncoderLayer {
    type Output = Tensor;

    fn forward(&self, input: TransformerEncoderLayerInput) -> Result<Tensor> {
        let x = input.src.clone();
        let x = run_sublayer(self.norm_first, x, &self.norm1, |x| self.attend(x, &input))?;
        run_sublayer(self.norm_first, x, &self.norm2, |x| self.feed(x))
    }
}

impl Forward for TransformerEncoderLayer {
    type Output = Tensor;

    fn forward(&self, src: Tensor) -> Result<Tensor> {
        self.forward(TransformerEncoderLayerInput::new(src))
    }
}
