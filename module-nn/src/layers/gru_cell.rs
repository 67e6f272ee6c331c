use module_core::fused::RecurrentOp;
use std::fmt;

use module_core::{Forward, Module, Result, Tensor};

use super::recurrent_cell::RecurrentCell;
use crate::config::{Build, config};

/// One step of a [`GRU`](super::GRU).
///
/// ```text
/// r, z = σ of the first parts of W_ih·x + b_ih + W_hh·h + b_hh
/// n = tanh(x + r·s) of the last parts x of W_ih·x + b_ih and s of W_hh·h + b_hh
/// h′ = (1 - z)·n + z·h
/// ```
///
/// Source: Cho et al., *Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
/// Translation* (2014).
///
/// # Shapes
///
/// `[batch, input_size]` or `[input_size]`; alone, or in a tuple with the state `[batch, hidden_size]` or `[hidden_size]`,
/// which is otherwise 0. The output is the next state in the same shape.
///
/// # State dict
///
/// `weight_ih` `[3·hidden_size, input_size]`, `weight_hh` `[3·hidden_size, hidden_size]`, and unless
/// `bias` is false `bias_ih` and `bias_hh` `[3·hidden_size]`.
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
/// let cell = GRUCell::new(3, 4)?;
/// let mut state = cell.call(Tensor::randn([2, 3], DType::F32)?)?;
/// for _ in 0..5 {
///     state = cell.call((Tensor::randn([2, 3], DType::F32)?, state))?;
/// }
/// assert_eq!(state.shape().to_string(), "[2, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct GRUCell {
    #[module(flatten)]
    cell: RecurrentCell,
}

config! {
    /// The arguments of [`GRUCell`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let cell = GRUCellConfig::new(3, 4).bias(false).build()?;
    /// assert_eq!(cell.state_dict()?.keys().collect::<Vec<_>>(), ["weight_ih", "weight_hh"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct GRUCellConfig => GRUCell {
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

impl Build for GRUCellConfig {
    type Output = GRUCell;

    /// The cell.
    ///
    /// # Errors
    ///
    /// A size of 0.
    fn build(&self) -> Result<GRUCell> {
        let sizes = [self.input_size, self.hidden_size];
        let cell = RecurrentCell::new("GRUCell", RecurrentOp::Gru, sizes, self.bias)?;
        Ok(GRUCell { cell })
    }
}

impl GRUCell {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cell.extra_repr(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> GRUCellConfig {
        let (input_size, hidden_size) = self.cell.sizes();
        let bias = self.cell.has_bias();
        GRUCellConfig {
            input_size,
            hidden_size,
            bias,
        }
    }
}

impl Forward for GRUCell {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Self::Output> {
        self.cell.forward(&input, None).map(Into::into)
    }
}

impl Forward<(Tensor, Tensor)> for GRUCell {
    type Output = Tensor;

    fn forward(&self, (input, state): (Tensor, Tensor)) -> Result<Self::Output> {
        let next = self.cell.forward(&input, Some(state.into()))?;
        Ok(next.into())
    }
}
