use module_core::{Error, IndexMap, Result, Tensor};

use super::DataError;

/// A sample that [`DefaultCollate`](super::DefaultCollate) can batch, like PyTorch's `default_collate`.
///
/// | samples | batch |
/// |---|---|
/// | tensors of the same shape, dtype and device | stacked along a new first dimension |
/// | numbers and `bool` | a one-dimensional tensor of their dtype; `I64` for `usize` and `u32` |
/// | tuples of up to six | the tuple of the batches |
/// | `Vec` of equal length | a batch for each position |
/// | `IndexMap<String, _>` with equal keys | a batch for each key |
/// | `String`, `&'static str` | a `Vec` of them |
///
/// PyTorch makes `float64` from Python's numbers, which have only one kind; here `f32` stays `f32`.
///
/// # Example
///
/// ```
/// use module_nn::data::Sample;
/// use module_nn::prelude::*;
///
/// let samples = vec![(Tensor::from([1.0_f32, 2.0]), 5_i64), (Tensor::from([3.0_f32, 4.0]), 6)];
/// let (x, y) = Sample::collate(samples)?;
/// assert_eq!((x.shape().to_string(), y.to_vec::<i64>()?), ("[2, 2]".to_owned(), vec![5, 6]));
///
/// let other = vec![Tensor::from([1.0_f32]), Tensor::from([2.0_f32, 3.0])];
/// assert_eq!(
///     Sample::collate(other).unwrap_err().to_string(),
///     "collate: sample 1 of the batch has shape [2], and sample 0 has [1]; make them equal, or set `collate_fn`"
/// );
/// # Ok::<(), Error>(())
/// ```
pub trait Sample: Sized {
    /// Several samples combined.
    type Batch: Send;

    /// Makes one batch from samples, in order.
    ///
    /// # Errors
    ///
    /// [`DataError::Sample`] for one that does not match the first; [`DataError::Empty`] without samples.
    fn collate(samples: Vec<Self>) -> Result<Self::Batch>;
}

fn empty() -> Error {
    let (op, what) = ("collate", "samples in the batch");
    DataError::Empty { op, what }.into()
}

/// Refuses the first sample that differs from sample 0 in a property.
fn same<T, P: PartialEq>(
    samples: &[T],
    what: &'static str,
    part: impl Fn(&T) -> P,
    print: impl Fn(&P) -> String,
) -> Result<()> {
    let expected = part(samples.first().ok_or_else(empty)?);
    let mut others = samples.iter().map(part).enumerate();
    match others.find(|(_, found)| *found != expected) {
        Some((sample, found)) => Err(DataError::Sample {
            sample,
            what,
            found: print(&found),
            expected: print(&expected),
        }
        .into()),
        None => Ok(()),
    }
}

impl Sample for Tensor {
    type Batch = Tensor;

    fn collate(samples: Vec<Self>) -> Result<Tensor> {
        same(&samples, "shape", |x| x.shape().clone(), |s| s.to_string())?;
        same(&samples, "dtype", |x| x.dtype(), |d| d.to_string())?;
        same(&samples, "device", |x| x.device(), |d| d.to_string())?;
        Tensor::stack(&samples, 0)
    }
}

macro_rules! numbers {
    ($($type:ty)+) => {$(
        impl Sample for $type {
            type Batch = Tensor;

            fn collate(samples: Vec<Self>) -> Result<Tensor> {
                match samples.is_empty() {
                    true => Err(empty()),
                    false => Ok(samples.into()),
                }
            }
        }
    )+};
}

numbers! { f32 f64 i64 i32 i16 i8 u8 bool u32 }

impl Sample for usize {
    type Batch = Tensor;

    fn collate(samples: Vec<Self>) -> Result<Tensor> {
        let all = samples.into_iter().map(|value| {
            i64::try_from(value).map_err(|_| {
                let problem = "is more than int64 holds";
                Error::argument("collate", "value", value, problem)
            })
        });
        i64::collate(all.collect::<Result<_>>()?)
    }
}

macro_rules! kept {
    ($($type:ty)+) => {$(
        impl Sample for $type {
            type Batch = Vec<Self>;

            fn collate(samples: Vec<Self>) -> Result<Vec<Self>> {
                match samples.is_empty() {
                    true => Err(empty()),
                    false => Ok(samples),
                }
            }
        }
    )+};
}

kept! { String &'static str }

impl<T: Sample> Sample for Vec<T> {
    type Batch = Vec<T::Batch>;

    fn collate(samples: Vec<Self>) -> Result<Self::Batch> {
        same(&samples, "length", Vec::len, usize::to_string)?;
        let (count, length) = (samples.len(), samples.first().map_or(0, Vec::len));
        let mut columns: Vec<Vec<T>> = Vec::new();
        columns.resize_with(length, || Vec::with_capacity(count));
        for sample in samples {
            for (column, value) in columns.iter_mut().zip(sample) {
                column.push(value);
            }
        }
        columns.into_iter().map(T::collate).collect()
    }
}

impl<T: Sample> Sample for IndexMap<String, T> {
    type Batch = IndexMap<String, T::Batch>;

    fn collate(samples: Vec<Self>) -> Result<Self::Batch> {
        let keys = |sample: &Self| {
            let mut keys: Vec<String> = sample.keys().cloned().collect();
            keys.sort();
            keys
        };
        same(&samples, "keys", keys, |keys| format!("{keys:?}"))?;
        let mut columns: IndexMap<String, Vec<T>> = IndexMap::new();
        for (key, value) in samples.into_iter().flatten() {
            columns.entry(key).or_default().push(value);
        }
        let columns = columns.into_iter();
        let batches = columns.map(|(key, column)| Ok((key, T::collate(column)?)));
        batches.collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident $column:ident)+))+) => {$(
        impl<$($name: Sample),+> Sample for ($($name,)+) {
            type Batch = ($($name::Batch,)+);

            #[allow(non_snake_case)]
            fn collate(samples: Vec<Self>) -> Result<Self::Batch> {
                $(let mut $column = Vec::with_capacity(samples.len());)+
                for ($($name,)+) in samples {
                    $($column.push($name);)+
                }
                Ok(($($name::collate($column)?,)+))
            }
        }
    )+};
}

tuples! {
    (A a)
    (A a B b)
    (A a B b C c)
    (A a B b C c D d)
    (A a B b C c D d E e)
    (A a B b C c D d E e F f)
}
