//! Code that the recurrent cells share: one step with its weights.

use std::fmt;

use module_core::fused::RecurrentOp;
use module_core::{Bias, Maybe, Module, Parameter, Result, Tensor};

use super::recurrent::{CellWeights, States};
use crate::config::check_positive;
use crate::init::Uniform;
use crate::lora::WeightAdapters;

/// The members of every recurrent cell, which flattens it into itself.
#[derive(Module)]
#[module(debug)]
pub(super) struct RecurrentCell {
    #[module(skip)]
    layer: &'static str,
    #[module(skip)]
    op: RecurrentOp,
    weight_ih: Parameter,
    weight_hh: Parameter,
    bias_ih: Bias,
    bias_hh: Bias,
    #[module(flatten)]
    adapters: WeightAdapters,
}

impl RecurrentCell {
    pub(super) fn new(
        layer: &'static str,
        op: RecurrentOp,
        [input_size, hidden_size]: [usize; 2],
        bias: bool,
    ) -> Result<Self> {
        check_positive(layer, "input_size", input_size)?;
        check_positive(layer, "hidden_size", hidden_size)?;
        let init = Uniform::of_fan_in(hidden_size);
        // The parameter refuses a product that exceeds memory.
        let gates = op.gates().saturating_mul(hidden_size);
        let bias = || Maybe::when(bias, || Parameter::with_init(gates, init));
        Ok(Self {
            layer,
            op,
            weight_ih: Parameter::with_init([gates, input_size], init)?,
            weight_hh: Parameter::with_init([gates, hidden_size], init)?,
            bias_ih: bias()?,
            bias_hh: bias()?,
            adapters: WeightAdapters::new(["weight_ih", "weight_hh"]),
        })
    }

    pub(super) fn sizes(&self) -> (usize, usize) {
        let size = |weight: &Parameter| weight.shape().last().copied().unwrap_or(0);
        (size(&self.weight_ih), size(&self.weight_hh))
    }

    /// Whether the cell has biases.
    pub(super) fn has_bias(&self) -> bool {
        self.bias_ih.is_present()
    }

    /// The operation of a step.
    pub(super) fn op(&self) -> RecurrentOp {
        self.op
    }

    /// The next state, from zeros if none is given.
    pub(super) fn forward(&self, input: &Tensor, first: Option<States>) -> Result<States> {
        let (input_size, hidden_size) = self.sizes();
        let refuse = |got: &Tensor, expected: String| got.shape().error(self.layer, expected);
        let (rows, batched) = match **input.shape() {
            [_, size] if size == input_size => (input.clone(), true),
            [size] if size == input_size => (input.unsqueeze(0)?, false),
            _ => {
                let expected = format!("[batch, input_size = {input_size}] or without the batch");
                return Err(refuse(input, expected));
            }
        };
        let shape = [rows.size(0)?, hidden_size];
        let first = match first {
            Some(first) => first,
            None => States::zeros(self.op, [shape; 2], input)?,
        };
        let first = first.map(|state| {
            let state = match state.rank() {
                1 if !batched => state.unsqueeze(0)?,
                _ => state.clone(),
            };
            if **state.shape() == shape {
                return Ok(state);
            }
            let [batch, size] = shape;
            let expected = format!(
                "a state [{batch}, {size}] beside an input {}",
                input.shape()
            );
            Err(refuse(&state, expected))
        })?;
        let (_, next) = self
            .weights()?
            .run(self.op, &rows, &first, &shape[..1], false)?;
        if batched {
            Ok(next)
        } else {
            next.map(|x| x.squeeze(0))
        }
    }

    fn weights(&self) -> Result<CellWeights> {
        let biases = self.bias_ih.get().zip(self.bias_hh.get());
        let adapted = |name: &str, weight: &Parameter| self.adapters.adapted(name, weight.tensor());
        Ok(CellWeights {
            ih: adapted("weight_ih", &self.weight_ih)?,
            hh: adapted("weight_hh", &self.weight_hh)?,
            biases: biases.map(|(ih, hh)| [ih.tensor(), hh.tensor()]),
            hr: None,
            is_cell: true,
        })
    }

    pub(super) fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (input_size, hidden_size) = self.sizes();
        write!(f, "{input_size}, {hidden_size}")?;
        if !self.bias_ih.is_present() {
            write!(f, ", bias=False")?;
        }
        if self.op == RecurrentOp::Relu {
            write!(f, ", nonlinearity=relu")?;
        }
        Ok(())
    }
}
