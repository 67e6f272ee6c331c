use std::fmt;

use module_core::fused::RecurrentOp;
use module_core::{Module, Result, Tensor};

use super::recurrent::{Recurrent, RecurrentArguments, impl_forward};
use crate::config::{Build, config};

/// A gated recurrent unit.
///
/// ```text
/// r, z = σ of the first parts of W_ih·xₜ + b_ih + W_hh·hₜ₋₁ + b_hh
/// n = tanh(x + r·s) of the last parts x of W_ih·xₜ + b_ih and s of W_hh·hₜ₋₁ + b_hh
/// hₜ = (1 - z)·n + z·hₜ₋₁
/// ```
///
/// The input of each layer after the first is the states of the previous one, in training with `dropout` in between; with
/// `bidirectional` a second pass starts at the end of the sequences, and the states of both passes are concatenated.
///
/// Source: Cho et al., *Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
/// Translation* (2014).
///
/// # Shapes
///
/// `[length, batch, input_size]`, with `batch_first` `[batch, length, input_size]`, without a batch `[length, input_size]`,
/// or a [`PackedSequence`](crate::rnn::PackedSequence). The initial state is passed with it in a tuple, or is 0: `h` of
/// shape `[num_layers · directions, batch, hidden_size]`.
///
/// The output is a tuple of the states of the last layer, `[…, directions · hidden_size]`, and of the final state of every
/// layer, in the shape of the initial one.
///
/// # State dict
///
/// For each layer `k`: `weight_ih_l{k}` `[3·hidden_size, inputs]`, `weight_hh_l{k}` `[3·hidden_size, hidden_size]`, unless
/// `bias` is false `bias_ih_l{k}` and `bias_hh_l{k}` `[3·hidden_size]`; with `bidirectional` the same again with the suffix
/// `_reverse`. `inputs` is `input_size`, after the first layer `directions · hidden_size`.
///
/// # Initialization
///
/// All uniform in `±1/√hidden_size`, in the order of the state dict.
///
/// # Errors
///
/// A wrong number of dimensions or features, no steps, initial states of another shape, a dtype or device that differs from
/// the weights'.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let gru = GRUConfig::new(3, 4).batch_first(true).build()?;
/// let first = Tensor::zeros([1, 2, 4], DType::F32)?;
/// let (output, hidden) = gru.call((Tensor::randn([2, 5, 3], DType::F32)?, first))?;
/// assert_eq!(output.shape().to_string(), "[2, 5, 4]");
/// assert_eq!(hidden.shape().to_string(), "[1, 2, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct GRU {
    #[module(skip)]
    config: GRUConfig,
    #[module(flatten)]
    layers: Recurrent,
}

config! {
    /// The arguments of [`GRU`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let config = GRUConfig::new(3, 4).num_layers(2).bias(false).dropout(0.5).bidirectional(true);
    /// let gru = config.batch_first(true).build()?;
    /// let (output, hidden) = gru.call(Tensor::randn([2, 5, 3], DType::F32)?)?;
    /// assert_eq!(output.shape().to_string(), "[2, 5, 8]");
    /// assert_eq!(hidden.shape().to_string(), "[4, 2, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct GRUConfig => GRU {
        required {
            /// The number of features of the input.
            input_size: usize,
            /// The number of features of the state.
            hidden_size: usize,
        }
        optional {
            /// The number of stacked layers.
            num_layers: usize = 1,
            /// Whether biases are learned.
            bias: bool = true,
            /// Whether the batch is the first dimension of input and output; the states keep
            /// `[layers, batch, …]`.
            batch_first: bool = false,
            /// The probability that an element between two layers is zeroed in training.
            dropout: f64 = 0.0,
            /// Whether a second pass starts at the end.
            bidirectional: bool = false,
        }
    }
}

impl Build for GRUConfig {
    type Output = GRU;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A size of 0, a `dropout` outside `[0, 1]`.
    fn build(&self) -> Result<GRU> {
        let layers = Recurrent::new(RecurrentArguments {
            layer: "GRU",
            op: RecurrentOp::Gru,
            input_size: self.input_size,
            hidden_size: self.hidden_size,
            num_layers: self.num_layers,
            bias: self.bias,
            batch_first: self.batch_first,
            dropout: self.dropout,
            bidirectional: self.bidirectional,
            proj_size: 0,
        })?;
        Ok(GRU {
            config: self.clone(),
            layers,
        })
    }
}

impl GRU {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layers.extra_repr(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> GRUConfig {
        self.config.clone()
    }
}

impl_forward! { GRU: Tensor }
