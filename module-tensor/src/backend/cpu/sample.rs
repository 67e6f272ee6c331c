//! Sampling of images between pixels, at locations given by tensors.
//!
//! Many channels are read pixel by pixel, in vectors of them; few channels are read one after the other, in vectors of
//! locations.

mod blocks;
mod neighbors;
mod pixels;
mod planes;

use self::blocks::Sample;
use self::neighbors::Neighbors;
use self::pixels::LANES;
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
        let Self { op, a, b, .. } = self;
        let locations = to_row_major::<T>(self.locations)?;
        let sample = Sample {
            neighbors: Neighbors::new(&locations, self.geometry)?,
            geometry: self.geometry,
        };
        let channels = self.geometry.channels;
        let out = match channels > 0 && channels.is_multiple_of(LANES) {
            true => pixels::compute(&sample, op, a, b),
            false => planes::compute(&sample, op, a, b),
        };
        Ok(CpuStorage::wrap(out?))
    }
}
