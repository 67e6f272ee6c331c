use std::ops::Range;

use super::super::RecurrentOp;
use crate::DType;

/// The steps of a recurrent layer over sequences of different lengths, longest first: the rows of a step are those of the
/// sequences that reach it, and the rows of the steps follow each other.
///
/// # Example
///
/// ```
/// use module_tensor::DType;
/// use module_tensor::backend::{RecurrentGeometry, RecurrentOp};
///
/// // Two sequences, of three steps and of one: four rows.
/// let geometry = RecurrentGeometry {
///     op: RecurrentOp::Tanh,
///     hidden: 5,
///     width: 5,
///     batch_sizes: vec![2, 1, 1],
///     reverse: false,
///     compute: DType::F32,
/// };
/// assert_eq!((geometry.batch(), geometry.rows()), (2, 4));
/// assert_eq!(geometry.steps(), [0..2, 2..3, 3..4]);
/// // The first step starts from the initial states, which count as the rows 4 and 5.
/// assert_eq!(geometry.previous(), [4, 5, 0, 2]);
/// assert_eq!(geometry.last(), [3, 1]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecurrentGeometry {
    /// The cell of each step.
    pub op: RecurrentOp,
    /// The size of a gate, and of the state `c`.
    pub hidden: usize,
    /// The size of the state `h`.
    pub width: usize,
    /// The number of sequences that reach each step; never more than at the step before.
    pub batch_sizes: Vec<usize>,
    /// Whether the last step is computed first.
    pub reverse: bool,
    /// The dtype to compute in, whatever dtypes the operands have.
    pub compute: DType,
}

impl RecurrentGeometry {
    /// The number of sequences.
    pub fn batch(&self) -> usize {
        self.batch_sizes.first().copied().unwrap_or(0)
    }

    /// The number of rows of all steps.
    pub fn rows(&self) -> usize {
        self.batch_sizes.iter().sum()
    }

    /// The rows of each step, in the order in which they are computed.
    pub fn steps(&self) -> Vec<Range<usize>> {
        let mut end = 0;
        let rows = |&count: &usize| {
            end += count;
            end - count..end
        };
        let mut steps: Vec<_> = self.batch_sizes.iter().map(rows).collect();
        if self.reverse {
            steps.reverse();
        }
        steps
    }

    /// For each row, the row whose state it starts from; the initial states count as rows after all others.
    pub fn previous(&self) -> Vec<usize> {
        let rows = self.rows();
        let mut previous = vec![0; rows];
        let mut latest: Vec<usize> = (rows..rows + self.batch()).collect();
        for step in self.steps() {
            for (row, latest) in step.zip(&mut latest) {
                if let Some(previous) = previous.get_mut(row) {
                    *previous = *latest;
                }
                *latest = row;
            }
        }
        previous
    }

    /// For each sequence, the row of its final state, in the order of computation.
    pub fn last(&self) -> Vec<usize> {
        let mut last = vec![0; self.batch()];
        for step in self.steps() {
            step.zip(&mut last).for_each(|(row, last)| *last = row);
        }
        last
    }
}
