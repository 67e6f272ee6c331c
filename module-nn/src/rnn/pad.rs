use module_core::{Error, Lengths, Result, Tensor};

use super::{check_lengths, gather_rows};

/// The side on which shorter sequences are padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PaddingSide {
    /// After them.
    #[default]
    Right,
    /// Before them.
    Left,
}

module_core::options! {
    /// The arguments of [`pad_sequence`], with PyTorch's defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    /// use module_nn::rnn::PaddingSide;
    /// use module_nn::rnn::{PadSequenceOptions, pad_sequence};
    ///
    /// let (a, b) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([3.0_f32]));
    /// let padded = pad_sequence(&[a, b], PadSequenceOptions::new().batch_first(true).padding_value(9.0))?;
    /// assert_eq!(padded.to_vec::<f32>()?, [1.0, 2.0, 3.0, 9.0]);
    ///
    /// let (a, b) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([3.0_f32]));
    /// let left = PadSequenceOptions::new().batch_first(true).padding_side(PaddingSide::Left);
    /// assert_eq!(pad_sequence(&[a, b], left)?.to_vec::<f32>()?, [1.0, 2.0, 0.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PadSequenceOptions {
        optional {
            /// Whether the batch comes before the steps.
            batch_first: bool = false,
            /// The padding of shorter sequences.
            padding_value: f64 = 0.0,
            /// The side of the padding.
            padding_side: PaddingSide = PaddingSide::Right,
        }
    }
}

/// Sequences `[length, …]` padded to the length of the longest: `[length, batch, …]`, or with
/// `batch_first` `[batch, length, …]`.
///
/// # Errors
///
/// No sequences, one without dimensions, different further dimensions, dtypes or devices, sizes that exceed memory.
///
/// # Example
///
/// ```
/// use module_nn::Tensor;
/// use module_nn::rnn::{PadSequenceOptions, pad_sequence};
///
/// let sequences = [Tensor::from([1_i64, 2]), Tensor::from([3_i64])];
/// let options = PadSequenceOptions::new().batch_first(true).padding_value(-1.0);
/// assert_eq!(pad_sequence(&sequences, options)?.to_vec::<i64>()?, [1, 2, 3, -1]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pad_sequence(sequences: &[Tensor], options: PadSequenceOptions) -> Result<Tensor> {
    const NAME: &str = "pad_sequence";
    if sequences.is_empty() {
        let problem = "there must be at least one sequence";
        return Err(Error::argument(NAME, "sequences", "[]", problem));
    }
    let mut starts = Vec::with_capacity(sequences.len());
    let (mut total, mut longest) = (0, 0);
    for sequence in sequences {
        let Some(&length) = sequence.shape().first() else {
            let expected = "sequences of at least one dimension";
            return Err(sequence.shape().error(NAME, expected));
        };
        starts.push((total, length));
        // Only views of shared memory can overflow the sum; `cat` refuses these.
        total = length.saturating_add(total);
        longest = length.max(longest);
    }
    let rows = Tensor::cat(sequences, 0)?;
    let batch = sequences.len();
    let place = |step: usize, i: usize| {
        let (start, length) = starts[i];
        let step = match options.padding_side {
            PaddingSide::Right => Some(step),
            PaddingSide::Left => (step + length).checked_sub(longest),
        };
        step.filter(|&step| step < length).map(|step| start + step)
    };
    let value = options.padding_value;
    let sizes = [longest, batch];
    gather_rows(NAME, &rows, &place, sizes, options.batch_first, value)
}

/// The sequences of a padded tensor `[length, batch, …]`, as views. Their [`Lengths`] are a list or a
/// tensor.
///
/// # Errors
///
/// Fewer than two dimensions, a number of lengths that differs from the sequences, a length beyond the padded one.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, rnn::unpad_sequence};
///
/// let padded = Tensor::from([[1_i64, 3], [2, 0]]);
/// let sequences = unpad_sequence(&padded, [2, 1])?;
/// assert_eq!(sequences[1].to_vec::<i64>()?, [3]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn unpad_sequence<'a>(
    padded_sequences: &Tensor,
    lengths: impl Into<Lengths<'a>>,
) -> Result<Vec<Tensor>> {
    unpad(padded_sequences, lengths.into(), false)
}

/// [`unpad_sequence`] of a padded tensor `[batch, length, …]`: `batch_first=True`.
///
/// # Errors
///
/// Those of [`unpad_sequence`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, rnn::unpad_sequence_batch_first};
///
/// let padded = Tensor::from([[1_i64, 2], [3, 0]]);
/// let sequences = unpad_sequence_batch_first(&padded, [2, 1])?;
/// assert_eq!(sequences[1].to_vec::<i64>()?, [3]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn unpad_sequence_batch_first<'a>(
    padded_sequences: &Tensor,
    lengths: impl Into<Lengths<'a>>,
) -> Result<Vec<Tensor>> {
    unpad(padded_sequences, lengths.into(), true)
}

fn unpad(
    padded_sequences: &Tensor,
    lengths: Lengths<'_>,
    batch_first: bool,
) -> Result<Vec<Tensor>> {
    const NAME: &str = "unpad_sequence";
    let lengths = &*lengths.get(NAME, "lengths")?;
    let &[first, second, ..] = &**padded_sequences.shape() else {
        let expected = "at least two dimensions, the steps and the batch";
        return Err(padded_sequences.shape().error(NAME, expected));
    };
    let (steps, batch, dim) = match batch_first {
        true => (second, first, 0),
        false => (first, second, 1),
    };
    check_lengths(NAME, lengths, batch, steps)?;
    let sequences = lengths.iter().enumerate();
    sequences
        .map(|(i, &length)| {
            padded_sequences
                .select(dim, i as isize)?
                .narrow(0, 0..length)
        })
        .collect()
}
