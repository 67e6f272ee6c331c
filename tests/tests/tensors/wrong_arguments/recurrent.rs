//! Recurrent layers and packed sequences.

use module_core::fused::{RecurrentOp, RecurrentOptions, recurrent};
use module_core::{DType, Tensor};
use module_nn::rnn::pack_sequence_unsorted;
use module_nn::rnn::unpad_sequence_batch_first;
use module_nn::rnn::{
    PackOptions, PackedSequence, PadPackedOptions, PadSequenceOptions, PaddingSide,
    invert_permutation, pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence,
    unpad_sequence,
};
use module_nn::{Call, LSTMConfig};

use super::{Draw, fuzz};

impl Draw {
    /// A tensor of this shape, or anything else.
    fn about(&mut self, shape: &[usize]) -> Tensor {
        match self.below(24) {
            0 => self.maybe_huge(),
            _ => self.of_shape(shape, DType::F32),
        }
    }

    /// A permutation of a few indices, or not.
    fn order(&mut self) -> Tensor {
        match self.below(8) {
            0 => self.maybe_huge(),
            1 => Tensor::from([0_i64, -1]),
            2 => Tensor::from([1_i64, 1, 0]),
            3 => Tensor::from([1_i64, 0]),
            _ => Tensor::from([2_i64, 0, 1]),
        }
    }

    fn lengths(&mut self, count: usize) -> Vec<usize> {
        let count = if self.often() {
            count.min(8)
        } else {
            self.below(5)
        };
        let mut lengths: Vec<usize> = (0..count)
            .map(|_| {
                if self.often() {
                    1 + self.below(3)
                } else {
                    self.size()
                }
            })
            .collect();
        if self.often() {
            lengths.sort_unstable_by(|a, b| b.cmp(a));
        }
        lengths
    }
}

#[test]
fn recurrent_layers() {
    fuzz("recurrent", |d| {
        let op = d.of(&[
            RecurrentOp::Tanh,
            RecurrentOp::Relu,
            RecurrentOp::Lstm,
            RecurrentOp::Gru,
        ]);
        let (batch, hidden) = (d.below(3), 1 + d.below(3));
        let mut batch_sizes = vec![batch; 1 + d.below(3)];
        if !d.often() {
            batch_sizes = (0..d.below(4)).map(|_| d.size()).collect();
        }
        let lstm = op == RecurrentOp::Lstm;
        let width = if lstm && !d.often() {
            d.below(3)
        } else {
            hidden
        };
        let gates = op.gates() * hidden;
        let rows = batch_sizes
            .iter()
            .try_fold(0_usize, |sum, &n| sum.checked_add(n));
        let mut x = d.about(&[rows.unwrap_or(0).min(9), gates]);
        if !d.often() {
            let rows = d.size();
            let row = x.narrow(0, 0..1).and_then(|row| row.expand([rows, gates]));
            x = row.unwrap_or(x);
        }
        let first = d.about(&[batch, width]);
        let cell = (lstm == d.often()).then(|| d.about(&[batch, hidden]));
        let weight_hh = d.about(&[gates, width]);
        let bias_hh = d.often().then(|| d.about(&[gates]));
        let weight_hr = (width != hidden || !d.often()).then(|| d.about(&[width, hidden]));
        let options = RecurrentOptions::new(op, &weight_hh, &batch_sizes)
            .bias_hh(bias_hh.as_ref())
            .weight_hr(weight_hr.as_ref())
            .reverse(d.often());
        Ok(recurrent(&x, &first, cell.as_ref(), &options)?.output)
    });
    fuzz("LSTM", |d| {
        let small = |d: &mut Draw| if d.often() { 1 + d.below(3) } else { d.size() };
        let mut config = LSTMConfig::new(2, 3).batch_first(d.often());
        if !d.often() {
            config = LSTMConfig::new(small(d), small(d)).proj_size(d.below(3));
        }
        let x = match d.below(3) {
            0 => d.maybe_huge(),
            _ => d.about(&[3, 2, 2]),
        };
        let lstm = config.build()?;
        if d.often() {
            return Ok(lstm.call(x)?.0);
        }
        let (h, c) = (d.about(&[1, 2, 3]), d.about(&[1, 2, 3]));
        Ok(lstm.call((x, (h, c)))?.0)
    });
}

#[test]
fn packed_sequences() {
    fuzz("pack_padded_sequence", |d| {
        let x = d.maybe_huge();
        let options = PackOptions::new()
            .batch_first(d.often())
            .enforce_sorted(d.often());
        let dim = usize::from(!options.batch_first);
        let lengths = d.lengths(x.shape().get(dim).copied().unwrap_or(1));
        let packed = pack_padded_sequence(&x, &lengths, options)?;
        let options = PadPackedOptions::new()
            .batch_first(d.often())
            .padding_value(d.number())
            .total_length((!d.often()).then(|| d.size()));
        Ok(pad_packed_sequence(&packed, options)?.0)
    });
    fuzz("pad_sequence", |d| {
        let sequences: Vec<Tensor> = (0..d.below(4)).map(|_| d.maybe_huge()).collect();
        let options = PadSequenceOptions::new()
            .batch_first(d.often())
            .padding_value(d.number())
            .padding_side(d.of(&[PaddingSide::Left, PaddingSide::Right]));
        if d.often() {
            return pad_sequence(&sequences, options);
        }
        Ok(match d.often() {
            true => pack_sequence(&sequences),
            false => pack_sequence_unsorted(&sequences),
        }?
        .data()
        .clone())
    });
    fuzz("unpad_sequence", |d| {
        let x = d.maybe_huge();
        let batch_first = d.often();
        let dim = usize::from(!batch_first);
        let lengths = d.lengths(x.shape().get(dim).copied().unwrap_or(1));
        let mut sequences = match batch_first {
            true => unpad_sequence_batch_first(&x, &lengths)?,
            false => unpad_sequence(&x, &lengths)?,
        };
        Ok(sequences.pop().unwrap_or(x))
    });
    fuzz("PackedSequence", |d| {
        let sizes = d.lengths(3);
        let rows = sizes.iter().try_fold(0_usize, |sum, &n| sum.checked_add(n));
        let x = d.about(&[rows.unwrap_or(0).min(9), 2]);
        let order = (!d.often()).then(|| d.order());
        let packed = PackedSequence::new(x, sizes, order)?;
        Ok(pad_packed_sequence(&packed, PadPackedOptions::default())?.0)
    });
    fuzz("invert_permutation", |d| invert_permutation(&d.order()));
}
