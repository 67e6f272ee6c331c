use module_core::fused::RecurrentOp;
use std::fmt;

use module_core::{Forward, Module, Result, Tensor};

use super::recurrent_cell::RecurrentCell;
use crate::config::{Build, config};

/// One step of an [`LSTM`](super::LSTM).
///
/// ```text
/// i, f, g, o = the parts of W_ih·x + b_ih + W_hh·h + b_hh; i, f, o through σ, g through tanh
/// c′ = f·c + i·g
/// h′ = o·tanh(c′)
/// ```
///
/// Source: Hochreiter and Schmidhuber, *Long Short-Term Memory* (1997).
///
/// # Shapes
///
/// `[batch, input_size]` or `[input_size]`; alone, or in a tuple with the states `(h, c)`, `[batch, hidden_size]` or
/// `[hidden_size]`, which are otherwise 0. The output is the next states `(h, c)` in the same shape.
///
/// # State dict
///
/// `weight_ih` `[4·hidden_size, input_size]`, `weight_hh` `[4·hidden_size, hidden_size]`, and unless
/// `bias` is false `bias_ih` and `bias_hh` `[4·hidden_size]`.
///
/// # Initialization
///
/// All uniform in `±1/√hidden_size`, in the order of the state dict.
///
/// # Errors
///
/// An input or a state of another shape, a dtype or device that differs from the weights'.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let cell = LSTMCell::new(3, 4)?;
/// let mut states = cell.call(Tensor::randn([2, 3], DType::F32)?)?;
/// for _ in 0..5 {
///     states = cell.call((Tensor::randn([2, 3], DType::F32)?, states))?;
/// }
/// assert_eq!(states.0.shape().to_string(), "[2, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct LSTMCell {
    #[module(flatten)]
    cell: RecurrentCell,
}

config! {
    /// The arguments of [`LSTMCell`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let cell = LSTMCellConfig::new(3, 4).bias(false).build()?;
    /// assert_eq!(cell.state_dict()?.keys().collect::<Vec<_>>(), ["weight_ih", "weight_hh"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LSTMCellConfig => LSTMCell {
        required {
            /// The number of features of the input.
            input_size: usize,
            /// The number of features of the state.
            hidden_size: usize,
        }
        optional {
            /// Whether biases are learned.
            bias: bool = true,
        }
    }
}

impl Build for LSTMCellConfig {
    type Output = LSTMCell;

    /// The cell.
    ///
    /// # Errors
    ///
    /// A size of 0.
    fn build(&self) -> Result<LSTMCell> {
        let sizes = [self.input_size, self.hidden_size];
        let cell = RecurrentCell::new("LSTMCell", RecurrentOp::Lstm, sizes, self.bias)?;
        Ok(LSTMCell { cell })
    }
}

impl LSTMCell {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cell.extra_repr(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LSTMCellConfig {
        let (input_size, hidden_size) = self.cell.sizes();
        let bias = self.cell.has_bias();
        LSTMCellConfig {
            input_size,
            hidden_size,
            bias,
        }
    }
}

impl Forward for LSTMCell {
    type Output = (Tensor, Tensor);

    fn forward(&self, input: Tensor) -> Result<Self::Output> {
        self.cell.forward(&input, None).map(Into::into)
    }
}

impl Forward<(Tensor, (Tensor, Tensor))> for LSTMCell {
    type Output = (Tensor, Tensor);

    fn forward(&self, (input, state): (Tensor, (Tensor, Tensor))) -> Result<Self::Output> {
        let next = self.cell.forward(&input, Some(state.into()))?;
        Ok(next.into())
    }
}
