use module_core::{DType, Error, Result, Shape, ShapeError, Tensor};

use crate::rnn::PaddingSide;

/// Sequences of token ids of unequal length as one batch; [`pad_batch`] makes it.
///
/// # Example
///
/// ```
/// use module_nn::data::{PaddedBatch, pad_batch};
/// use module_nn::prelude::*;
/// use module_nn::rnn::PaddingSide;
///
/// let texts: Vec<Vec<u32>> = vec![vec![5, 6, 7], vec![8]];
/// let batch: PaddedBatch = pad_batch(&texts, 0, PaddingSide::Left)?;
/// assert_eq!(batch.ids.to_vec::<i64>()?, [5, 6, 7, 0, 0, 8]);
/// assert_eq!(batch.mask.to_vec::<bool>()?, [true, true, true, false, false, true]);
/// assert_eq!(batch.positions()?.to_vec::<i64>()?, [0, 1, 2, 0, 0, 0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PaddedBatch {
    /// The ids, `I64` `[batch, length]`.
    pub ids: Tensor,
    /// `Bool` `[batch, length]`, true for tokens and false for padding. Attention takes `mask.unsqueeze(1)?.unsqueeze(1)?`.
    pub mask: Tensor,
}

impl PaddedBatch {
    /// The position of each token in its own sequence, `I64` `[batch, length]`; 0 for padding before it.
    ///
    /// # Errors
    ///
    /// Those of the operations.
    pub fn positions(&self) -> Result<Tensor> {
        let counted = self.mask.to_dtype(DType::I64)?.cumsum(1)?;
        counted.sub(1_i64)?.clamp_min(0_i64)
    }
}

/// Token ids of unequal length as one batch with its mask, each sequence padded to the length of the longest: on the right
/// for training, on the left ([`PaddingSide::Left`]) for generation.
///
/// # Errors
///
/// No sequence, one without ids, more ids than fit in memory.
///
/// # Example
///
/// ```
/// use module_nn::data::pad_batch;
/// use module_nn::rnn::PaddingSide;
///
/// let texts: Vec<Vec<u32>> = vec![vec![5, 6, 7], vec![8]];
/// let batch = pad_batch(&texts, 0, PaddingSide::Left)?;
/// assert_eq!(batch.ids.to_vec::<i64>()?, [5, 6, 7, 0, 0, 8]);
/// assert_eq!(batch.mask.to_vec::<bool>()?, [true, true, true, false, false, true]);
/// assert_eq!(batch.positions()?.to_vec::<i64>()?, [0, 1, 2, 0, 0, 0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pad_batch<S: AsRef<[u32]>>(
    sequences: &[S],
    pad_id: u32,
    side: PaddingSide,
) -> Result<PaddedBatch> {
    let sequences: Vec<&[u32]> = sequences.iter().map(AsRef::as_ref).collect();
    padded(&sequences, pad_id, side)
}

fn padded(sequences: &[&[u32]], pad_id: u32, side: PaddingSide) -> Result<PaddedBatch> {
    const NAME: &str = "pad_batch";
    let longest = sequences.iter().map(|ids| ids.len()).max();
    let Some(longest) = longest else {
        let problem = "there must be at least one sequence";
        return Err(Error::argument(NAME, "sequences", "[]", problem));
    };
    if let Some(empty) = sequences.iter().position(|ids| ids.is_empty()) {
        let problem = format!("sequence {empty} has no ids; leave it out or give it one");
        return Err(Error::argument(NAME, "sequences", "[]", problem));
    }
    let shape = Shape::from([sequences.len(), longest]);
    let (mut ids, mut mask) = (Vec::<i64>::new(), Vec::<bool>::new());
    let count = sequences.len().saturating_mul(longest);
    if ids.try_reserve_exact(count).is_err() || mask.try_reserve_exact(count).is_err() {
        return Err(ShapeError::TooLarge { op: NAME, shape }.into());
    }
    for sequence in sequences {
        let padding = longest - sequence.len();
        let before = match side {
            PaddingSide::Left => padding,
            PaddingSide::Right => 0,
        };
        let end = ids.len() + longest;
        ids.resize(ids.len() + before, pad_id.into());
        mask.resize(mask.len() + before, false);
        ids.extend(sequence.iter().map(|&id| i64::from(id)));
        mask.resize(ids.len(), true);
        ids.resize(end, pad_id.into());
        mask.resize(end, false);
    }
    Ok(PaddedBatch {
        ids: Tensor::from_vec(ids, &shape)?,
        mask: Tensor::from_vec(mask, &shape)?,
    })
}
