use std::sync::Arc;

use module_core::{Error, Result, rng::Generator};

use super::{DataError, Dataset, Subset, draw};

/// How to divide a data set: by numbers of samples, or by fractions. Arrays and `Vec`s of `usize` and of `f64` convert to
/// it.
///
/// # Example
///
/// ```
/// use module_nn::Generator;
/// use module_nn::data::{Dataset, SplitLengths, random_split};
/// use module_nn::prelude::*;
///
/// let lengths = SplitLengths::from([0.5, 0.5]);
/// assert_eq!(lengths, SplitLengths::Fractions(vec![0.5, 0.5]));
/// let parts = random_split(vec!['a', 'b', 'c'], lengths, &Generator::new(0))?;
/// assert_eq!([parts[0].len(), parts[1].len()], [2, 1]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SplitLengths {
    /// The number of samples of each part.
    Counts(Vec<usize>),
    /// The fraction of the samples that each part gets.
    Fractions(Vec<f64>),
}

macro_rules! lengths_from {
    ($($type:ty => $variant:ident)+) => {$(
        impl From<Vec<$type>> for SplitLengths {
            fn from(lengths: Vec<$type>) -> Self {
                Self::$variant(lengths)
            }
        }

        impl<const N: usize> From<[$type; N]> for SplitLengths {
            fn from(lengths: [$type; N]) -> Self {
                Self::$variant(lengths.into())
            }
        }
    )+};
}

lengths_from! { usize => Counts f64 => Fractions }

/// Divides a data set at random into disjoint parts: PyTorch's `random_split`, with its order for a seed.
///
/// A part with the fraction `f` of `n` samples gets `floor(f * n)`. The remaining samples go to the parts one by one,
/// starting with the first. One permutation is drawn from the generator; PyTorch's default argument is
/// [`default_generator()`](module_core::rng::default_generator).
///
/// # Errors
///
/// [`DataError::SplitLengths`] for counts that do not add up to the length of the data set; a fraction outside 0 to 1;
/// fractions that do not add up to 1.
///
/// # Example
///
/// ```
/// use module_nn::data::{Dataset, random_split};
/// use module_nn::{Generator, prelude::*};
///
/// let dataset: Vec<usize> = (0..10).collect();
/// let parts = random_split(dataset.clone(), [0.75, 0.25], &Generator::new(0))?;
/// assert_eq!([parts[0].len(), parts[1].len()], [8, 2]);
/// let error = random_split(dataset, [3, 8], &Generator::new(0)).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "random_split: lengths [3, 8] add up to 11, and the data set has 10 samples"
/// );
/// # Ok::<(), Error>(())
/// ```
pub fn random_split<D: Dataset>(
    dataset: D,
    lengths: impl Into<SplitLengths>,
    generator: &Generator,
) -> Result<Vec<Subset<Arc<D>>>> {
    let lengths = counts(lengths.into(), dataset.len())?;
    let mut order = draw::permutation(generator, dataset.len())?.into_iter();
    let dataset = Arc::new(dataset);
    let parts = lengths.into_iter().map(|length| {
        let indices: Vec<usize> = order.by_ref().take(length).collect();
        Subset::new(dataset.clone(), indices)
    });
    parts.collect()
}

/// The number of samples of each part.
fn counts(lengths: SplitLengths, len: usize) -> Result<Vec<usize>> {
    let counts = match lengths {
        SplitLengths::Counts(counts) => counts,
        SplitLengths::Fractions(fractions) => of_fractions(&fractions, len)?,
    };
    let total = counts
        .iter()
        .try_fold(0_usize, |sum, &n| sum.checked_add(n));
    if total != Some(len) {
        let lengths = counts;
        return Err(DataError::SplitLengths { lengths, len }.into());
    }
    Ok(counts)
}

fn of_fractions(fractions: &[f64], len: usize) -> Result<Vec<usize>> {
    let fail = |value: f64, problem: String| {
        let error = Error::argument("random_split", "fraction", value, problem);
        Err(error)
    };
    for (part, &fraction) in fractions.iter().enumerate() {
        if !(0.0..=1.0).contains(&fraction) {
            return fail(fraction, format!("of part {part} must be between 0 and 1"));
        }
    }
    let sum: f64 = fractions.iter().sum();
    if (sum - 1.0).abs() > 1e-9 {
        return fail(sum, format!("the fractions {fractions:?} must add up to 1"));
    }
    let floors = fractions.iter().map(|f| (len as f64 * f).floor() as usize);
    let mut counts: Vec<usize> = floors.collect();
    let left = len.saturating_sub(counts.iter().sum());
    let parts = counts.len();
    for (part, count) in counts.iter_mut().enumerate() {
        *count += left / parts + usize::from(part < left % parts);
    }
    Ok(counts)
}
