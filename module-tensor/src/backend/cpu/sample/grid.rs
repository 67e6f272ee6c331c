//! Sampling at the locations of a grid.

use super::super::float::Float;
use super::super::map::{FloatKernel, run_float};
use super::super::view::to_row_major;
use super::super::{CpuStorage, GridSampleGeometry, Operand, Storage};
use super::blocks::{Sample, Source};
use super::weights::Axis;
use crate::{Error, Result};

pub(in super::super) fn grid_sample(
    x: &Operand,
    grid: &Operand,
    geometry: &GridSampleGeometry,
) -> Result<Storage> {
    let forward = Forward { x, grid, geometry };
    run_float(x.storage.dtype(), forward)
}

pub(in super::super) fn grid_sample_backward(
    grad: &Operand,
    x: &Operand,
    grid: &Operand,
    needs: [bool; 2],
    geometry: &GridSampleGeometry,
) -> Result<[Option<Storage>; 2]> {
    let forward = Forward { x, grid, geometry };
    let backward = Gradients {
        forward,
        grad,
        needs,
    };
    run_float(x.storage.dtype(), backward)
}

struct Forward<'a> {
    x: &'a Operand,
    grid: &'a Operand,
    geometry: &'a GridSampleGeometry,
}

struct Gradients<'a> {
    forward: Forward<'a>,
    grad: &'a Operand,
    needs: [bool; 2],
}

impl Forward<'_> {
    /// Calls `f` with what samples.
    fn with_sample<T: Float, R>(&self, f: impl FnOnce(&Sample<'_, T>) -> Result<R>) -> Result<R> {
        let dims = self.geometry.sizes.len();
        if !(2..=3).contains(&dims) {
            let problem = "must be 2 or 3";
            return Err(Error::argument("grid_sample", "dimensions", dims, problem));
        }
        let grid = to_row_major::<T>(self.grid)?;
        let source = Source::Grid {
            grid: &grid,
            axes: Axis::all(self.geometry),
        };
        f(&Sample::new(source, &self.geometry.neighbors())?)
    }
}

impl FloatKernel for Forward<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "grid_sample"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let x = to_row_major::<T>(self.x)?;
        let out = self.with_sample(|sample| sample.forward(&x));
        Ok(CpuStorage::wrap(out?))
    }
}

impl FloatKernel for Gradients<'_> {
    type Output = [Option<Storage>; 2];

    fn name(&self) -> &'static str {
        "grid_sample"
    }

    fn run<T: Float>(self) -> Result<Self::Output> {
        let grad = to_row_major::<T>(self.grad)?;
        let [of_x, of_grid] = self.needs;
        self.forward.with_sample(|sample| {
            let x = of_x.then(|| sample.input_gradient(&grad)).transpose()?;
            let grid = of_grid.then(|| {
                let x = to_row_major::<T>(self.forward.x)?;
                sample.grid_gradient(&x, &grad)
            });
            let grid = grid.transpose()?;
            Ok([x.map(CpuStorage::wrap), grid.map(CpuStorage::wrap)])
        })
    }
}
