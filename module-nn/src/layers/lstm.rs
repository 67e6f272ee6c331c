use std::fmt;

use module_core::fused::RecurrentOp;
use module_core::{Module, Result, Tensor};

use super::recurrent::{Recurrent, RecurrentArguments, impl_forward};
use crate::config::{Build, config};

/// A long short-term memory.
///
/// ```text
/// i, f, g, o = the parts of W_ih·xₜ + b_ih + W_hh·hₜ₋₁ + b_hh; i, f, o through σ, g through tanh
/// cₜ = f·cₜ₋₁ + i·g
/// hₜ = o·tanh(cₜ), with `proj_size` W_hr·(o·tanh(cₜ))
/// ```
///
/// The input of each layer after the first is the states of the previous one, in training with `dropout` in between; with
/// `bidirectional` a second pass starts at the end of the sequences, and the states of both passes are concatenated.
///
/// Source: Hochreiter and Schmidhuber, *Long Short-Term Memory* (1997); the projection Sak et al., *Long
/// Short-Term Memory Based Recurrent Neural Network Architectures for Large Vocabulary Speech
/// Recognition* (2014).
///
/// # Shapes
///
/// `[length, batch, input_size]`, with `batch_first` `[batch, length, input_size]`, without a batch `[length, input_size]`,
/// or a [`PackedSequence`](crate::rnn::PackedSequence). The initial states are passed with it in a tuple, or are 0:
/// `(h, c)` of shapes `[num_layers · directions, batch, width]` and `[num_layers · directions, batch, hidden_size]`.
///
/// The output is a tuple of the states of the last layer, `[…, directions · width]`, and of the final states of every
/// layer, in the shapes of the initial ones. `width` is `proj_size`, or `hidden_size` without one.
///
/// # State dict
///
/// For each layer `k`: `weight_ih_l{k}` `[4·hidden_size, inputs]`, `weight_hh_l{k}` `[4·hidden_size, width]`, unless `bias`
/// is false `bias_ih_l{k}` and `bias_hh_l{k}` `[4·hidden_size]`, with `proj_size` `weight_hr_l{k}`
/// `[proj_size, hidden_size]`; with `bidirectional` the same again with the suffix `_reverse`. `inputs` is `input_size`,
/// after the first layer `directions · width`.
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
/// use module_nn::rnn::{pack_sequence, pad_packed_sequence};
///
/// let lstm = LSTM::new(3, 4)?;
/// let (output, (hidden, cell)) = lstm.call(Tensor::randn([5, 2, 3], DType::F32)?)?;
/// assert_eq!(output.shape().to_string(), "[5, 2, 4]");
/// assert_eq!((hidden.rank(), cell.rank()), (3, 3));
///
/// // Sequences of several lengths, packed.
/// let sequences = [Tensor::randn([4, 3], DType::F32)?, Tensor::randn([2, 3], DType::F32)?];
/// let (output, _) = lstm.call(pack_sequence(&sequences)?)?;
/// let (padded, lengths) = pad_packed_sequence(&output, Default::default())?;
/// assert_eq!(padded.shape().to_string(), "[4, 2, 4]");
/// assert_eq!(lengths, [4, 2]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct LSTM {
    #[module(skip)]
    config: LSTMConfig,
    #[module(flatten)]
    layers: Recurrent,
}

config! {
    /// The arguments of [`LSTM`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let lstm = LSTMConfig::new(3, 8)
    ///     .num_layers(2)
    ///     .batch_first(true)
    ///     .dropout(0.5)
    ///     .bidirectional(true)
    ///     .proj_size(4)
    ///     .build()?;
    /// let (output, (hidden, cell)) = lstm.call(Tensor::randn([2, 5, 3], DType::F32)?)?;
    /// assert_eq!(output.shape().to_string(), "[2, 5, 8]");
    /// assert_eq!(hidden.shape().to_string(), "[4, 2, 4]");
    /// assert_eq!(cell.shape().to_string(), "[4, 2, 8]");
    /// assert_eq!(LSTMConfig::new(3, 8).bias(false).build()?.num_parameters(), 4 * 8 * (3 + 8));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LSTMConfig => LSTM {
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
            /// The size to which the state `h` is projected; 0 for none.
            proj_size: usize = 0,
        }
    }
}

impl Build for LSTMConfig {
    type Output = LSTM;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A size of 0, a `dropout` outside `[0, 1]`, a `proj_size` that is not less than `hidden_size`.
    fn build(&self) -> Result<LSTM> {
        let layers = Recurrent::new(RecurrentArguments {
            layer: "LSTM",
            op: RecurrentOp::Lstm,
            input_size: self.input_size,
            hidden_size: self.hidden_size,
            num_layers: self.num_layers,
            bias: self.bias,
            batch_first: self.batch_first,
            dropout: self.dropout,
            bidirectional: self.bidirectional,
            proj_size: self.proj_size,
        })?;
        Ok(LSTM {
            config: self.clone(),
            layers,
        })
    }
}

impl LSTM {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.layers.extra_repr(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LSTMConfig {
        self.config.clone()
    }
}

impl_forward! { LSTM: (Tensor, Tensor) }
