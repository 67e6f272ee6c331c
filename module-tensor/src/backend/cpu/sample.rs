//! Sampling of images between pixels, at locations given by tensors.
//!
//! Many channels are read pixel by pixel, in vectors of them; few channels are read one after the other, in vectors of
//! locations.

mod neighbors;
mod pixels;
mod planes;

use std::ops::Range;

use self::neighbors::{BLOCK, NOWHERE, Neighbors};
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

struct Sample<'a, T> {
    neighbors: Neighbors<'a, T>,
    geometry: &'a SampleGeometry,
}

impl<T: Float> Sample<'_, T> {
    fn sizes(&self) -> (usize, usize, usize) {
        let geometry = self.geometry;
        (geometry.batch, geometry.channels, geometry.locations)
    }

    /// The neighbors of locations of an image from `start` on, which have these indices.
    fn taps<'t>(
        &self,
        n: usize,
        start: usize,
        weights: &'t [T],
        indices: &'t [[u32; BLOCK]],
    ) -> Taps<'t, T> {
        let (taps, locations) = (self.neighbors.taps, self.geometry.locations);
        Taps {
            weights: &weights[n * taps * locations..][..taps * locations],
            locations,
            start,
            indices,
        }
    }

    /// Calls `f` with an image, some of its locations and the indices of their neighbors, for locations that are counted
    /// through all images.
    fn for_each_block(
        &self,
        range: Range<usize>,
        mut f: impl FnMut(usize, Range<usize>, &[[u32; BLOCK]]),
    ) {
        let locations = self.geometry.locations;
        let mut indices = vec![[0; BLOCK]; self.neighbors.taps];
        let mut start = range.start;
        while start < range.end {
            let (n, first) = (start / locations, start % locations);
            let last = locations.min(first + BLOCK).min(first + range.end - start);
            self.neighbors.find(n, first..last, &mut indices);
            f(n, first..last, &indices);
            start += last - first;
        }
    }

    /// All locations of an image, as [`for_each_block`](Self::for_each_block) counts them.
    fn image(&self, n: usize) -> Range<usize> {
        let locations = self.geometry.locations;
        n * locations..(n + 1) * locations
    }
}

/// What a neighbor costs beside its channels, in their steps.
const STEPS: usize = 4;

/// The neighbors of a block of locations.
#[derive(Clone, Copy)]
struct Taps<'a, T> {
    /// Those of all locations, neighbor by neighbor.
    weights: &'a [T],
    locations: usize,
    /// The first location.
    start: usize,
    indices: &'a [[u32; BLOCK]],
}

impl<T: Float> Taps<'_, T> {
    /// The index and the weight of a neighbor, unless it is outside of the image. Nothing is read there, even with
    /// weight 0: an element read instead could be NaN.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn get(&self, i: usize, tap: usize) -> Option<(usize, T)> {
        let index = self.indices[tap][i];
        let weight = self.weights[tap * self.locations + self.start + i];
        (index != NOWHERE).then_some((index as usize, weight))
    }

    /// The weights of a neighbor of `count` locations.
    fn weights(&self, tap: usize, count: usize) -> &[T] {
        &self.weights[tap * self.locations + self.start..][..count]
    }
}
