use module_core::{
    Backward, DType, Error, Function, Gradients, Integers, Result, ShapeError, Tensor,
};
use serde::{Deserialize, Serialize};

/// How the rows of a bag are reduced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BagMode {
    /// Their sum, weighted if there are weights.
    Sum,
    /// Their mean.
    #[default]
    Mean,
    /// The maximum of each column.
    Max,
}

module_core::options! {
    /// The options of [`embedding_bag`], with PyTorch's names and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::functional::{BagMode, EmbeddingBagOptions, embedding_bag};
    /// use module_nn::prelude::*;
    ///
    /// let table = Parameter::new(Tensor::from([[1.0_f32], [10.0], [100.0]]))?;
    /// let (indices, offsets) = (Tensor::from([0_i64, 1, 1, 2]), Tensor::from([0_i64, 3, 4]));
    /// let weights = Tensor::from([2.0_f32, 1.0, 0.5, 1.0]);
    /// let options = EmbeddingBagOptions::new()
    ///     .offsets(Some(&offsets))
    ///     .include_last_offset(true)
    ///     .mode(BagMode::Sum)
    ///     .per_sample_weights(Some(&weights))
    ///     .padding_idx(Some(2))
    ///     .scale_grad_by_freq(true);
    /// let sums = embedding_bag(&indices, &table.tensor(), options)?;
    /// assert_eq!(sums.to_vec::<f32>()?, [17.0, 0.0]);
    /// sums.sum(..)?.backward()?;
    /// // Row 1 was looked up twice, with 1.5 in all, and row 2 is padding.
    /// assert_eq!(table.grad().unwrap().to_vec::<f32>()?, [2.0, 0.75, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct EmbeddingBagOptions<'a> {
        optional {
            /// Where each bag starts in a list of indices.
            offsets: Option<&'a Tensor> = None,
            /// How the rows of a bag are reduced.
            mode: BagMode = BagMode::Mean,
            /// The factor of each index, for sums.
            per_sample_weights: Option<&'a Tensor> = None,
            /// Whether the last offset is the end of the last bag.
            include_last_offset: bool = false,
            /// A row that does not count and gets no gradient.
            padding_idx: Option<usize> = None,
            /// Whether the gradient of a row is divided by the number of its look-ups.
            scale_grad_by_freq: bool = false,
        }
    }
}

const NAME: &str = "embedding_bag";

/// The rows of a table, looked up in bags and reduced to one row for each bag. An empty bag gives zeros.
///
/// # Shapes
///
/// A table `[count, width]` and indices `[bags, length]`, or a list of indices with the offsets `[bags]` at which bags
/// start, to `[bags, width]`.
///
/// # Errors
///
/// Indices that are not integers, not one- or two-dimensional, or out of range; offsets with two-dimensional indices, or
/// offsets that do not rise from 0 to at most the number of indices; weights whose shape differs from the indices', or with
/// a mode other than sum; `scale_grad_by_freq` with [`Max`](BagMode::Max).
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::{BagMode, EmbeddingBagOptions, embedding_bag}};
///
/// let table = Tensor::from([[1.0_f32], [10.0], [100.0]]);
/// let (indices, offsets) = (Tensor::from([0_i64, 1, 2]), Tensor::from([0_i64, 2]));
/// let (offsets, mode) = (Some(&offsets), BagMode::Sum);
/// let options = EmbeddingBagOptions::new().offsets(offsets).mode(mode);
/// assert_eq!(embedding_bag(&indices, &table, options)?.to_vec::<f32>()?, [11.0, 100.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn embedding_bag(
    input: &Tensor,
    weight: &Tensor,
    options: EmbeddingBagOptions<'_>,
) -> Result<Tensor> {
    let EmbeddingBagOptions {
        mode,
        per_sample_weights,
        padding_idx,
        ..
    } = options;
    check(input, options)?;
    let bags = Bags::new(input, options)?;
    let list = input
        .to_integers(NAME, Integers::Indices)?
        .reshape(input.numel())?;
    let mut rows = weight.embedding(&list, padding_idx)?;
    if options.scale_grad_by_freq {
        rows = by_frequency(rows, &list, weight.size(0)?)?;
    }
    let kept = match padding_idx {
        Some(row) => Some(list.ne(row as i64)?),
        None => None,
    };
    if mode == BagMode::Max {
        return bags.max(&rows, kept.as_ref());
    }
    if let Some(weights) = per_sample_weights {
        rows = rows.mul(&weights.reshape([list.numel(), 1])?)?;
    }
    if let Some(kept) = &kept {
        rows = kept.unsqueeze(1)?.where_(&rows, 0.0)?;
    }
    let sums = bags.sum(&rows)?;
    if mode == BagMode::Sum {
        return Ok(sums);
    }
    let counted = match kept {
        Some(kept) => kept.to_dtype(DType::F32)?,
        None => Tensor::ones(list.numel(), (DType::F32, &list.device()))?,
    };
    let counts = bags.sum(&counted.unsqueeze(1)?)?.clamp_min(1.0)?;
    sums.div(&counts.to_dtype(sums.dtype())?)
}

fn check(input: &Tensor, options: EmbeddingBagOptions<'_>) -> Result<()> {
    if !matches!(input.rank(), 1 | 2) {
        let expected = "indices of one or two dimensions";
        return Err(input.shape().error(NAME, expected));
    }
    if options.mode == BagMode::Max && options.scale_grad_by_freq {
        let problem = "is not available for mode = max";
        return Err(Error::argument(NAME, "scale_grad_by_freq", true, problem));
    }
    let Some(weights) = options.per_sample_weights else {
        return Ok(());
    };
    if options.mode != BagMode::Sum {
        let problem = "are available for mode = sum only";
        return Err(Error::argument(
            NAME,
            "per_sample_weights",
            weights.shape(),
            problem,
        ));
    }
    if weights.shape() != input.shape() {
        let (op, lhs, rhs) = (NAME, input.shape().clone(), weights.shape().clone());
        let rule = "there must be a weight for each index".to_owned();
        return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
    }
    Ok(())
}

