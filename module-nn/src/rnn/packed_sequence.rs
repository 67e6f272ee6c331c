use module_core::hooks::Tensors;
use module_core::{DType, Error, Result, Tensor};

/// Sequences of different lengths, step by step without padding: an input of recurrent layers instead of a padded tensor.
///
/// The first rows of the data are the first step of every sequence, the longest sequence first, then the second step of
/// those that have one, and so on.
///
/// # Example
///
/// ```
/// use module_nn::{DType, Tensor};
/// use module_nn::rnn::{PackOptions, PackedSequence, pack_padded_sequence, pack_sequence};
///
/// let packed = pack_sequence(&[Tensor::from([1_i64, 2, 3]), Tensor::from([4_i64, 5])])?;
/// assert_eq!(packed.data().to_vec::<i64>()?, [1, 4, 2, 5, 3]);
/// assert_eq!(packed.batch_sizes(), [2, 2, 1]);
///
/// // Sequences that are not sorted, and other rows for their steps, such as embeddings.
/// let options = PackOptions::new().batch_first(true).enforce_sorted(false);
/// let ids = Tensor::from([[1_i64, 0, 0], [2, 3, 4]]);
/// let packed: PackedSequence = pack_padded_sequence(&ids, [1, 3], options)?;
/// assert_eq!(packed.sorted_indices().unwrap().to_vec::<i64>()?, [1, 0]);
/// assert_eq!(packed.unsorted_indices().unwrap().to_vec::<i64>()?, [1, 0]);
/// let vectors = packed.with_data(packed.data().one_hot(5)?)?;
/// assert_eq!(vectors.data().shape().to_string(), "[4, 5]");
/// assert_eq!(vectors.to_dtype(DType::F64)?.data().dtype(), DType::F64);
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PackedSequence {
    data: Tensor,
    batch_sizes: Vec<usize>,
    orders: Option<[Tensor; 2]>,
}

impl PackedSequence {
    /// From rows `[Σ batch_sizes, …]`, the number of sequences that have each step, and the original position of each
    /// packed sequence, if they were sorted by length.
    ///
    /// # Errors
    ///
    /// Sizes that increase, are 0 or do not sum up to the rows; indices that are not a permutation.
    pub fn new(
        data: Tensor,
        batch_sizes: impl Into<Vec<usize>>,
        sorted_indices: Option<Tensor>,
    ) -> Result<Self> {
        const NAME: &str = "PackedSequence";
        let batch_sizes = batch_sizes.into();
        let falls = batch_sizes.windows(2).all(|pair| pair[0] >= pair[1]);
        if !falls || batch_sizes.is_empty() || batch_sizes.contains(&0) {
            let problem =
                "there must be one for each step, at least 1 and none above the one before";
            let sizes = format!("{batch_sizes:?}");
            return Err(Error::argument(NAME, "batch_sizes", sizes, problem));
        }
        let sum = batch_sizes
            .iter()
            .try_fold(0_usize, |sum, &size| sum.checked_add(size));
        if data.rank() == 0 || sum != Some(data.size(0)?) {
            let expected = format!("a row for each of the batch_sizes {batch_sizes:?}");
            return Err(data.shape().error(NAME, expected));
        }
        let orders = match sorted_indices {
            Some(sorted) if sorted.numel() != batch_sizes[0] => {
                let expected = format!("an index for each of {} sequences", batch_sizes[0]);
                return Err(sorted.shape().error(NAME, expected));
            }
            Some(sorted) => {
                let unsorted = invert_permutation(&sorted)?;
                Some([sorted, unsorted])
            }
            None => None,
        };
        Ok(Self {
            data,
            batch_sizes,
            orders,
        })
    }

    /// The rows of all steps.
    pub fn data(&self) -> &Tensor {
        &self.data
    }

    /// The number of sequences that have each step.
    pub fn batch_sizes(&self) -> &[usize] {
        &self.batch_sizes
    }

    /// The original position of each packed sequence, if they were sorted by length.
    pub fn sorted_indices(&self) -> Option<&Tensor> {
        self.orders.as_ref().map(|[sorted, _]| sorted)
    }

    /// The position of each sequence among the packed ones, if they were sorted by length.
    pub fn unsorted_indices(&self) -> Option<&Tensor> {
        self.orders.as_ref().map(|[_, unsorted]| unsorted)
    }

    /// The lengths of the sequences in their original order.
    pub(super) fn lengths(&self) -> Result<Vec<usize>> {
        let mut lengths = vec![0; self.batch_sizes[0]];
        for &size in &self.batch_sizes {
            lengths[..size].iter_mut().for_each(|length| *length += 1);
        }
        match self.unsorted_indices() {
            Some(unsorted) => {
                let unsorted = unsorted.to_vec::<i64>()?;
                Ok(unsorted.iter().map(|&i| lengths[i as usize]).collect())
            }
            None => Ok(lengths),
        }
    }

    /// The same sequences with other rows, such as their embeddings.
    ///
    /// # Errors
    ///
    /// A different number of rows.
    pub fn with_data(&self, data: Tensor) -> Result<Self> {
        if data.rank() == 0 || data.size(0)? != self.data.size(0)? {
            let expected = format!("{} rows", self.data.size(0)?);
            return Err(data.shape().error("PackedSequence", expected));
        }
        Ok(Self {
            data,
            ..self.clone()
        })
    }

    /// The same sequences with their rows cast.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::to_dtype`].
    pub fn to_dtype(&self, dtype: DType) -> Result<Self> {
        self.with_data(self.data.to_dtype(dtype)?)
    }
}

/// Hooks see the rows.
impl Tensors for PackedSequence {
    fn for_each(&self, f: &mut dyn FnMut(&Tensor)) {
        f(&self.data);
    }

    fn for_each_mut(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        f(&mut self.data);
    }
}

/// The permutation that undoes another: `y[x[i]] = i`.
///
/// # Errors
///
/// Indices that are not `I64` with one dimension, or not a permutation.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, rnn::invert_permutation};
///
/// let order = invert_permutation(&Tensor::from([2_i64, 0, 1]))?;
/// assert_eq!(order.to_vec::<i64>()?, [1, 2, 0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn invert_permutation(permutation: &Tensor) -> Result<Tensor> {
    const NAME: &str = "invert_permutation";
    if permutation.rank() != 1 {
        return Err(permutation.shape().error(NAME, "one dimension"));
    }
    let given = permutation.to_vec::<i64>()?;
    let mut inverse: Vec<Option<i64>> = vec![None; given.len()];
    for (i, &place) in given.iter().enumerate() {
        let slot = usize::try_from(place).ok().and_then(|p| inverse.get_mut(p));
        match slot {
            Some(slot @ None) => *slot = Some(i as i64),
            _ => {
                let problem = format!("must stand once among 0 to {}", given.len() - 1);
                return Err(Error::argument(NAME, "permutation", place, problem));
            }
        }
    }
    let inverse: Vec<i64> = inverse.into_iter().flatten().collect();
    Tensor::from_vec(inverse, given.len())?.to_device(&permutation.device())
}
