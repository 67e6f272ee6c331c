use std::fmt;

use module_core::{Forward, Module, Result, Tensor};

use super::recurrent_cell::RecurrentCell;
use super::rnn::RNNNonlinearity;
use crate::config::{Build, config};

/// One step of an [`RNN`](super::RNN).
///
/// ```text
/// h′ = tanh(W_ih·x + b_ih + W_hh·h + b_hh)
/// ```
///
/// Source: Elman, *Finding Structure in Time* (1990).
///
/// # Shapes
///
/// `[batch, input_size]` or `[input_size]`; alone, or in a tuple with the state `[batch, hidden_size]` or `[hidden_size]`,
/// which is otherwise 0. The output is the next state in the same shape.
///
/// # State dict
///
/// `weight_ih` `[hidden_size, input_size]`, `weight_hh` `[hidden_size, hidden_size]`, and unless
/// `bias` is false `bias_ih` and `bias_hh` `[hidden_size]`.
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
/// let cell = RNNCell::new(3, 4)?;
/// let mut state = cell.call(Tensor::randn([2, 3], DType::F32)?)?;
/// for _ in 0..5 {
///     state = cell.call((Tensor::randn([2, 3], DType::F32)?, state))?;
/// }
/// assert_eq!(state.shape().to_string(), "[2, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct RNNCell {
    #[module(flatten)]
    cell: RecurrentCell,
}

config! {
    /// The arguments of [`RNNCell`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let config = RNNCellConfig::new(3, 4).bias(false).nonlinearity(RNNNonlinearity::Relu);
    /// let state = config.build()?.call(Tensor::randn([2, 3], DType::F32)?)?;
    /// assert!(state.amin(..)?.item::<f32>()? >= 0.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RNNCellConfig => RNNCell {
        required {
            /// The number of features of the input.
            input_size: usize,
            /// The number of features of the state.
            hidden_size: usize,
        }
        optional {
            /// Whether biases are learned.
            bias: bool = true,
            /// The activation of the step.
            nonlinearity: RNNNonlinearity = RNNNonlinearity::Tanh,
        }
    }
}

impl Build for RNNCellConfig {
    type Output = RNNCell;

    /// The cell.
    ///
    /// # Errors
    ///
    /// A size of 0.
    fn build(&self) -> Result<RNNCell> {
        let sizes = [self.input_size, self.hidden_size];
        let cell = RecurrentCell::new("RNNCell", self.nonlinearity.op(), sizes, self.bias)?;
        Ok(RNNCell { cell })
    }
}

impl RNNCell {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cell.extra_repr(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> RNNCellConfig {
        let (input_size, hidden_size) = self.cell.sizes();
        let bias = self.cell.has_bias();
        RNNCellConfig {
            input_size,
            hidden_size,
            bias,
            nonlinearity: RNNNonlinearity::of(self.cell.op()),
        }
    }
}

impl Forward for RNNCell {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Self::Output> {
        self.cell.forward(&input, None).map(Into::into)
    }
}

impl Forward<(Tensor, Tensor)> for RNNCell {
    type Output = Tensor;

    fn forward(&self, (input, state): (Tensor, Tensor)) -> Result<Self::Output> {
        let next = self.cell.forward(&input, Some(state.into()))?;
        Ok(next.into())
    }
}
