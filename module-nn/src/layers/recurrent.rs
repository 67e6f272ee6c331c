//! Code that the recurrent layers share: their weights under computed keys, and the passes through all layers and
//! directions.

mod arguments;
mod calls;
mod cell_weights;
mod states;

use std::fmt;

use module_core::{Error, IndexMap, Module, Parameter, Result, Tensor, Training};

use crate::init::Uniform;
use crate::lora::WeightAdapters;
use crate::rnn::{PackedSequence, vec_with_capacity};

pub(super) use arguments::RecurrentArguments;
pub(super) use calls::impl_forward;
pub(super) use cell_weights::CellWeights;
pub(super) use states::States;

/// The members of every recurrent layer, which flattens it into itself.
#[derive(Module)]
#[module(debug)]
pub(super) struct Recurrent {
    #[module(skip)]
    arguments: RecurrentArguments,
    #[module(flatten)]
    weights: IndexMap<String, Parameter>,
    #[module(flatten)]
    adapters: WeightAdapters,
    training: Training,
}

impl Recurrent {
    pub(super) fn new(arguments: RecurrentArguments) -> Result<Self> {
        arguments.check()?;
        let mut weights = IndexMap::new();
        for layer in 0..arguments.num_layers {
            for direction in 0..arguments.directions() {
                for (name, shape) in arguments.weights(layer, direction == 1) {
                    let init = Uniform::of_fan_in(arguments.hidden_size);
                    weights.insert(name, Parameter::with_init(shape, init)?);
                }
            }
        }
        let names = weights.keys().map(String::as_str);
        let adapters = WeightAdapters::new(names.filter(|name| name.starts_with("weight")));
        Ok(Self {
            arguments,
            weights,
            adapters,
            training: Training::new(),
        })
    }

    fn shape_error(&self, got: &Tensor, expected: String) -> Error {
        got.shape().error(self.arguments.layer, expected)
    }

    /// A pass over sequences of one length, with or without a batch dimension.
    pub(super) fn forward(
        &self,
        input: &Tensor,
        first: Option<States>,
    ) -> Result<(Tensor, States)> {
        let arguments = &self.arguments;
        let layout = if arguments.batch_first {
            "[batch, length, input_size]"
        } else {
            "[length, batch, input_size]"
        };
        let batched = input.rank() == 3;
        if !matches!(input.rank(), 2 | 3) {
            let expected = format!("{layout} or, without a batch, [length, input_size]");
            return Err(self.shape_error(input, expected));
        }
        if let Some(first) = &first {
            for state in [Some(&first.hidden), first.cell.as_ref()]
                .into_iter()
                .flatten()
            {
                if state.rank() != input.rank() {
                    let expected = format!(
                        "a first state of {0} dimensions beside an input of {0}",
                        input.rank()
                    );
                    return Err(self.shape_error(state, expected));
                }
            }
        }
        let (steps, first) = match (batched, arguments.batch_first) {
            (false, _) => {
                let first = first.map(|first| first.map(|x| x.unsqueeze(1)));
                (input.unsqueeze(1)?, first.transpose()?)
            }
            (true, true) => (input.transpose(0, 1)?, first),
            (true, false) => (input.clone(), first),
        };
        let (length, batch) = (steps.size(0)?, steps.size(1)?);
        if length == 0 {
            return Err(self.shape_error(input, format!("{layout} of at least one step")));
        }
        self.check_width(input)?;
        let rows = steps.reshape([-1, arguments.input_size as isize])?;
        let mut batch_sizes = vec_with_capacity(arguments.layer, input, Some(length))?;
        batch_sizes.resize(length, batch);
        let (output, last) = self.run(rows, &batch_sizes, first)?;
        let width = output.size(1)?;
        let output = output.reshape([length, batch, width])?;
        if !batched {
            return Ok((output.squeeze(1)?, last.map(|x| x.squeeze(1))?));
        }
        let output = if arguments.batch_first {
            output.transpose(0, 1)?
        } else {
            output
        };
        Ok((output, last))
    }

