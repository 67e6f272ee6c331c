//! The totals that metrics accumulate, and how they are saved.

use module_core::{Error, Result, StateDict, Tensor};

use super::Task;
use crate::config::check_bytes_fit;

/// The data of a metric, in a form that can be saved and merged.
pub(super) trait Totals: Sized {
    fn tensors(&self) -> Result<StateDict>;

    /// Reads the data from tensors, which must match this metric.
    fn read(&self, op: &'static str, tensors: &StateDict) -> Result<Self>;

    fn merge(&mut self, other: Self) -> Result<()>;

    fn reset(&mut self);
}

/// `N` lists of named numbers, which add up element by element. Counts are exact up to 2⁵³.
#[derive(Clone, Debug)]
pub(super) struct Sums<const N: usize> {
    names: [&'static str; N],
    pub(super) of: [Vec<f64>; N],
}

impl<const N: usize> Sums<N> {
    /// Zeros, `len` of each name.
    pub(super) fn new(names: [&'static str; N], len: usize) -> Self {
        let of = std::array::from_fn(|_| vec![0.0; len]);
        Self { names, of }
    }

    /// This many zeros for each name, if they fit in memory; `None` stands for more than can be counted.
    pub(super) fn of_classes(
        metric: &'static str,
        task: Task,
        names: [&'static str; N],
        len: Option<usize>,
    ) -> Result<Self> {
        // The sums, others to merge with them, and a result with as many numbers.
        let bytes = len.and_then(|len| len.checked_mul(3 * N * size_of::<f64>()));
        check_bytes_fit(metric, "num_classes", task.num_classes(), bytes)?;
        Ok(Self::new(names, len.unwrap_or_default()))
    }
}

impl<const N: usize> Totals for Sums<N> {
    fn tensors(&self) -> Result<StateDict> {
        let named = self.names.iter().zip(&self.of);
        let tensors = named.map(|(name, values)| {
            let tensor = Tensor::from_vec(values.clone(), values.len())?;
            Ok(((*name).to_owned(), tensor))
        });
        tensors.collect()
    }

    fn read(&self, op: &'static str, tensors: &StateDict) -> Result<Self> {
        let mut read = self.clone();
        for (name, values) in self.names.iter().zip(&mut read.of) {
            let found = numbers(op, name, tensors)?;
            if found.len() != values.len() {
                let problem = format!("there must be {} numbers", values.len());
                return Err(Error::argument(op, name, found.len(), problem));
            }
            *values = found;
        }
        Ok(read)
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        for (values, more) in self.of.iter_mut().zip(other.of) {
            for (value, more) in values.iter_mut().zip(more) {
                *value += more;
            }
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.of.iter_mut().for_each(|values| values.fill(0.0));
    }
}

/// The numbers under a name.
pub(super) fn numbers(
    op: &'static str,
    name: &'static str,
    tensors: &StateDict,
) -> Result<Vec<f64>> {
    let Some(tensor) = tensors.get(name) else {
        let keys: Vec<&str> = tensors.keys().collect();
        let problem = "the state has no such tensor";
        return Err(Error::argument(op, name, format_args!("{keys:?}"), problem));
    };
    tensor.to_vec()
}
