use module_core::{Call, Forward, Layer, Module, Result, Tensor};

use super::stack::{Stack, is_causal};
use super::{TransformerEncoderLayer, TransformerEncoderLayerConfig, TransformerEncoderLayerInput};
use crate::config::{Build, config, input};
use crate::layers::LayerNormConfig;

/// A stack of [`TransformerEncoderLayer`]s with an optional final normalization.
///
/// It is called with a tensor, or with a [`TransformerEncoderInput`] for masks.
///
/// Source: Vaswani et al., *Attention Is All You Need* (2017).
///
/// # Shapes
///
/// Those of a layer.
///
/// # State dict
///
/// `layers.0.*`, `layers.1.*`, … and, with `norm`, `norm.*`.
///
/// # Initialization
///
/// The first layer draws its weights and the others start as copies, as in PyTorch; `reset_parameters` draws each layer
/// separately, and so does building layers separately for [`from_layers`](Self::from_layers).
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
/// let layer = TransformerEncoderLayerConfig::new(8, 2).dim_feedforward(16).batch_first(true);
/// let encoder = TransformerEncoderConfig::new(layer, 3).norm(LayerNormConfig::new(8)).build()?;
/// let x = Tensor::randn([2, 5, 8], DType::F32)?;
/// assert_eq!(encoder.call(x.clone())?.shape(), x.shape());
///
/// let padding = Tensor::from([[false, false, false, true, true], [false; 5]]);
/// encoder.call(TransformerEncoderInput::new(x).src_key_padding_mask(padding))?;
///
/// // No element attends to later ones.
/// let x = Tensor::randn([2, 5, 8], DType::F32)?;
/// let later = Tensor::ones([5, 5], DType::Bool)?.triu(1)?;
/// encoder.call(TransformerEncoderInput::new(x).mask(later).is_causal(true))?;
/// assert_eq!(encoder.layers().len(), 3);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct TransformerEncoder {
    #[module(skip)]
    config: Option<TransformerEncoderConfig>,
    #[module(flatten)]
    stack: Stack<TransformerEncoderLayer>,
}

config! {
    /// The arguments of [`TransformerEncoder`].
    ///
    /// PyTorch's `enable_nested_tensor` and `mask_check` do not affect results and are omitted.
    pub struct TransformerEncoderConfig => TransformerEncoder {
        required {
            /// The arguments of each layer.
            encoder_layer: TransformerEncoderLayerConfig,
            /// The number of layers.
            num_layers: usize,
        }
        optional {
            /// The final normalization.
            norm: Option<LayerNormConfig> = None,
        }
    }
}

impl Build for TransformerEncoderConfig {
    type Output = TransformerEncoder;

    /// A stack with fresh weights.
    ///
    /// # Errors
    ///
    /// No layers, those of a layer and of the normalization.
    fn build(&self) -> Result<TransformerEncoder> {
        let build = || self.encoder_layer.build();
        Ok(TransformerEncoder {
            config: Some(self.clone()),
            stack: Stack::build(
                "TransformerEncoder",
                self.num_layers,
                build,
                self.norm.as_ref(),
            )?,
        })
    }
}

input! {
    /// The input of [`TransformerEncoder`] for calls with masks or options; masks are those of
    /// [`MultiheadAttentionInput`](crate::MultiheadAttentionInput).
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let layer = TransformerEncoderLayerConfig::new(8, 2).dim_feedforward(16).batch_first(true);
    /// let encoder = TransformerEncoderConfig::new(layer, 2).build()?;
    /// let x = Tensor::randn([1, 3, 8], DType::F32)?;
    /// let padding = Tensor::from([[false, false, true]]);
    /// let input = TransformerEncoderInput::new(x).src_key_padding_mask(padding);
    /// assert_eq!(encoder.call(input)?.shape().to_string(), "[1, 3, 8]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TransformerEncoderInput {
        required {
            /// The sequence.
            src,
        }
        tensors {
            /// The query-key pairs that are masked out.
            mask: Tensor,
            /// The elements that none may attend to.
            src_key_padding_mask: Tensor,
        }
        options {
            /// Whether an element attends only to itself and earlier elements; if absent, this is detected from the mask.
            is_causal: Option<bool> = None,
        }
    }
}

impl TransformerEncoder {
    /// A stack of these layers, with an optional final layer of any type.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let layers = [4, 8].map(|size| TransformerEncoderLayerConfig::new(4, 2).dim_feedforward(size).build());
    /// let layers = layers.into_iter().collect::<Result<Vec<_>>>()?;
    /// let encoder = TransformerEncoder::from_layers(layers, Some(RMSNorm::new(4)?));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_layers<L: Layer>(layers: Vec<TransformerEncoderLayer>, norm: Option<L>) -> Self {
        let (config, stack) = (None, Stack::new(layers, norm));
        Self { config, stack }
    }

    /// The layers.
    pub fn layers(&self) -> &[TransformerEncoderLayer] {
        self.stack.layers()
    }

    /// The arguments that it was built from; `None` if it was made by [`from_layers`](Self::from_layers).
    pub fn config(&self) -> Option<TransformerEncoderConfig> {
        self.config.clone()
    }
}

impl Forward<TransformerEncoderInput> for TransformerEncoder {
    type Output = Tensor;

    fn forward(&self, input: TransformerEncoderInput) -> Result<Tensor> {
        let is_causal = is_causal(input.mask.as_ref(), input.is_causal)?;
        self.stack.run(input.src, |x, layer| {
            let input = TransformerEncoderLayerInput::new(x)
                .src_mask(input.mask.clone())
                .src_key_padding_mask(input.src_key_padding_mask.clone())
                .is_causal(is_causal);
            layer.call(input)
        })
    }
}

impl Forward for TransformerEncoder {
    type Output = Tensor;

    fn forward(&self, src: Tensor) -> Result<Tensor> {
        self.forward(TransformerEncoderInput::new(src))
    }
}
