//! Losses on probabilities and sequences.

use module_core::{DType, Reduction, Tensor};
use module_nn::{CTCLossConfig, functional};

use super::{Draw, fuzz};

impl Draw {
    /// Lengths for a batch, mostly in range.
    fn ctc_lengths(&mut self, batch: usize, most: usize) -> Tensor {
        let values = (0..batch).map(|_| match self.below(30) {
            0 => self.of(&[-1, i64::MAX, i64::MIN, most as i64 + 1]),
            _ => self.below(most + 1) as i64,
        });
        let values = values.collect();
        let lengths = Tensor::from_vec::<i64>(values, batch).unwrap();
        match self.below(20) {
            0 => self.maybe_huge(),
            _ => lengths,
        }
    }
}

#[test]
fn losses() {
    fuzz("binary_cross_entropy", |d| {
        let x = d.maybe_huge();
        let y = d.like(&x);
        // Mostly probabilities.
        let mut shares = |x: Tensor| {
            let x = if d.often() { x.sigmoid()? } else { x };
            x.masked_fill(&x.isnan()?, 0.5)
        };
        let (x, y) = (shares(x)?, shares(y)?);
        functional::binary_cross_entropy(&x, &y, None, Reduction::None)
    });
    fuzz("ctc_loss", |d| {
        let (time, batch, letters) = (d.below(5), d.below(3), d.below(3));
        let x = match d.below(8) {
            0 => d.maybe_huge(),
            1 => d.of_shape(&[time, 4], DType::F32),
            _ => d.of_shape(&[time, batch, 4], DType::F64),
        };
        let batch = if x.rank() == 2 {
            1
        } else {
            x.shape().get(1).copied().unwrap_or(1).min(9)
        };
        let time = x.shape().first().copied().unwrap_or(1).min(9);
        let (moments, lengths) = (d.ctc_lengths(batch, time), d.ctc_lengths(batch, letters));
        let targets = match d.below(8) {
            0 => d.maybe_huge(),
            1 => d.index(&[letters]),
            _ => d.index(&[batch, letters]),
        };
        let options = CTCLossConfig::new()
            .blank(if d.often() { 2 } else { d.size() })
            .reduction(d.reduction())
            .zero_infinity(d.often());
        functional::ctc_loss(&x, &targets, &moments, &lengths, &options)
    });
}
