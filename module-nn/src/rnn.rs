//! Sequences of several lengths for recurrent layers: PyTorch's `torch.nn.utils.rnn`.

mod pack;
mod packed_sequence;
mod pad;

pub use pack::{
    PackOptions, PadPackedOptions, pack_padded_sequence, pack_sequence, pad_packed_sequence,
    unpack_sequence,
};
pub use packed_sequence::{PackedSequence, invert_permutation};
pub use pad::{PadSequenceOptions, PaddingSide, pad_sequence, unpad_sequence};

use module_core::{Error, Result, Shape, Tensor};

/// The rows of `rows` that `places` names, in the order in which they fill `lead` dimensions; a place
/// that is none is filled with `padding`.
fn gathered(
    op: &'static str,
    rows: &Tensor,
    places: impl Iterator<Item = Option<usize>>,
    lead: [usize; 2],
    padding: f64,
) -> Result<Tensor> {
    let row = rows.shape().get(1..).unwrap_or_default();
    let shape: Shape = lead.iter().chain(row).copied().collect();
    shape.checked_numel(op, rows.dtype().size_in_bytes().max(size_of::<i64>()))?;
    let count = rows.size(0)?;
    let places: Vec<i64> = places.map(|place| place.unwrap_or(count) as i64).collect();
    let behind: Shape = [1].iter().chain(row).copied().collect();
    let behind = rows.new_full(&behind, padding)?;
    let places = Tensor::from_vec(places, lead[0] * lead[1])?.to_device(&rows.device())?;
    Tensor::cat(&[rows, &behind], 0)?
        .index_select(0, &places)?
        .reshape_to(&shape)
}

/// Refuses lengths that are not those of `batch` sequences of one to `longest` steps.
fn check_lengths(op: &'static str, lengths: &[usize], batch: usize, longest: usize) -> Result<()> {
    let refuse = |problem: String| {
        let lengths = format!("{lengths:?}");
        Err(Error::argument(op, "lengths", lengths, problem))
    };
    if lengths.len() != batch {
        return refuse(format!("there must be one for each of {batch} sequences"));
    }
    if lengths.contains(&0) {
        return refuse("each must be at least 1".to_owned());
    }
    match lengths.iter().find(|&&length| length > longest) {
        Some(length) => refuse(format!("{length} is more than the {longest} steps there are")),
        None => Ok(()),
    }
}
