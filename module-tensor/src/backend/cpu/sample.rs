//! Sampling of images between pixels, at locations given by tensors.

mod blocks;
mod grid;
mod images;
mod kernels;
mod lanes;
mod neighbors;
mod plane;
mod rows;
mod weights;

pub(super) use self::grid::{grid_sample, grid_sample_backward};

use self::blocks::{Sample, Source};
use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::view::to_row_major;
use super::{CpuStorage, Operand, SampleGeometry, SampleOp, Storage};
use crate::Result;

pub(super) fn sample(
    op: SampleOp,
    a: &Operand,
    b: &Operand,
    locations: &Operand,
    geometry: &SampleGeometry,
) -> Result<Storage> {
    let operands = Operands {
        op,
        a,
        b,
        locations,
        geometry,
    };
    run_float(a.storage.dtype(), operands)
}

struct Operands<'a> {
    op: SampleOp,
    a: &'a Operand,
    b: &'a Operand,
    locations: &'a Operand,
    geometry: &'a SampleGeometry,
}

impl FloatKernel for Operands<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "sample"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let locations = to_row_major::<T>(self.locations)?;
        let (a, b) = (to_row_major::<T>(self.a)?, to_row_major::<T>(self.b)?);
        let weights: &[T] = match self.op {
            SampleOp::Forward | SampleOp::Input => &b,
            SampleOp::Weight => &[],
        };
        let source = Source::Given {
            locations: &locations,
            weights,
        };
        let sample = Sample::new(source, self.geometry)?;
        let out = match self.op {
            SampleOp::Forward => sample.forward(&a),
            SampleOp::Input => sample.input_gradient(&a),
            SampleOp::Weight => sample.weight_gradient(&a, &b),
        };
        Ok(CpuStorage::wrap(out?))
    }
}
