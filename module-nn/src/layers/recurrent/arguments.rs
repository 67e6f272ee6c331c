//! The arguments of the recurrent layers: their checks, the weights that they require, how they print.

use module_core::fused::RecurrentOp;
use std::fmt;

use module_core::module::Repr;
use module_core::{Error, Result};

use crate::config::{PartSize, check_between, check_count_fits, check_positive};

/// The arguments of every recurrent layer.
#[derive(Clone, Copy)]
pub(crate) struct RecurrentArguments {
    pub(crate) layer: &'static str,
    pub(crate) op: RecurrentOp,
    pub(crate) input_size: usize,
    pub(crate) hidden_size: usize,
    pub(crate) num_layers: usize,
    pub(crate) bias: bool,
    pub(crate) batch_first: bool,
    pub(crate) dropout: f64,
    pub(crate) bidirectional: bool,
    pub(crate) proj_size: usize,
}

impl RecurrentArguments {
    pub(super) fn directions(&self) -> usize {
        if self.bidirectional { 2 } else { 1 }
    }

    /// The size of the state `h`.
    pub(super) fn width(&self) -> usize {
        match self.proj_size {
            0 => self.hidden_size,
            width => width,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let layer = self.layer;
        check_positive(layer, "input_size", self.input_size)?;
        check_positive(layer, "hidden_size", self.hidden_size)?;
        check_positive(layer, "num_layers", self.num_layers)?;
        check_between(layer, "dropout", self.dropout, [0.0, 1.0])?;
        if self.proj_size >= self.hidden_size {
            let problem = format!("must be less than hidden_size = {}", self.hidden_size);
            return Err(Error::argument(layer, "proj_size", self.proj_size, problem));
        }
        let (gates, sides) = (self.op.gates(), self.directions());
        let fits = gates.checked_mul(self.hidden_size).is_some()
            && sides.checked_mul(self.width()).is_some()
            && sides.checked_mul(self.num_layers).is_some();
        if !fits {
            let problem = "makes more weights than memory holds";
            return Err(Error::argument(
                layer,
                "hidden_size",
                self.hidden_size,
                problem,
            ));
        }
        let weights = (0..sides).flat_map(|_| self.weights(1, false));
        let sizes = weights.map(|(_, shape)| {
            let times = |product: usize, &size: &usize| product.saturating_mul(size);
            shape.iter().fold(1, times)
        });
        check_count_fits(
            layer,
            "num_layers",
            self.num_layers,
            PartSize::of_sizes(sizes),
        )
    }

    /// The names and shapes of the weights of one direction of a layer, in PyTorch's order.
    pub(super) fn weights(&self, layer: usize, reverse: bool) -> Vec<(String, Vec<usize>)> {
        let gates = self.op.gates() * self.hidden_size;
        let input = match layer {
            0 => self.input_size,
            _ => self.width() * self.directions(),
        };
        let mut weights = vec![
            ("weight_ih", vec![gates, input]),
            ("weight_hh", vec![gates, self.width()]),
        ];
        if self.bias {
            weights.extend([("bias_ih", vec![gates]), ("bias_hh", vec![gates])]);
        }
        if self.proj_size > 0 {
            weights.push(("weight_hr", vec![self.proj_size, self.hidden_size]));
        }
        let side = if reverse { "_reverse" } else { "" };
        let named = weights.into_iter();
        named
            .map(|(name, shape)| (format!("{name}_l{layer}{side}"), shape))
            .collect()
    }

    /// Prints the arguments that differ from the defaults, as PyTorch does.
    pub(super) fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecurrentArguments {
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            ..
        } = self;
        write!(f, "{input_size}, {hidden_size}")?;
        if *proj_size != 0 {
            write!(f, ", proj_size={proj_size}")?;
        }
        if *num_layers != 1 {
            write!(f, ", num_layers={num_layers}")?;
        }
        if !bias {
            write!(f, ", bias=False")?;
        }
        if *batch_first {
            write!(f, ", batch_first=True")?;
        }
        if *dropout != 0.0 {
            write!(f, ", dropout={}", Repr(dropout))?;
        }
        if *bidirectional {
            write!(f, ", bidirectional=True")?;
        }
        Ok(())
    }
}
