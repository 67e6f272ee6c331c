use std::ops::Range;
use std::sync::Arc;

use module_nn::Integers;
use module_nn::prelude::*;

use super::ParallelError;
use super::collectives::{copy_to_ranks, own_part, part_size, reduce_from_ranks};
use super::common::from_rank_0;
use crate::Comm;

const NAME: &str = "VocabParallelEmbedding";

/// An [`Embedding`] whose rows are divided among ranks: each looks up the indices of its rows, and zeros stand for the
/// others until the ranks' results are added.
///
/// Source: Megatron-LM, `VocabParallelEmbedding`.
///
/// # Shapes
///
/// Indices `[…]`, `I64` or `I32`, the same on all ranks, to `[…, embedding_dim]`.
///
/// # State dict
///
/// `weight` `[num_embeddings / ranks, embedding_dim]`; [`state_dict`](super::state_dict) joins it.
///
/// # Initialization
///
/// That of [`Embedding`], of which each rank keeps its part; the numbers are those of rank 0.
///
/// # Errors
///
/// [`ParallelError::NotDivisible`]; [`ParallelError::Unsupported`] for `max_norm` and `scale_grad_by_freq`; indices that
/// are not integers or out of range; those of the collectives.
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::VocabParallelEmbedding;
/// use module_nn::prelude::*;
///
/// manual_seed(0);
/// let whole = Embedding::new(6, 2)?;
/// let tokens = Tensor::from([5_i64, 0]);
/// let rows = LocalComm::run(2, |comm| {
///     let table = VocabParallelEmbedding::from_embedding(&whole, comm)?;
///     table.call(tokens.clone())?.to_vec::<f32>()
/// })?;
/// assert_eq!(rows[1], whole.call(tokens.clone())?.to_vec::<f32>()?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct VocabParallelEmbedding {
    num_embeddings: usize,
    embedding_dim: usize,
    weight: Parameter,
    #[module(skip)]
    rows: Range<usize>,
    #[module(skip)]
    padding: Option<usize>,
    #[module(skip)]
    comm: Arc<dyn Comm>,
}

impl VocabParallelEmbedding {
    /// A table with fresh rows: those that [`EmbeddingConfig::build`] draws on rank 0. All ranks call it.
    ///
    /// # Errors
    ///
    /// `num_embeddings` that the number of ranks does not divide; arguments that are not supported; those of
    /// `EmbeddingConfig::build` and of the collectives.
    pub fn new(config: &EmbeddingConfig, comm: Arc<dyn Comm>) -> Result<Self> {
        check(config, &*comm)?;
        Self::from_embedding(&config.build()?, comm)
    }

    /// This rank's rows of a table: of rank 0's, if they differ. All ranks call it.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new).
    pub fn from_embedding(embedding: &Embedding, comm: Arc<dyn Comm>) -> Result<Self> {
        let config = embedding.config();
        let part = check(&config, &*comm)?;
        let weight = from_rank_0(embedding.weight(), &*comm)?;
        let own = own_part(NAME, "num_embeddings", &weight, 0, &*comm)?;
        let start = comm.rank() * part;
        let rows = start..start + part;
        let count = config.num_embeddings;
        let padding = config.padding_idx.and_then(|row| match row {
            0.. => usize::try_from(row).ok(),
            _ => count.checked_sub(row.unsigned_abs()),
        });
        let padding = padding.filter(|row| rows.contains(row));
        Ok(Self {
            num_embeddings: count,
            embedding_dim: config.embedding_dim,
            weight: Parameter::new(own)?,
            padding: padding.map(|row| row - start),
            rows,
            comm,
        })
    }

    /// This rank's rows, `[num_embeddings / ranks, embedding_dim]`.
    pub fn weight(&self) -> &Parameter {
        &self.weight
    }

    /// The numbers of this rank's rows.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The products of `x` with this rank's rows, which are its part of the logits of a language model with tied weights,
    /// `[…, num_embeddings / ranks]`: the input of a
    /// [`VocabParallelCrossEntropyLoss`](super::VocabParallelCrossEntropyLoss).
    ///
    /// # Errors
    ///
    /// An `x` that does not match the rows. In the backward pass those of the collectives.
    pub fn logits(&self, x: &Tensor) -> Result<Tensor> {
        copy_to_ranks(x, &self.comm)?.linear(&self.weight.tensor(), None)
    }
}

/// Checks the arguments, and returns the number of rows of a rank.
fn check(config: &EmbeddingConfig, comm: &dyn Comm) -> Result<usize> {
    let (rank, op) = (comm.rank(), NAME);
    let unsupported = [
        ("max_norm", config.max_norm.is_some()),
        ("scale_grad_by_freq", config.scale_grad_by_freq),
    ];
    if let Some((argument, _)) = unsupported.into_iter().find(|(_, given)| *given) {
        return Err(ParallelError::Unsupported { rank, op, argument }.into());
    }
    part_size(NAME, "num_embeddings", config.num_embeddings, comm)
}

/// The positions of `indices` within `rows`, and which of them are outside, whose position is 0.
pub(super) fn local_indices(indices: &Tensor, rows: &Range<usize>) -> Result<(Tensor, Tensor)> {
    let (start, end) = (rows.start as i64, rows.end as i64);
    let outside = indices.lt(start)?.logical_or(&indices.ge(end)?)?;
    let local = indices.sub(start)?.masked_fill(&outside, 0)?;
    Ok((local, outside))
}

impl Forward for VocabParallelEmbedding {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let indices = input.to_integers("embedding", Integers::Indices)?;
        check_indices(&indices, self.num_embeddings)?;
        let (local, outside) = local_indices(&indices, &self.rows)?;
        let rows = self.weight.tensor().embedding(&local, self.padding)?;
        let rows = rows.masked_fill(&outside.unsqueeze(-1)?, 0.0)?;
        reduce_from_ranks(&rows, &self.comm)
    }
}

/// Refuses indices of no row, which would silently get zeros.
fn check_indices(indices: &Tensor, count: usize) -> Result<()> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let wrong = indices.lt(0)?.logical_or(&indices.ge(count)?)?;
    if indices.numel() == 0 || !wrong.any(..)?.item::<bool>()? {
        return Ok(());
    }
    let (low, high) = (
        indices.amin(..)?.item::<i64>()?,
        indices.amax(..)?.item::<i64>()?,
    );
    let index = if low < 0 { low } else { high };
    let problem = format!("must be from 0 to num_embeddings - 1 = {}", count - 1);
    Err(Error::argument(NAME, "index", index, problem))
}
