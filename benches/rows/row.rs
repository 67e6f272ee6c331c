//! Rows by name, and their timing.

use std::sync::OnceLock;

use module_nn::prelude::*;
use module_nn::{BackwardOptions, IndexMap};

use super::median_time::median_time;

/// One run of a row's work.
pub type Work = Box<dyn FnMut() -> Result<()>>;

/// A row's work, or the function that prepares it.
enum Row {
    New(Box<dyn FnOnce() -> Result<Work>>),
    Made(Work),
}

/// The rows, in order.
#[derive(Default)]
pub struct Rows(IndexMap<String, Option<Row>>);

impl Rows {
    /// Adds a row; `make` prepares its tensors and returns the work to measure.
    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        make: impl FnOnce() -> Result<Work> + 'static,
    ) {
        self.0.insert(name.into(), Some(Row::New(Box::new(make))));
    }

    /// Adds `f` of random tensors of these shapes, without a graph, and with the gradients of all of them.
    pub(crate) fn both(
        &mut self,
        name: &str,
        shapes: &[&[usize]],
        f: impl Fn(&[Tensor]) -> Result<Tensor> + Clone + 'static,
    ) {
        let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        self.both_of(
            name,
            move || shapes.iter().map(|shape| randn(shape)).collect(),
            f,
        );
    }

    /// The same with tensors from `inputs`.
    pub(crate) fn both_of(
        &mut self,
        name: &str,
        inputs: impl Fn() -> Result<Vec<Tensor>> + Clone + 'static,
        f: impl Fn(&[Tensor]) -> Result<Tensor> + Clone + 'static,
    ) {
        let (forward, make) = (f.clone(), inputs.clone());
        self.add(name, move || {
            let inputs = make()?;
            work(move || no_grad(|| forward(&inputs)).map(drop))
        });
        self.backward_of(name, inputs, f);
    }

    /// Adds `f` of tensors from `inputs` with the gradients of all that are floating-point.
    pub(crate) fn backward_of(
        &mut self,
        name: &str,
        inputs: impl Fn() -> Result<Vec<Tensor>> + 'static,
        f: impl Fn(&[Tensor]) -> Result<Tensor> + 'static,
    ) {
        self.add(format!("{name}, and backward"), move || {
            let leaves = inputs()?
                .iter()
                .map(|x| match x.dtype().is_floating_point() {
                    true => x.with_grad(),
                    false => Ok(x.clone()),
                })
                .collect::<Result<Vec<_>>>()?;
            let grad = no_grad(|| f(&leaves)?.ones_like())?;
            work(move || {
                leaves.iter().for_each(Tensor::zero_grad);
                cleared();
                f(&leaves)?.backward_with(&grad, BackwardOptions::default())
            })
        });
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// The work of a row, which has run once; `None` if there is no such row, or if its work has been taken before.
    ///
    /// # Errors
    ///
    /// Those of the work.
    pub fn take(&mut self, name: &str) -> Result<Option<Work>> {
        let is_new = matches!(self.0.get(name), Some(Some(Row::New(_))));
        let mut work = self.take_new(name)?;
        if let Some(work) = work.as_mut().filter(|_| is_new) {
            work()?;
        }
        Ok(work)
    }

    /// [`take`](Self::take) without the first run.
    ///
    /// # Errors
    ///
    /// Those of preparing the work.
    pub fn take_new(&mut self, name: &str) -> Result<Option<Work>> {
        match self.0.get_mut(name).and_then(Option::take) {
            Some(Row::New(make)) => make().map(Some),
            Some(Row::Made(work)) => Ok(Some(work)),
            None => Ok(None),
        }
    }

    /// The median microseconds of the row's work, run for this long; `None` for an unknown row.
    ///
    /// # Errors
    ///
    /// Those of the work.
    pub fn time(&mut self, name: &str, milliseconds: f64) -> Result<Option<f64>> {
        let Some(mut work) = self.take(name)? else {
            return Ok(None);
        };
        let micros = median_time(&mut *work, milliseconds * 1e3)?;
        self.0.insert(name.to_owned(), Some(Row::Made(work)));
        Ok(Some(micros))
    }
}

static WHEN_CLEARED: OnceLock<fn()> = OnceLock::new();

/// Lets each run of a training row call `f` after it has dropped the gradients of the run before: only parameters, inputs
/// and the optimizer's state are left then. Only the first function is called.
pub fn when_cleared(f: fn()) {
    WHEN_CLEARED.get_or_init(|| f);
}

/// Says that the gradients of the run before are dropped.
fn cleared() {
    if let Some(f) = WHEN_CLEARED.get() {
        f();
    }
}

/// Drops the gradients of a model and of its inputs.
pub(crate) fn clear<const N: usize>(model: &impl Module, inputs: [&Tensor; N]) {
    model.zero_grad();
    inputs.into_iter().for_each(Tensor::zero_grad);
    cleared();
}

/// Boxes the work of a row.
pub(crate) fn work(work: impl FnMut() -> Result<()> + 'static) -> Result<Work> {
    Ok(Box::new(work))
}

/// Random elements.
pub(crate) fn randn(shape: &[usize]) -> Result<Tensor> {
    Tensor::randn(shape, DType::F32)
}
