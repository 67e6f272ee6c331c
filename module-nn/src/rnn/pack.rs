use module_core::{Error, Lengths, Result, Tensor};

use super::{
    PackedSequence, PadSequenceOptions, check_lengths, gather_rows, lengths_error, pad_sequence,
    unpad_sequence_batch_first, vec_with_capacity,
};

module_core::options! {
    /// The arguments of [`pack_padded_sequence`], with PyTorch's defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// use module_nn::rnn::{PackOptions, pack_padded_sequence};
    ///
    /// let padded = Tensor::randn([4, 2, 3], DType::F32)?; // Two sequences, the second of length 4.
    /// let packed = pack_padded_sequence(&padded, &[2, 4], PackOptions::new().enforce_sorted(false))?;
    /// assert_eq!(packed.data().shape().to_string(), "[6, 3]");
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PackOptions {
        optional {
            /// Whether the batch comes before the steps.
            batch_first: bool = false,
            /// Whether the sequences must be sorted, longest first; otherwise they are sorted here.
            enforce_sorted: bool = true,
        }
    }
}

/// Packs sequences that were padded to one length: `[length, batch, …]`, or `[batch, length, …]` with
/// `batch_first`. Their [`Lengths`] are a list or a tensor.
///
/// # Errors
///
/// Fewer than two dimensions, a number of lengths that differs from the sequences, a length of 0 or beyond the padded one,
/// increasing lengths if `enforce_sorted` is true.
///
/// # Example
///
/// ```
/// use module_nn::Tensor;
/// use module_nn::rnn::{PackOptions, pack_padded_sequence};
///
/// let padded = Tensor::from([[1_i64, 0, 0], [2, 3, 4]]);
/// let options = PackOptions::new().batch_first(true).enforce_sorted(false);
/// let packed = pack_padded_sequence(&padded, [1, 3], options)?;
/// assert_eq!(packed.data().to_vec::<i64>()?, [2, 1, 3, 4]);
/// assert_eq!(packed.batch_sizes(), [2, 1, 1]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pack_padded_sequence<'a>(
    input: &Tensor,
    lengths: impl Into<Lengths<'a>>,
    options: PackOptions,
) -> Result<PackedSequence> {
    const NAME: &str = "pack_padded_sequence";
    pack(NAME, input, &lengths.into().get(NAME, "lengths")?, options)
}

fn pack(
    op: &'static str,
    input: &Tensor,
    lengths: &[usize],
    options: PackOptions,
) -> Result<PackedSequence> {
    let &[first, second, ..] = &**input.shape() else {
        let expected = "at least two dimensions, the steps and the batch";
        return Err(input.shape().error(op, expected));
    };
    let (steps, batch) = match options.batch_first {
        true => (second, first),
        false => (first, second),
    };
    check_lengths(op, lengths, batch, steps)?;
    if lengths.contains(&0) {
        return Err(lengths_error(op, lengths, "each must be at least 1"));
    }
    let mut order: Vec<usize> = (0..batch).collect();
    if options.enforce_sorted {
        if !lengths.is_sorted_by(|a, b| a >= b) {
            let problem = "must be in decreasing order when `enforce_sorted` is true; set it to false to have the \
                           sequences sorted";
            return Err(lengths_error(op, lengths, problem));
        }
    } else {
        order.sort_by_key(|&i| std::cmp::Reverse(lengths[i]));
    }
    // A view of a few elements may have more steps than fit in memory.
    let total = lengths
        .iter()
        .try_fold(0_usize, |sum, &length| sum.checked_add(length));
    let longest = order.first().map_or(0, |&i| lengths[i]);
    let mut batch_sizes: Vec<usize> = vec_with_capacity(op, input, Some(longest))?;
    let mut rows: Vec<i64> = vec_with_capacity(op, input, total)?;
    for step in 0..longest {
        let size = order.partition_point(|&i| lengths[i] > step);
        batch_sizes.push(size);
        rows.extend(
            order[..size]
                .iter()
                .map(|&sequence| match options.batch_first {
                    true => (sequence * steps + step) as i64,
                    false => (step * batch + sequence) as i64,
                }),
        );
    }
    let indices = |list: Vec<i64>| {
        let count = list.len();
        Tensor::from_vec(list, count)?.to_device(&input.device())
    };
    let data = input.flatten(0, 1)?.index_select(0, &indices(rows)?)?;
    let sorted = match options.enforce_sorted {
        true => None,
        false => Some(indices(order.iter().map(|&i| i as i64).collect())?),
    };
    PackedSequence::new(data, batch_sizes, sorted)
}

module_core::options! {
    /// The arguments of [`pad_packed_sequence`], with PyTorch's defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    /// use module_nn::rnn::{PadPackedOptions, pack_sequence, pad_packed_sequence};
    ///
    /// let packed = pack_sequence(&[Tensor::from([1_i64, 2])])?;
    /// let options = PadPackedOptions::new().batch_first(true).total_length(4).padding_value(9.0);
    /// let (padded, _) = pad_packed_sequence(&packed, options)?;
    /// assert_eq!(padded.to_vec::<i64>()?, [1, 2, 9, 9]);
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PadPackedOptions {
        optional {
            /// Whether the batch comes before the steps.
            batch_first: bool = false,
            /// The padding after shorter sequences.
            padding_value: f64 = 0.0,
            /// The number of steps to pad to; by default, that of the longest sequence.
            total_length: Option<usize> = None,
        }
    }
}

