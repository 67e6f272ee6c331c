//! Locations of images, a block at a time, with their neighbors.

use std::ops::Range;

use super::super::SampleGeometry;
use super::super::aligned_vec::AlignedVec;
use super::super::float::Float;
use super::super::joined_runs::next;
use super::super::memory::filled;
use super::super::threads::{Items, SplitRows, parallel_for};
use super::neighbors::{BLOCK, check_pixels, find_neighbors};
use super::rows::Row;
use super::weights::{Axis, Weights};
use crate::Result;

/// What the operations of sampling share.
pub(super) struct Sample<'a, T> {
    pub(super) source: Source<'a, T>,
    pub(super) geometry: &'a SampleGeometry,
    /// The number of neighbors of a location.
    pub(super) taps: usize,
}

/// The locations, and the weights of their neighbors.
pub(super) enum Source<'a, T> {
    Given {
        /// `[batch, dimensions, locations]`, in pixels.
        locations: &'a [T],
        /// `[batch, neighbors, locations]`, or none for operations that read none.
        weights: &'a [T],
    },
    Grid {
        /// `[batch, locations, dimensions]`, in halves of the image.
        grid: &'a [T],
        axes: Vec<Axis<T>>,
    },
}

/// Locations, with what is known of them.
pub(super) struct Block<T> {
    /// The number of the image.
    pub(super) n: usize,
    pub(super) range: Range<usize>,
    /// In pixels, dimension by dimension.
    locations: Vec<Row<T>>,
    /// The indices of the neighbors in the flattened image, neighbor by neighbor.
    pub(super) indices: Vec<[u32; BLOCK]>,
    pub(super) weights: Weights<T>,
}

impl<T: Float> Block<T> {
    pub(super) fn len(&self) -> usize {
        self.range.len()
    }
}

impl<'a, T: Float> Sample<'a, T> {
    pub(super) fn new(source: Source<'a, T>, geometry: &'a SampleGeometry) -> Result<Self> {
        check_pixels(geometry)?;
        Ok(Self {
            source,
            geometry,
            taps: geometry.all_taps(),
        })
    }

    /// Whether each location has one neighbor, so that the sampled images do not change with the grid.
    pub(super) fn is_nearest(&self) -> bool {
        self.taps == 1
    }

    pub(super) fn sizes(&self) -> [usize; 3] {
        let geometry = self.geometry;
        [geometry.batch, geometry.channels, geometry.locations]
    }

    /// Calls `f` with blocks of locations that are counted through all images.
    pub(super) fn for_each_block(
        &self,
        range: Range<usize>,
        mut f: impl FnMut(&Block<T>) -> Result<()>,
    ) -> Result<()> {
        let (dims, locations) = (self.geometry.sizes.len(), self.geometry.locations);
        let mut block = Block {
            n: 0,
            range: 0..0,
            locations: vec![[T::zero(); BLOCK]; dims],
            indices: vec![[0; BLOCK]; self.taps],
            weights: Weights::new(self.geometry),
        };
        let mut start = range.start;
        while start < range.end {
            let first = start % locations;
            let last = locations.min(first + BLOCK).min(first + range.end - start);
            (block.n, block.range) = (start / locations, first..last);
            self.locate(&mut block);
            find_neighbors(self.geometry, &block.locations, &mut block.indices);
            f(&block)?;
            start += last - first;
        }
        Ok(())
    }

    /// Computes the locations in pixels, and the weights.
    fn locate(&self, block: &mut Block<T>) {
        let (dims, count) = (self.geometry.sizes.len(), self.geometry.locations);
        let (n, range) = (block.n, &block.range);
        match &self.source {
            Source::Given { locations, weights } => {
                let copy = |from: &[T], rows: &mut [Row<T>]| {
                    let of_image = from.chunks_exact(count).skip(n * rows.len());
                    for (row, from) in rows.iter_mut().zip(of_image) {
                        row[..range.len()].copy_from_slice(&from[range.clone()]);
                    }
                };
                copy(locations, &mut block.locations);
                copy(weights, &mut block.weights.all);
            }
            Source::Grid { grid, axes } => {
                let grid = &grid[(n * count + range.start) * dims..][..range.len() * dims];
                block.weights.compute(grid, axes, &mut block.locations);
            }
        }
    }

    /// All locations of an image, as [`for_each_block`](Self::for_each_block) counts them.
    pub(super) fn image(&self, n: usize) -> Range<usize> {
        let locations = self.geometry.locations;
        n * locations..(n + 1) * locations
    }

    /// `[batch, rows, locations]` elements, of which `compute` is given those of a block in each row.
    pub(super) fn rows_of_locations(
        &self,
        rows: usize,
        compute: &ComputeRows<'_, T>,
    ) -> Result<AlignedVec<T>> {
        let [batch, channels, locations] = self.sizes();
        let mut out = filled(batch * rows * locations, T::zero())?;
        let steps = self.taps * (channels + STEPS);
        let image = rows * locations;
        if image == 0 || channels == 0 {
            return Ok(out);
        }
        if batch == 1 {
            let rows = SplitRows {
                rows: out.chunks_exact_mut(locations).collect(),
                items: 1,
                between_rows: false,
            };
            parallel_for(locations, steps, rows, &|range, rows| {
                self.compute_rows(range, rows.rows, compute)
            })?;
            return Ok(out);
        }
        let items = Items(&mut out, image);
        parallel_for(batch, steps * locations, items, &|range, mut out| {
            for (item, n) in range.enumerate() {
                let rows = out.at(item).chunks_exact_mut(locations).collect();
                self.compute_rows(self.image(n), rows, compute)?;
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// Computes these locations, of one image.
    fn compute_rows(
        &self,
        range: Range<usize>,
        mut rows: Vec<&mut [T]>,
        compute: &ComputeRows<'_, T>,
    ) -> Result<()> {
        self.for_each_block(range, |block| {
            let parts = rows.iter_mut().map(|row| next(row, block.len()));
            let mut parts: Vec<_> = parts.collect();
            compute(block, &mut parts)
        })
    }
}

/// Computes a block of locations of an image: their part of each row.
type ComputeRows<'a, T> = dyn Fn(&Block<T>, &mut [&mut [T]]) -> Result<()> + Sync + 'a;

/// What a neighbor costs beside its channels, in their steps.
pub(super) const STEPS: usize = 4;
