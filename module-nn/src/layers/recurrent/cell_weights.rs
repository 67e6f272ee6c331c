//! The weights that a recurrent cell computes with.

use module_core::fused::{RecurrentOp, RecurrentOptions, recurrent};
use module_core::{AutocastPolicy, DType, Result, Tensor};

use super::{RecurrentArguments, States};

/// The weights of a cell, like those of one direction of one layer.
pub(in crate::layers) struct CellWeights {
    pub(in crate::layers) ih: Tensor,
    pub(in crate::layers) hh: Tensor,
    pub(in crate::layers) biases: Option<[Tensor; 2]>,
    pub(in crate::layers) hr: Option<Tensor>,
    /// Whether they belong to a single step rather than a layer.
    pub(in crate::layers) is_cell: bool,
}

impl CellWeights {
    /// The next weights in the order of [`RecurrentArguments::weights`].
    pub(super) fn next(
        arguments: &RecurrentArguments,
        mut from: impl Iterator<Item = Result<Tensor>>,
    ) -> Result<Option<Self>> {
        let mut next = |wanted: bool| match wanted {
            true => from.next().transpose(),
            false => Ok(None),
        };
        let (Some(ih), Some(hh)) = (next(true)?, next(true)?) else {
            return Ok(None);
        };
        let biases = next(arguments.bias)?.zip(next(arguments.bias)?);
        Ok(Some(Self {
            ih,
            hh,
            biases: biases.map(Into::into),
            hr: next(arguments.proj_size > 0)?,
            is_cell: false,
        }))
    }

    /// Runs all steps.
    pub(in crate::layers) fn run(
        &self,
        op: RecurrentOp,
        rows: &Tensor,
        first: &States,
        batch_sizes: &[usize],
        reverse: bool,
    ) -> Result<(Tensor, States)> {
        let [bias_ih, bias_hh] = match &self.biases {
            Some([ih, hh]) => [Some(ih), Some(hh)],
            None => [None, None],
        };
        let gates = rows.linear(&self.ih, bias_ih)?;
        let hr = self.hr.as_ref();
        let steps = |[gates, hidden, hh]: [&Tensor; 3], [cell, bias, hr]: [Option<&Tensor>; 3]| {
            let options = RecurrentOptions::new(op, hh, batch_sizes)
                .bias_hh(bias)
                .weight_hr(hr)
                .reverse(reverse);
            let out = recurrent(gates, hidden, cell, &options)?;
            let (hidden, cell) = (out.hidden, out.cell);
            Ok((out.output, States { hidden, cell }))
        };
        let States { hidden, cell } = first;
        let (cell, hh) = (cell.as_ref(), &self.hh);
        let policy = AutocastPolicy::LowerPrecision;
        let cast = policy.apply(
            [&gates, hidden, hh],
            [cell, bias_hh, hr],
            |given, optional| {
                let narrow = given[0].dtype();
                if hidden.dtype() != DType::F32 || !self.keeps_states(op) {
                    return steps(given, optional);
                }
                // The products use rounded weights; everything added to them and kept is in `F32`.
                let wide = |x: &Tensor| x.to_dtype(DType::F32);
                let ([gates, _, hh], [_, bias, hr]) = (given, optional);
                let (gates, hh) = (wide(gates)?, wide(hh)?);
                let [bias, hr] = [bias.map(wide).transpose()?, hr.map(wide).transpose()?];
                let optional = [cell, bias.as_ref(), hr.as_ref()];
                let (output, last) = steps([&gates, hidden, &hh], optional)?;
                if hr.is_none() {
                    return Ok((output, last));
                }
                let hidden = last.hidden.to_dtype(narrow)?;
                Ok((output.to_dtype(narrow)?, States { hidden, ..last }))
            },
        );
        cast.unwrap_or_else(|| steps([&gates, hidden, hh], [cell, bias_hh, hr]))
    }

    /// Whether states stay in `F32` inside `autocast`: in PyTorch, an LSTM without a projection is one half-precision
    /// operation, and everything else is composed of half-precision products and of operations that use the wider dtype.
    fn keeps_states(&self, op: RecurrentOp) -> bool {
        match op {
            RecurrentOp::Gru => true,
            RecurrentOp::Lstm => self.is_cell || self.hr.is_some(),
            _ => false,
        }
    }
}