/// Packed sequences as one tensor, `[length, batch, …]` or with `batch_first` `[batch, length, …]`, in their original
/// order, and their lengths.
///
/// # Errors
///
/// A `total_length` below the longest sequence's, sizes that exceed memory.
///
/// # Example
///
/// ```
/// use module_nn::Tensor;
/// use module_nn::rnn::{PadPackedOptions, pack_sequence_unsorted, pad_packed_sequence};
///
/// let packed = pack_sequence_unsorted(&[Tensor::from([1_i64]), Tensor::from([2_i64, 3])])?;
/// let options = PadPackedOptions::new().batch_first(true);
/// let (padded, lengths) = pad_packed_sequence(&packed, options)?;
/// assert_eq!(padded.to_vec::<i64>()?, [1, 0, 2, 3]);
/// assert_eq!(lengths, [1, 2]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pad_packed_sequence(
    sequence: &PackedSequence,
    options: PadPackedOptions,
) -> Result<(Tensor, Vec<usize>)> {
    const NAME: &str = "pad_packed_sequence";
    let batch_sizes = sequence.batch_sizes();
    let steps = batch_sizes.len();
    let more = match options.total_length {
        Some(length) if length < steps => {
            let problem = format!("must be at least {steps}, the length of the longest sequence");
            return Err(Error::argument(NAME, "total_length", length, problem));
        }
        Some(length) => length - steps,
        None => 0,
    };
    let lengths = sequence.lengths()?;
    let packed: Vec<usize> = match sequence.unsorted_indices() {
        // Permutations of the sequences were checked.
        Some(unsorted) => unsorted
            .to_vec::<i64>()?
            .iter()
            .map(|&i| i as usize)
            .collect(),
        None => (0..lengths.len()).collect(),
    };
    let mut start = 0;
    let starts: Vec<usize> = (batch_sizes.iter())
        .map(|size| {
            start += size;
            start - size
        })
        .collect();
    let batch = lengths.len();
    let place = |step: usize, i: usize| (step < lengths[i]).then(|| starts[step] + packed[i]);
    let value = options.padding_value;
    let (data, sizes) = (sequence.data(), [steps, batch]);
    let padded = gather_rows(NAME, data, &place, sizes, options.batch_first, value)?;
    Ok((lengthen(&padded, more, options)?, lengths))
}

/// With more steps of padding.
fn lengthen(padded: &Tensor, more: usize, options: PadPackedOptions) -> Result<Tensor> {
    if more == 0 {
        return Ok(padded.clone());
    }
    let dim = usize::from(options.batch_first);
    let mut shape = padded.shape().to_vec();
    shape[dim] = more;
    let value = options.padding_value;
    let behind = Tensor::full(shape, value, (padded.dtype(), &padded.device()))?;
    Tensor::cat(&[padded, &behind], dim as isize)
}

/// Packs sequences `[length, …]`, sorted longest first.
///
/// # Errors
///
/// No sequences, one without steps, different further dimensions, increasing lengths, for which there is
/// [`pack_sequence_unsorted`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, rnn::pack_sequence};
///
/// let packed = pack_sequence(&[Tensor::from([2_i64, 3]), Tensor::from([1_i64])])?;
/// assert_eq!(packed.data().to_vec::<i64>()?, [2, 1, 3]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pack_sequence(sequences: &[Tensor]) -> Result<PackedSequence> {
    pack_list(sequences, true)
}

/// Packs sequences `[length, …]` in any order; they are sorted first: `enforce_sorted=False`.
///
/// # Errors
///
/// No sequences, one without steps, different further dimensions.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, rnn::pack_sequence_unsorted};
///
/// let packed = pack_sequence_unsorted(&[Tensor::from([1_i64]), Tensor::from([2_i64, 3])])?;
/// assert_eq!(packed.data().to_vec::<i64>()?, [2, 1, 3]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pack_sequence_unsorted(sequences: &[Tensor]) -> Result<PackedSequence> {
    pack_list(sequences, false)
}

fn pack_list(sequences: &[Tensor], enforce_sorted: bool) -> Result<PackedSequence> {
    let padded = pad_sequence(sequences, PadSequenceOptions::default())?;
    let lengths = sequences
        .iter()
        .map(|x| x.size(0))
        .collect::<Result<Vec<_>>>()?;
    let options = PackOptions::new().enforce_sorted(enforce_sorted);
    pack_padded_sequence(&padded, &lengths, options)
}

/// The packed sequences, in their original order.
///
/// # Errors
///
/// Sizes that exceed memory.
///
/// # Example
///
/// ```
/// use module_nn::Tensor;
/// use module_nn::rnn::{pack_sequence_unsorted, unpack_sequence};
///
/// let packed = pack_sequence_unsorted(&[Tensor::from([1_i64]), Tensor::from([2_i64, 3])])?;
/// assert_eq!(unpack_sequence(&packed)?[1].to_vec::<i64>()?, [2, 3]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn unpack_sequence(packed: &PackedSequence) -> Result<Vec<Tensor>> {
    let options = PadPackedOptions::new().batch_first(true);
    let (padded, lengths) = pad_packed_sequence(packed, options)?;
    unpad_sequence_batch_first(&padded, &lengths)
}
