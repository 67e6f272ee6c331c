//! Sampling of images between pixels, at locations given by tensors.

use std::ops::Range;

use super::aligned_vec::AlignedVec;
use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::memory::filled;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Operand, Outside, SampleGeometry, SampleOp, Storage};
use crate::Result;
use crate::zip::{zip_mut, zip_mut2, zip3};

/// The number of locations that are read at a time, so that their indices stay in the cache.
const BLOCK: usize = 1024;

/// The index of a location outside of the image.
const NOWHERE: usize = usize::MAX;

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
        let (a, b) = (to_row_major::<T>(self.a)?, to_row_major::<T>(self.b)?);
        let sample = Sample {
            a: &a,
            b: &b,
            locations: &to_row_major::<T>(self.locations)?,
            geometry: self.geometry,
        };
        let out = match self.op {
            SampleOp::Forward => sample.forward(),
            SampleOp::Input => sample.input(),
            SampleOp::Weight => sample.weight(),
        };
        Ok(CpuStorage::wrap(out?))
    }
}

struct Sample<'a, T> {
    a: &'a [T],
    b: &'a [T],
    locations: &'a [T],
    geometry: &'a SampleGeometry,
}

/// One neighbor of a block of locations.
struct Tap<'a, T> {
    /// The weight of each.
    weight: &'a [T],
    /// The index of each in the flattened image.
    indices: &'a [usize],
    block: Range<usize>,
}

