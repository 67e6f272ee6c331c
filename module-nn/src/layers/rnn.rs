use std::fmt;

use module_core::fused::RecurrentOp;
use module_core::{Module, Result, Tensor};
use serde::{Deserialize, Serialize};

use super::recurrent::{Recurrent, RecurrentArguments, impl_forward};
use crate::config::{Build, config};

/// An Elman recurrent network.
///
/// ```text
/// hₜ = tanh(W_ih·xₜ + b_ih + W_hh·hₜ₋₁ + b_hh)
/// ```
///
/// The input of each layer after the first is the states of the previous one, in training with `dropout` in between; with
/// `bidirectional` a second pass starts at the end of the sequences, and the states of both passes are concatenated.
///
/// Source: Elman, *Finding Structure in Time* (1990).
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
/// For each layer `k`: `weight_ih_l{k}` `[hidden_size, inputs]`, `weight_hh_l{k}` `[hidden_size, hidden_size]`, unless
/// `bias` is false `bias_ih_l{k}` and `bias_hh_l{k}` `[hidden_size]`; with `bidirectional` the same again with the suffix
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
/// let rnn = RNNConfig::new(3, 4).num_layers(2).bidirectional(true).build()?;
/// let (output, hidden) = rnn.call(Tensor::randn([5, 2, 3], DType::F32)?)?;
/// assert_eq!(output.shape().to_string(), "[5, 2, 8]");
/// assert_eq!(hidden.shape().to_string(), "[4, 2, 4]");
///
/// let config = RNNConfig::new(3, 4).batch_first(true).bias(false).num_layers(2).dropout(0.5);
/// let rnn: RNN = config.build()?;
/// let (output, _) = rnn.call(Tensor::randn([2, 5, 3], DType::F32)?)?;
/// assert_eq!(output.shape().to_string(), "[2, 5, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct RNN {
    #[module(skip)]
    config: RNNConfig,
    #[module(flatten)]
    layers: Recurrent,
}

/// The activation of an [`RNN`] or an [`RNNCell`](super::RNNCell).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let rnn = RNNConfig::new(3, 4).nonlinearity(RNNNonlinearity::Relu).build()?;
/// let (output, _hidden) = rnn.call(Tensor::randn([5, 2, 3], DType::F32)?)?;
/// assert!(output.amin(..)?.item::<f32>()? >= 0.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RNNNonlinearity {
    /// The hyperbolic tangent.
    #[default]
    Tanh,
    /// `max(x, 0)`.
    Relu,
}

impl RNNNonlinearity {
    /// The activation for RNN operations; it must be `Relu` or `Tanh`.
    pub(super) fn of(op: RecurrentOp) -> Self {
        match op {
            RecurrentOp::Relu => Self::Relu,
            RecurrentOp::Tanh | RecurrentOp::Gru | RecurrentOp::Lstm => Self::Tanh,
        }
    }

    pub(super) fn op(self) -> RecurrentOp {
        match self {
            Self::Tanh => RecurrentOp::Tanh,
            Self::Relu => RecurrentOp::Relu,
        }
    }
}

config! {
    /// The arguments of [`RNN`].
    pub struct RNNConfig => RNN {
        required {
            /// The number of features of the input.
            input_size: usize,
            /// The number of features of the state.
            hidden_size: usize,
        }
        optional {
            /// The number of stacked layers.
            num_layers: usize = 1,
            /// The activation of each step.
            nonlinearity: RNNNonlinearity = RNNNonlinearity::Tanh,
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

impl Build for RNNConfig {
    type Output = RNN;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A size of 0, a `dropout` outside `[0, 1]`.
    fn build(&self) -> Result<RNN> {
        let layers = Recurrent::new(RecurrentArguments {
            layer: "RNN",
            op: self.nonlinearity.op(),
            input_size: self.input_size,
            hidden_size: self.hidden_size,
            num_layers: self.num_layers,
            bias: self.bias,
            batch_first: self.batch_first,
            dropout: self.dropout,
            bidirectional: self.bidirectional,
            proj_size: 0,
        })?;
        Ok(RNN {
            config: self.clone(),
            layers,
        })
    }
}

impl RNN {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layers.extra_repr(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> RNNConfig {
        self.config.clone()
    }
}

impl_forward! { RNN: Tensor }
