//! Sequences of different lengths for recurrent layers: PyTorch's `torch.nn.utils.rnn`.
//!
//! | to | use |
//! |---|---|
//! | pad sequences to one length, and back | [`pad_sequence()`](pad_sequence), [`unpad_sequence`], [`unpad_sequence_batch_first`] |
//! | pack padded sequences, which recurrent layers take, and back | [`pack_padded_sequence`], [`pad_packed_sequence`] |
//! | pack a list of sequences, and back | [`pack_sequence`], [`pack_sequence_unsorted`], [`unpack_sequence`] |
//!
//! All of them make or take a [`PackedSequence`].

mod pack;
mod packed_sequence;
mod pad;

pub use pack::{
    PackOptions, PadPackedOptions, pack_padded_sequence, pack_sequence, pack_sequence_unsorted,
    pad_packed_sequence, unpack_sequence,
};
pub use packed_sequence::{PackedSequence, invert_permutation};
pub use pad::{
    PadSequenceOptions, PaddingSide, pad_sequence, unpad_sequence, unpad_sequence_batch_first,
};

use module_core::{Error, Result, Shape, ShapeError, Tensor};

/// The rows of `rows` that `place` names for each step and sequence, as `[steps, batch, …]`, or `[batch, steps, …]` with
/// `batch_first`; `None` is filled with `padding`.
fn gather_rows(
    op: &'static str,
    rows: &Tensor,
    place: &dyn Fn(usize, usize) -> Option<usize>,
    [steps, batch]: [usize; 2],
    batch_first: bool,
    padding: f64,
) -> Result<Tensor> {
    let lead = match batch_first {
        true => [batch, steps],
        false => [steps, batch],
    };
    let (count, row) = (rows.size(0)?, &rows.shape()[1..]);
    let shape: Shape = lead.iter().chain(row).copied().collect();
    let mut list: Vec<i64> = vec_with_capacity(op, rows, lead[0].checked_mul(lead[1]))?;
    for outer in 0..lead[0] {
        for inner in 0..lead[1] {
            let place = match batch_first {
                true => place(inner, outer),
                false => place(outer, inner),
            };
            list.push(place.unwrap_or(count) as i64);
        }
    }
    let list = Tensor::from_vec(list, lead[0] * lead[1])?.to_device(&rows.device())?;
    let behind: Shape = [1].iter().chain(row).copied().collect();
    let behind = Tensor::full(behind, padding, (rows.dtype(), &rows.device()))?;
    let rows = Tensor::cat(&[rows, &behind], 0)?.index_select(0, &list)?;
    rows.reshape(&shape)
}

/// Returns an empty vector with memory reserved for `count` items; an error quotes the shape of `x`.
pub(crate) fn vec_with_capacity<T>(
    op: &'static str,
    x: &Tensor,
    count: Option<usize>,
) -> Result<Vec<T>> {
    let mut list = Vec::new();
    match count.map(|count| list.try_reserve_exact(count)) {
        Some(Ok(())) => Ok(list),
        _ => {
            let shape = x.shape().clone();
            Err(ShapeError::TooLarge { op, shape }.into())
        }
    }
}

/// Refuses lengths that do not belong to `batch` sequences of at most `longest` steps.
fn check_lengths(op: &'static str, lengths: &[usize], batch: usize, longest: usize) -> Result<()> {
    let problem = if lengths.len() != batch {
        format!("there must be one for each of {batch} sequences")
    } else if let Some(length) = lengths.iter().find(|&&length| length > longest) {
        format!("{length} is more than the {longest} steps there are")
    } else {
        return Ok(());
    };
    Err(lengths_error(op, lengths, problem))
}

fn lengths_error(op: &'static str, lengths: &[usize], problem: impl Into<String>) -> Error {
    Error::argument(op, "lengths", format!("{lengths:?}"), problem)
}