/// The bag of each index.
struct Bags {
    count: usize,
    bag_of_index: Tensor,
}

impl Bags {
    fn new(input: &Tensor, options: EmbeddingBagOptions<'_>) -> Result<Self> {
        let EmbeddingBagOptions {
            offsets,
            include_last_offset,
            ..
        } = options;
        let wrong = |offsets: &Tensor, problem: String| {
            Err(Error::argument(NAME, "offsets", offsets.shape(), problem))
        };
        let (count, bag_of_index) = match (&**input.shape(), offsets) {
            (&[count, length], None) => {
                let bags = Tensor::arange(0, count as i64, ())?.unsqueeze(1)?;
                (
                    count,
                    bags.expand([count, length])?.reshape(count * length)?,
                )
            }
            (&[length], Some(offsets)) if offsets.rank() == 1 => {
                let starts = offsets.to_integers(NAME, Integers::Lengths)?;
                let starts = starts.to_vec::<i64>()?;
                let (&first, count) = match (starts.first(), starts.len()) {
                    (None, _) if include_last_offset => {
                        return wrong(offsets, "must name the end of the last bag".to_owned());
                    }
                    // No bags: nothing is looked up.
                    (None, _) => (&0, 0),
                    (Some(first), count) => (first, count - usize::from(include_last_offset)),
                };
                if first != 0 {
                    return wrong(offsets, format!("must start with 0, not {first}"));
                }
                let ends = starts.iter().copied().skip(1).chain([length as i64]);
                let mut bags = Vec::with_capacity(length);
                for (bag, (&start, end)) in starts.iter().zip(ends).enumerate() {
                    if !(start..=length as i64).contains(&end) {
                        let problem = format!(
                            "must rise to at most {length} indices, not from {start} to {end}"
                        );
                        return wrong(offsets, problem);
                    }
                    bags.extend((start..end).map(|_| bag as i64));
                }
                (count, Tensor::from_vec(bags, [length])?)
            }
            (&[_], Some(offsets)) => return wrong(offsets, "must have one dimension".to_owned()),
            (_, Some(offsets)) => {
                let problem = "must be absent with indices of two dimensions, which are bags";
                return wrong(offsets, problem.to_owned());
            }
            (_, None) => {
                let problem = "are missing with a list of indices";
                return Err(Error::argument(NAME, "offsets", "None", problem));
            }
        };
        let bag_of_index = bag_of_index.to_device(&input.device())?;
        Ok(Self {
            count,
            bag_of_index,
        })
    }

    /// The sum of the rows of each bag.
    fn sum(&self, rows: &Tensor) -> Result<Tensor> {
        let zeros = Tensor::zeros([self.count, rows.size(1)?], (rows.dtype(), &rows.device()))?;
        zeros.index_add(0, &self.bag_of_index, rows)
    }

    /// The maximum of each column of each bag, the first of several.
    fn max(&self, rows: &Tensor, kept: Option<&Tensor>) -> Result<Tensor> {
        let (device, width) = (rows.device(), rows.size(1)?);
        let values = rows.detach().to_dtype(DType::F64)?.to_vec::<f64>()?;
        let bags = self.bag_of_index.to_vec::<i64>()?;
        let kept = kept.map(Tensor::to_vec::<bool>).transpose()?;
        let places = Tensor::zeros([self.count, width], (DType::I64, &device))?;
        let mut places = places.to_vec::<i64>()?;
        let mut filled = vec![false; self.count];
        let rows_of = values.chunks_exact(width.max(1)).zip(&bags).enumerate();
        for (place, (row, &bag)) in rows_of {
            let Ok(bag) = usize::try_from(bag) else {
                continue;
            };
            if kept.as_ref().is_some_and(|kept| !kept[place]) {
                continue;
            }
            let best = &mut places[bag * width..(bag + 1) * width];
            for (column, (best, value)) in best.iter_mut().zip(row).enumerate() {
                if !filled[bag] || *value > values[*best as usize * width + column] {
                    *best = place as i64;
                }
            }
            filled[bag] = true;
        }
        if values.is_empty() {
            return self.sum(rows);
        }
        let places = Tensor::from_vec(places, [self.count, width])?.to_device(&device)?;
        let filled = Tensor::from_vec(filled, [self.count, 1])?.to_device(&device)?;
        filled.where_(&rows.gather(0, &places)?, 0.0)
    }
}

/// These rows of a table, looked up by a list of indices; the gradient of each row is divided by how often it occurs in the
/// list.
pub(crate) fn by_frequency(rows: Tensor, list: &Tensor, count: usize) -> Result<Tensor> {
    let device = list.device();
    let ones = Tensor::ones(list.numel(), (DType::F64, &device))?;
    let counts = Tensor::zeros(count, (DType::F64, &device))?.index_add(0, list, &ones)?;
    let share = counts.index_select(0, list)?.reciprocal()?.unsqueeze(1)?;
    let share = share.to_dtype(rows.dtype())?;
    Ok(rows.detach().record([&rows], |_| ByFrequency { share }))
}

struct ByFrequency {
    share: Tensor,
}

impl Function for ByFrequency {
    fn name(&self) -> &'static str {
        "scale_grad_by_freq"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        Ok([Some(ctx.grad().mul(&self.share)?)].into_iter().collect())
    }
}