impl<T: Float> Sample<'_, T> {
    fn forward(&self) -> Result<AlignedVec<T>> {
        let inner = self.geometry.inner();
        self.over_planes(self.geometry.locations, |tap, plane, out| {
            let x = &self.a[plane * inner..][..inner];
            let out = &mut out[tap.block.clone()];
            for (sum, &weight, &index) in zip_mut2(out, tap.weight, tap.indices) {
                // Nothing is read for an index outside, even with weight 0: an element read instead could be NaN.
                if let Some(&value) = x.get(index) {
                    *sum = sum.plus(weight.times(value));
                }
            }
        })
    }

    fn input(&self) -> Result<AlignedVec<T>> {
        let locations = self.geometry.locations;
        self.over_planes(self.geometry.inner(), |tap, plane, out| {
            let grad = &self.a[plane * locations..][tap.block.clone()];
            for (&grad, &weight, &index) in zip3(grad, tap.weight, tap.indices) {
                if let Some(sum) = out.get_mut(index) {
                    *sum = sum.plus(weight.times(grad));
                }
            }
        })
    }

    /// Planes of `len` elements, of zeros to which `add` adds what each tap reads at some locations.
    fn over_planes(
        &self,
        len: usize,
        add: impl Fn(&Tap<'_, T>, usize, &mut [T]) + Sync,
    ) -> Result<AlignedVec<T>> {
        let &SampleGeometry {
            batch,
            channels,
            locations,
            ..
        } = self.geometry;
        let taps = self.geometry.all_taps();
        let planes = batch * channels;
        let mut out = filled(planes * len, T::zero())?;
        let steps = 2 * taps * locations + len;
        parallel_for(planes, steps, Items(&mut out, len), &|planes, mut out| {
            let first = planes.start;
            self.for_each_block(planes, &mut |n, planes, block| {
                let mut indices = Vec::with_capacity(block.len());
                for tap in 0..taps {
                    self.tap_indices(n, tap, block.clone(), &mut indices);
                    let tap = Tap {
                        weight: &self.b[(n * taps + tap) * locations..][block.clone()],
                        indices: &indices,
                        block: block.clone(),
                    };
                    for plane in planes.clone() {
                        add(&tap, plane, out.at(plane - first));
                    }
                }
            });
            Ok(())
        })?;
        Ok(out)
    }

    fn weight(&self) -> Result<AlignedVec<T>> {
        let &SampleGeometry {
            batch,
            channels,
            locations,
            ..
        } = self.geometry;
        let (inner, taps) = (self.geometry.inner(), self.geometry.all_taps());
        let mut out = filled(batch * taps * locations, T::zero())?;
        let work = Items(&mut out, locations);
        parallel_for(
            batch * taps,
            2 * channels * locations,
            work,
            &|rows, mut out| {
                let mut indices = Vec::with_capacity(BLOCK);
                for (item, row) in rows.enumerate() {
                    let (n, tap) = (row / taps, row % taps);
                    for block in blocks(locations) {
                        self.tap_indices(n, tap, block.clone(), &mut indices);
                        let out = &mut out.at(item)[block.clone()];
                        for plane in n * channels..(n + 1) * channels {
                            let x = &self.a[plane * inner..][..inner];
                            let grad = &self.b[plane * locations..][block.clone()];
                            for (sum, &grad, &index) in zip_mut2(out, grad, &indices) {
                                if let Some(&value) = x.get(index) {
                                    *sum = sum.plus(grad.times(value));
                                }
                            }
                        }
                    }
                }
                Ok(())
            },
        )?;
        Ok(out)
    }

    /// Calls `f` with an element of the batch, planes of it and some locations, until all planes were
    /// named with all locations.
    fn for_each_block(
        &self,
        planes: Range<usize>,
        f: &mut dyn FnMut(usize, Range<usize>, Range<usize>),
    ) {
        let (channels, mut next) = (self.geometry.channels, planes.start);
        while next < planes.end {
            let n = next / channels;
            let end = planes.end.min((n + 1) * channels);
            for block in blocks(self.geometry.locations) {
                f(n, next..end, block);
            }
            next = end;
        }
    }

    /// Computes the indices in the flattened image of one neighbor of a block of locations.
    fn tap_indices(&self, n: usize, tap: usize, block: Range<usize>, indices: &mut Vec<usize>) {
        let SampleGeometry { sizes, taps, .. } = self.geometry;
        indices.clear();
        indices.resize(block.len(), 0);
        for (d, &size) in sizes.iter().enumerate() {
            // The tap's number in this dimension, the last dimension being the fastest.
            let later = taps.pow((sizes.len() - 1 - d) as u32);
            let step = self.geometry.first + (tap / later % taps) as i64;
            let along = &self.locations[(n * sizes.len() + d) * self.geometry.locations..];
            for (index, location) in zip_mut(indices, &along[block.clone()]) {
                let at = floor(location.to_f64()).saturating_add(step);
                *index = match self.geometry.outside.inside(at, size) {
                    Some(at) if *index != NOWHERE => *index * size + at,
                    _ => NOWHERE,
                };
            }
        }
    }
}

fn blocks(count: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = (0..count).step_by(BLOCK);
    starts.map(move |start| start..count.min(start + BLOCK))
}

/// The greatest whole number that is at most `x`, without the call that `floor` is on old processors.
fn floor(x: f64) -> i64 {
    let whole = x as i64;
    whole.saturating_sub(i64::from(whole as f64 > x))
}

impl Outside {
    /// Converts a coordinate that may be outside to one inside; `None` if nothing is read there.
    fn inside(self, coordinate: i64, size: usize) -> Option<usize> {
        if let Some(index) = usize::try_from(coordinate)
            .ok()
            .filter(|&index| index < size)
        {
            return Some(index);
        }
        let last = size.checked_sub(1)?;
        let (turn, at_end) = match self {
            Self::Zero => return None,
            Self::Border => return Some(if coordinate < 0 { 0 } else { last }),
            // There and back, with or without the ends twice.
            Self::Reflection {
                align_corners: true,
            } => (2 * last, 0),
            Self::Reflection {
                align_corners: false,
            } => (2 * size, 1),
        };
        if turn == 0 {
            return Some(0);
        }
        let within = coordinate.rem_euclid(turn as i64) as usize;
        Some(if within < size {
            within
        } else {
            turn - at_end - within
        })
    }
}
