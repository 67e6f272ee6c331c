//! Rows by name, and their timing.

use std::collections::BTreeMap;
use std::hint::black_box;

use candle_core::{Device, Result, Tensor, Var};

use crate::median_time::median_time;

pub const CPU: Device = Device::Cpu;

/// One run of a row's work.
pub type Work = Box<dyn FnMut() -> Result<()>>;

enum Row {
    New(Box<dyn FnOnce() -> Result<Work>>),
    Made(Work),
}

/// The rows by name.
#[derive(Default)]
pub struct Rows(BTreeMap<String, Option<Row>>);

impl Rows {
    /// Adds a row; `make` prepares its tensors and returns the work to measure.
    pub fn add(&mut self, name: impl Into<String>, make: impl FnOnce() -> Result<Work> + 'static) {
        self.0.insert(name.into(), Some(Row::New(Box::new(make))));
    }

    /// Adds `f` of random tensors of these shapes, without a graph, and with the gradients of all of them.
    pub fn both(&mut self, name: &str, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Result<Tensor> + Copy + 'static) {
        let shapes: Vec<Vec<usize>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        let of_backward = shapes.clone();
        self.add(name, move || {
            let inputs = shapes.iter().map(|shape| randn(shape)).collect::<Result<Vec<_>>>()?;
            work(move || f(&inputs))
        });
        self.add(format!("{name}, and backward"), move || {
            let leaf = |shape: &Vec<usize>| Ok(Var::from_tensor(&randn(shape)?)?.as_tensor().clone());
            let inputs = of_backward.iter().map(leaf).collect::<Result<Vec<_>>>()?;
            work(move || f(&inputs)?.sum_all()?.backward())
        });
    }

    /// The names, in order.
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// The median microseconds of the row's work, run for this long; `None` for an unknown row.
    pub fn measure(&mut self, name: &str, milliseconds: f64) -> Result<Option<f64>> {
        let Some(slot) = self.0.get_mut(name) else {
            return Ok(None);
        };
        let mut work = match slot.take() {
            Some(Row::New(make)) => {
                let mut work = make()?;
                work()?;
                work
            }
            Some(Row::Made(work)) => work,
            None => return Ok(None),
        };
        let micros = median_time(&mut *work, milliseconds * 1e3)?;
        *slot = Some(Row::Made(work));
        Ok(Some(micros))
    }
}

/// Boxes the work of a row.
pub fn work<T>(mut work: impl FnMut() -> Result<T> + 'static) -> Result<Work> {
    Ok(Box::new(move || work().map(|value| drop(black_box(value)))))
}

/// Random elements.
pub fn randn(shape: &[usize]) -> Result<Tensor> {
    Tensor::randn(0_f32, 1_f32, shape, &CPU)
}