    /// A pass over packed sequences.
    pub(super) fn forward_packed(
        &self,
        input: &PackedSequence,
        first: Option<States>,
    ) -> Result<(PackedSequence, States)> {
        let data = input.data();
        if data.rank() != 2 {
            let expected = "packed data [rows, input_size]".to_owned();
            return Err(self.shape_error(data, expected));
        }
        self.check_width(data)?;
        let ordered = |states: States, order: Option<&Tensor>| match order {
            Some(order) => states.map(|x| x.index_select(1, order)),
            None => Ok(states),
        };
        let first = match first {
            Some(first) => {
                self.check_states(&first, input.batch_sizes())?;
                Some(ordered(first, input.sorted_indices())?)
            }
            None => None,
        };
        let (output, last) = self.run(data.clone(), input.batch_sizes(), first)?;
        let last = ordered(last, input.unsorted_indices())?;
        Ok((input.with_data(output)?, last))
    }

    fn check_width(&self, input: &Tensor) -> Result<()> {
        let expected = self.arguments.input_size;
        if input.size(-1)? == expected {
            return Ok(());
        }
        let expected = format!("an input whose last dimension is input_size = {expected}");
        Err(self.shape_error(input, expected))
    }

    fn check_states(&self, first: &States, batch_sizes: &[usize]) -> Result<()> {
        let arguments = &self.arguments;
        let passes = arguments.num_layers * arguments.directions();
        let batch = batch_sizes.first().copied().unwrap_or(0);
        let expect = |what: &str, state: &Tensor, size: usize| {
            if **state.shape() == [passes, batch, size] {
                return Ok(());
            }
            let expected = format!("a first state {what} [{passes}, {batch}, {size}]");
            Err(self.shape_error(state, expected))
        };
        expect("h", &first.hidden, arguments.width())?;
        (first.cell.iter()).try_for_each(|cell| expect("c", cell, arguments.hidden_size))
    }

    /// All layers over rows as in a packed sequence.
    fn run(
        &self,
        input: Tensor,
        batch_sizes: &[usize],
        first: Option<States>,
    ) -> Result<(Tensor, States)> {
        let arguments = &self.arguments;
        let first = match first {
            Some(first) => {
                self.check_states(&first, batch_sizes)?;
                first
            }
            None => self.zeros(&input, batch_sizes)?,
        };
        let training = self.training.is_training();
        let plain = self.adapters.is_empty();
        let weights = self.weights.iter();
        let mut weights = weights.map(|(name, weight)| match plain {
            true => Ok(weight.tensor()),
            false => self.adapters.adapted(name, weight.tensor()),
        });
        let (mut rows, mut hidden, mut cell) = (input, Vec::new(), Vec::new());
        for layer in 0..arguments.num_layers {
            let mut sides = Vec::with_capacity(2);
            for direction in 0..arguments.directions() {
                let Some(weights) = CellWeights::next(arguments, &mut weights)? else {
                    // There are weights for every pass.
                    break;
                };
                let first = first.map(|x| x.select(0, hidden.len() as isize))?;
                let (output, last) =
                    weights.run(arguments.op, &rows, &first, batch_sizes, direction == 1)?;
                sides.push(output);
                hidden.push(last.hidden);
                cell.extend(last.cell);
            }
            rows = match sides.len() {
                1 => sides.remove(0),
                _ => Tensor::cat(&sides, 1)?,
            };
            if training && layer + 1 < arguments.num_layers {
                rows = rows.dropout(arguments.dropout)?;
            }
        }
        let last = States {
            hidden: Tensor::stack(&hidden, 0)?,
            cell: match cell.is_empty() {
                true => None,
                false => Some(Tensor::stack(&cell, 0)?),
            },
        };
        Ok((rows, last))
    }

    fn zeros(&self, input: &Tensor, batch_sizes: &[usize]) -> Result<States> {
        let arguments = &self.arguments;
        let passes = arguments.num_layers * arguments.directions();
        let batch = batch_sizes.first().copied().unwrap_or(0);
        let shapes = [arguments.width(), arguments.hidden_size].map(|size| [passes, batch, size]);
        States::zeros(arguments.op, shapes, input)
    }

    pub(super) fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.arguments.print(f)
    }
}
