use module_core::{Call, Forward, Layer, Module, Result, Tensor};

use super::stack::{Stack, is_causal};
use super::{TransformerDecoderLayer, TransformerDecoderLayerConfig, TransformerDecoderLayerInput};
use crate::config::{Build, config, input};
use crate::layers::LayerNormConfig;

/// A stack of [`TransformerDecoderLayer`]s with an optional final normalization.
///
/// It is called with a sequence and the output of an encoder (the memory), or with a [`TransformerDecoderInput`] for masks.
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
/// let layer = TransformerDecoderLayerConfig::new(8, 2).dim_feedforward(16).batch_first(true);
/// let decoder = TransformerDecoderConfig::new(layer, 3).build()?;
/// let (tgt, memory) = (Tensor::randn([2, 5, 8], DType::F32)?, Tensor::randn([2, 7, 8], DType::F32)?);
/// let y = decoder.call(TransformerDecoderInput::new(tgt.clone(), memory).tgt_is_causal(true))?;
/// assert_eq!(y.shape(), tgt.shape());
///
/// // Layers of different widths, without a final normalization.
/// let layer = |hidden: usize| TransformerDecoderLayerConfig::new(8, 2).dim_feedforward(hidden).build();
/// let decoder = TransformerDecoder::from_layers(vec![layer(16)?, layer(32)?], None::<LayerNorm>);
/// assert_eq!(decoder.layers().len(), 2);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct TransformerDecoder {
    #[module(skip)]
    config: Option<TransformerDecoderConfig>,
    #[module(flatten)]
    stack: Stack<TransformerDecoderLayer>,
}

config! {
    /// The arguments of [`TransformerDecoder`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let layer = TransformerDecoderLayerConfig::new(8, 2).dim_feedforward(16);
    /// let decoder: TransformerDecoder = TransformerDecoderConfig::new(layer, 2).norm(LayerNormConfig::new(8)).build()?;
    /// assert_eq!(decoder.state_dict()?.get("norm.weight").unwrap().to_vec::<f32>()?, [1.0; 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TransformerDecoderConfig => TransformerDecoder {
        required {
            /// The arguments of each layer.
            decoder_layer: TransformerDecoderLayerConfig,
            /// The number of layers.
            num_layers: usize,
        }
        optional {
            /// The final normalization.
            norm: Option<LayerNormConfig> = None,
        }
    }
}

impl Build for TransformerDecoderConfig {
    type Output = TransformerDecoder;

    /// A stack with fresh weights.
    ///
    /// # Errors
    ///
    /// No layers, those of a layer and of the normalization.
    fn build(&self) -> Result<TransformerDecoder> {
        let build = || self.decoder_layer.build();
        Ok(TransformerDecoder {
            config: Some(self.clone()),
            stack: Stack::build(
                "TransformerDecoder",
                self.num_layers,
                build,
                self.norm.as_ref(),
            )?,
        })
    }
}

input! {
    /// The input of [`TransformerDecoder`] for calls with masks or options; masks are those
    /// of [`MultiheadAttentionInput`](crate::MultiheadAttentionInput).
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::Tolerance;
    /// use module_nn::prelude::*;
    ///
    /// let layer = TransformerDecoderLayerConfig::new(8, 2).dim_feedforward(16).batch_first(true);
    /// let decoder = TransformerDecoderConfig::new(layer, 2).build()?;
    /// let (tgt, memory) = (Tensor::randn([1, 3, 8], DType::F32)?, Tensor::randn([1, 5, 8], DType::F32)?);
    /// let input = TransformerDecoderInput::new(tgt, memory).tgt_is_causal(true);
    /// assert_eq!(decoder.call(input)?.shape().to_string(), "[1, 3, 8]");
    ///
    /// // Padding in the memory, and masks by hand instead of a causal one.
    /// let (tgt, memory) = (Tensor::randn([1, 3, 8], DType::F32)?, Tensor::randn([1, 5, 8], DType::F32)?);
    /// let later = |keys: usize| Tensor::ones([3, keys], DType::Bool)?.triu(1);
    /// let input = TransformerDecoderInput::new(tgt.clone(), memory.clone())
    ///     .tgt_mask(later(3)?)
    ///     .memory_mask(later(5)?)
    ///     .tgt_key_padding_mask(Tensor::from([[false, false, true]]))
    ///     .memory_key_padding_mask(Tensor::from([[false, false, false, true, true]]));
    /// decoder.eval();
    /// let y = decoder.call(input)?;
    /// // The same, because causal masks block all later elements.
    /// let input = TransformerDecoderInput::new(tgt, memory).tgt_is_causal(true).memory_is_causal(true);
    /// let causal = decoder.call(input)?;
    /// assert!(y.narrow(1, 0..2)?.allclose(&causal.narrow(1, 0..2)?, Tolerance::new().atol(1e-5))?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TransformerDecoderInput {
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
            /// Whether an element attends only to itself and earlier elements; if absent, this is detected from the mask.
            tgt_is_causal: Option<bool> = None,
            /// The same for the memory; a `memory_mask` must agree.
            memory_is_causal: bool = false,
        }
    }
}

impl TransformerDecoder {
    /// A stack of these layers, with an optional final layer of any type.
    pub fn from_layers<L: Layer>(layers: Vec<TransformerDecoderLayer>, norm: Option<L>) -> Self {
        let (config, stack) = (None, Stack::new(layers, norm));
        Self { config, stack }
    }

    /// The layers.
    pub fn layers(&self) -> &[TransformerDecoderLayer] {
        self.stack.layers()
    }

    /// The arguments that it was built from; `None` if it was made by [`from_layers`](Self::from_layers).
    pub fn config(&self) -> Option<TransformerDecoderConfig> {
        self.config.clone()
    }
}

impl Forward<TransformerDecoderInput> for TransformerDecoder {
    type Output = Tensor;

    fn forward(&self, input: TransformerDecoderInput) -> Result<Tensor> {
        let tgt_is_causal = is_causal(input.tgt_mask.as_ref(), input.tgt_is_causal)?;
        self.stack.run(input.tgt, |x, layer| {
            let input = TransformerDecoderLayerInput::new(x, input.memory.clone())
                .tgt_mask(input.tgt_mask.clone())
                .memory_mask(input.memory_mask.clone())
                .tgt_key_padding_mask(input.tgt_key_padding_mask.clone())
                .memory_key_padding_mask(input.memory_key_padding_mask.clone())
                .tgt_is_causal(tgt_is_causal)
                .memory_is_causal(input.memory_is_causal);
            layer.call(input)
        })
    }
}

impl Forward<(Tensor, Tensor)> for TransformerDecoder {
    type Output = Tensor;

    fn forward(&self, (tgt, memory): (Tensor, Tensor)) -> Result<Tensor> {
        self.forward(TransformerDecoderInput::new(tgt, memory))
    }
}
