//! What a recurrent cell computes with.

use module_core::fused::{RecurrentOp, RecurrentOptions, recurrent};
use module_core::{Result, Tensor};

use super::{RecurrentArguments, States};

/// The weights of a cell, as of one direction of one layer.
pub(in crate::layers) struct CellWeights {
    pub(in crate::layers) ih: Tensor,
    pub(in crate::layers) hh: Tensor,
    pub(in crate::layers) biases: Option<[Tensor; 2]>,
    pub(in crate::layers) hr: Option<Tensor>,
}

impl CellWeights {
    /// The next ones in the order of [`RecurrentArguments::weights`].
    pub(super) fn next(
        arguments: &RecurrentArguments,
        from: &mut impl Iterator<Item = Tensor>,
    ) -> Option<Self> {
        Some(Self {
            ih: from.next()?,
            hh: from.next()?,
            biases: match arguments.bias {
                true => Some([from.next()?, from.next()?]),
                false => None,
            },
            hr: match arguments.proj_size {
                0 => None,
                _ => Some(from.next()?),
            },
        })
    }

    /// Through all steps.
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
        let options = RecurrentOptions::new(op, &self.hh, batch_sizes)
            .bias_hh(bias_hh)
            .weight_hr(self.hr.as_ref())
            .reverse(reverse);
        let gates = rows.linear(&self.ih, bias_ih)?;
        let out = recurrent(&gates, &first.hidden, first.cell.as_ref(), &options)?;
        let (hidden, cell) = (out.hidden, out.cell);
        Ok((out.output, States { hidden, cell }))
    }
}
