//! The steps of recurrent layers.

mod composed;
mod formula;
mod gradient;
mod pass;

use self::gradient::Fused;
use self::pass::{NAME, Recurrent, States, row_indices};
use super::fused::{gradient as by_kernel, or_composed};
use crate::backend::{RecurrentGeometry, RecurrentOp};
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{Error, Result, Shape};

crate::options! {
    /// The arguments of [`recurrent`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::fused::{RecurrentOp, RecurrentOptions, RecurrentOutput, recurrent};
    /// use module_tensor::{DType, Tensor};
    ///
    /// // Two sequences of two steps and of one: `h′ = max(0, x + h/2 + 1)`, from the first step or the last.
    /// let gates = Tensor::from([[1.0_f32], [-1.0], [2.0]]);
    /// let (weight, bias) = (Tensor::from([[0.5_f32]]), Tensor::from([1.0_f32]));
    /// let first = Tensor::zeros([2, 1], DType::F32)?;
    /// let options = RecurrentOptions::new(RecurrentOp::Relu, &weight, &[2, 1]).bias_hh(&bias);
    /// let states: RecurrentOutput = recurrent(&gates, &first, None, &options)?;
    /// assert_eq!(states.output.to_vec::<f32>()?, [2.0, 0.0, 4.0]);
    /// let states = recurrent(&gates, &first, None, &options.reverse(true))?;
    /// assert_eq!(states.output.to_vec::<f32>()?, [3.5, 0.0, 3.0]);
    ///
    /// // An LSTM whose state `h` is projected from two numbers to one.
    /// let (gates, weight) = (Tensor::zeros([1, 8], DType::F32)?, Tensor::zeros([8, 1], DType::F32)?);
    /// let (hidden, cell) = (Tensor::zeros([1, 1], DType::F32)?, Tensor::ones([1, 2], DType::F32)?);
    /// let projection = Tensor::from([[1.0_f32, -1.0]]);
    /// let options = RecurrentOptions::new(RecurrentOp::Lstm, &weight, &[1]).weight_hr(&projection);
    /// let states = recurrent(&gates, &hidden, Some(&cell), &options)?;
    /// assert_eq!(states.hidden.to_vec::<f32>()?, [0.0]);
    /// assert_eq!(states.cell.unwrap().to_vec::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy)]
    pub struct RecurrentOptions<'a> {
        required {
            /// The cell that a step computes.
            op: RecurrentOp,
            /// The weight that the state is multiplied by, `[gates · hidden, width]`.
            weight_hh: &'a Tensor,
            /// The number of sequences that reach each step, sorted longest first (PyTorch's `batch_sizes`).
            batch_sizes: &'a [usize],
        }
        optional {
            /// The bias that is added to that product, `[gates · hidden]`.
            bias_hh: Option<&'a Tensor> = None,
            /// The projection of the states of an LSTM, `[width, hidden]`; without one, `width` is `hidden`.
            weight_hr: Option<&'a Tensor> = None,
            /// Whether the last step is computed first.
            reverse: bool = false,
        }
    }
}

/// The result of [`recurrent`].
pub struct RecurrentOutput {
    /// The state `h` after each step, `[rows, width]`.
    pub output: Tensor,
    /// The last state `h` of each sequence, `[batch, width]`.
    pub hidden: Tensor,
    /// The last state `c` of each sequence of an LSTM, `[batch, hidden]`.
    pub cell: Option<Tensor>,
}

/// One direction of a layer of an RNN, an LSTM or a GRU, in one pass and with one entry in the graph. `gates` is the
/// contribution of the input to the gates of all steps, `x · W_ihᵀ + b_ih`.
///
/// The steps are those of packed sequences: the rows of a step are those of the sequences that have it, with longer
/// sequences first.
///
/// # Shapes
///
/// `[Σ batch_sizes, gates · hidden]`, an initial state `hidden` `[batch, width]` and, for an LSTM only, `cell`
/// `[batch, hidden]`, where `batch` is the first of the `batch_sizes`.
///
/// # Errors
///
/// Shapes that do not match, `batch_sizes` that increase or are empty, different dtypes or devices, a state `c` or a
/// projection for a cell other than an LSTM's, a dtype that is not floating-point.
///
/// # Source
///
/// `torch.lstm`, `torch.gru`, `torch.rnn_tanh`, `torch.rnn_relu`.
///
/// # Example
///
/// ```
/// use module_tensor::fused::{RecurrentOp, RecurrentOptions, recurrent};
/// use module_tensor::{DType, Tensor};
///
/// let gates = Tensor::from([[1.0_f32], [-1.0], [2.0]]);
/// let weight = Tensor::from([[0.5_f32]]);
/// let options = RecurrentOptions::new(RecurrentOp::Relu, &weight, &[2, 1]);
/// let first = Tensor::zeros([2, 1], DType::F32)?;
/// let states = recurrent(&gates, &first, None, &options)?;
/// assert_eq!(states.output.to_vec::<f32>()?, [1.0, 0.0, 2.5]);
/// assert_eq!(states.hidden.to_vec::<f32>()?, [2.5, 0.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn recurrent(
    gates: &Tensor,
    hidden: &Tensor,
    cell: Option<&Tensor>,
    options: &RecurrentOptions<'_>,
) -> Result<RecurrentOutput> {
    let pass = gates.pass(hidden, cell, options)?;
    let states = or_composed(pass.fused(), || pass.compose())?;
    pass.output(states)
}

