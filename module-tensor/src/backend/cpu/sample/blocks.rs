//! Locations of images, a block at a time, with their neighbors.

use std::ops::Range;

use super::super::SampleGeometry;
use super::super::float::Float;
use super::neighbors::{BLOCK, NOWHERE, Neighbors};

/// What the operations of sampling share.
pub(super) struct Sample<'a, T> {
    pub(super) neighbors: Neighbors<'a, T>,
    pub(super) geometry: &'a SampleGeometry,
}

impl<T: Float> Sample<'_, T> {
    pub(super) fn sizes(&self) -> (usize, usize, usize) {
        let geometry = self.geometry;
        (geometry.batch, geometry.channels, geometry.locations)
    }

    /// The neighbors of locations of an image from `start` on, which have these indices.
    pub(super) fn taps<'t>(
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
    pub(super) fn for_each_block(
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
    pub(super) fn image(&self, n: usize) -> Range<usize> {
        let locations = self.geometry.locations;
        n * locations..(n + 1) * locations
    }
}

/// What a neighbor costs beside its channels, in their steps.
pub(super) const STEPS: usize = 4;

/// The neighbors of a block of locations.
#[derive(Clone, Copy)]
pub(super) struct Taps<'a, T> {
    /// Those of all locations, neighbor by neighbor.
    weights: &'a [T],
    locations: usize,
    /// The first location.
    start: usize,
    pub(super) indices: &'a [[u32; BLOCK]],
}

impl<T: Float> Taps<'_, T> {
    /// The index and the weight of a neighbor, unless it is outside of the image. Nothing is read there, even with
    /// weight 0: an element read instead could be NaN.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(super) fn get(&self, i: usize, tap: usize) -> Option<(usize, T)> {
        let index = self.indices[tap][i];
        let weight = self.weights[tap * self.locations + self.start + i];
        (index != NOWHERE).then_some((index as usize, weight))
    }

    /// The weights of a neighbor of `count` locations.
    pub(super) fn weights(&self, tap: usize, count: usize) -> &[T] {
        &self.weights[tap * self.locations + self.start..][..count]
    }
}