impl Tensor {
    /// Checks the arguments of [`recurrent`] and collects them for a pass.
    pub(super) fn pass(
        &self,
        hidden: &Self,
        cell: Option<&Self>,
        options: &RecurrentOptions<'_>,
    ) -> Result<Recurrent> {
        let geometry = self.checked_steps(hidden, cell, options)?;
        Ok(Recurrent {
            gates: self.clone(),
            hidden: hidden.clone(),
            cell: cell.cloned(),
            weight: options.weight_hh.clone(),
            bias: options.bias_hh.cloned(),
            projection: options.weight_hr.cloned(),
            geometry,
        })
    }

    /// Checks all arguments of [`recurrent`].
    fn checked_steps(
        &self,
        hidden: &Self,
        cell: Option<&Self>,
        options: &RecurrentOptions<'_>,
    ) -> Result<RecurrentGeometry> {
        let &RecurrentOptions {
            op, batch_sizes, ..
        } = options;
        self.check_floating(NAME)?;
        let others = [cell, options.bias_hh, options.weight_hr];
        for x in [hidden, options.weight_hh]
            .into_iter()
            .chain(others.into_iter().flatten())
        {
            self.check_same(NAME, x)?;
        }
        let mut total: usize = 0;
        for (i, &count) in batch_sizes.iter().enumerate() {
            if i > 0 && batch_sizes[i - 1] < count {
                let problem = format!(
                    "{} is followed by {count}; longer sequences stand first",
                    batch_sizes[i - 1]
                );
                return Err(sizes(batch_sizes, problem));
            }
            total = total
                .checked_add(count)
                .ok_or_else(|| sizes(batch_sizes, "there are too many rows"))?;
        }
        let Some(&batch) = batch_sizes.first() else {
            return Err(sizes(batch_sizes, "there must be at least one step"));
        };
        let gates = op.gates();
        let weight = options.weight_hh;
        let split = match **weight.shape() {
            [all, width] if all > 0 && all % gates == 0 => Some((all, width)),
            _ => None,
        };
        let Some((all, width)) = split else {
            let expected = format!("a weight_hh [{gates} · hidden, width]");
            return Err(weight.shape().error(NAME, expected));
        };
        let size = all / gates;
        let lstm = op == RecurrentOp::Lstm;
        if lstm != cell.is_some() || (options.weight_hr.is_some() && !lstm) {
            let given = match (cell, options.weight_hr) {
                (Some(_), _) => "a state c",
                (None, Some(_)) => "a projection",
                (None, None) => "no state c",
            };
            let problem =
                "an LSTM has a state c and perhaps a projection, and other cells have none";
            return Err(Error::argument(NAME, "cell", given, problem));
        }
        let expect = |what: &str, x: &Self, shape: &[usize]| {
            if **x.shape() == *shape {
                return Ok(());
            }
            let expected = format!("{what} {}", Shape::from(shape));
            Err(x.shape().error(NAME, expected))
        };
        match options.weight_hr {
            Some(projection) => expect("a weight_hr", projection, &[width, size])?,
            None => expect("a weight_hh", weight, &[all, size])?,
        }
        if let Some(bias) = options.bias_hh {
            expect("a bias_hh", bias, &[all])?;
        }
        expect("the gates of all steps", self, &[total, all])?;
        expect("a first state", hidden, &[batch, width])?;
        if let Some(cell) = cell {
            expect("a first state c", cell, &[batch, size])?;
        }
        // The memory kept for each row.
        let largest = [total, size.saturating_mul(8).max(width)];
        Shape::from(largest).checked_numel(NAME, size_of::<f64>())?;
        Ok(RecurrentGeometry {
            op,
            hidden: size,
            width,
            batch_sizes: batch_sizes.to_vec(),
            reverse: options.reverse,
            compute: self.compute_dtype(),
        })
    }
}

fn sizes(batch_sizes: &[usize], problem: impl Into<String>) -> Error {
    Error::argument(NAME, "batch_sizes", format!("{batch_sizes:?}"), problem)
}

impl Recurrent {
    /// The states, and the final state of each sequence.
    pub(super) fn output(&self, states: States) -> Result<RecurrentOutput> {
        let geometry = &self.geometry;
        let last = geometry.last();
        // Sequences of equal length end one after another.
        let same = last.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let of = |x: &Tensor| match last.first() {
            Some(&first) if same => x.narrow(0, first..first + last.len()),
            _ => x.index_select(0, &row_indices(&last, x)?),
        };
        Ok(RecurrentOutput {
            hidden: of(&states.hidden)?,
            cell: states.cell.as_ref().map(of).transpose()?,
            output: states.hidden,
        })
    }
}

impl Function for Fused {
    fn name(&self) -> &'static str {
        NAME
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let needed = self.needed(ctx);
        let slopes = by_kernel(|| self.kernel(ctx, needed), || self.formula(ctx, needed))?;
        let mut gradients = Gradients::new();
        gradients.extend([Some(slopes.gates), Some(slopes.hidden), slopes.weight]);
        let optional = [
            (&self.pass.cell, slopes.cell),
            (&self.pass.bias, slopes.bias),
            (&self.pass.projection, slopes.projection),
        ];
        let given = optional.into_iter().filter(|(input, _)| input.is_some());
        gradients.extend(given.map(|(_, slope)| slope));
        Ok(gradients)
    }
}
