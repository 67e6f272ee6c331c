//! Sampled images and their gradients.

use super::super::aligned_vec::AlignedVec;
use super::super::float::Float;
use super::super::joined_runs::next;
use super::super::memory::{filled, scratch};
use super::super::simd::run_at_best_level;
use super::super::threads::{Items, parallel_for};
use super::blocks::{Block, STEPS, Sample};
use super::images::{join, pixels_of_images, split};
use super::lanes::{Add, Dot, Read};
use super::neighbors::BLOCK;
use super::plane::{add_plane, dot_plane, read_plane};
use super::rows::Row;
use crate::Result;

/// Runs a method for the number of channels that are computed together.
macro_rules! in_lanes {
    ($channels:expr, |$lanes:ident| $run:expr) => {
        match $channels {
            0..=1 => {
                const $lanes: usize = 1;
                $run
            }
            2..=8 => {
                const $lanes: usize = 4;
                $run
            }
            _ => {
                const $lanes: usize = 16;
                $run
            }
        }
    };
}

impl<T: Float> Sample<'_, T> {
    /// `[batch, channels, locations]` of images `[batch, channels, pixels]`.
    pub(super) fn forward(&self, x: &[T]) -> Result<AlignedVec<T>> {
        in_lanes!(self.geometry.channels, |LANES| self.read::<LANES>(x))
    }

    /// The gradient of the images from that of what was sampled.
    pub(super) fn input_gradient(&self, grad: &[T]) -> Result<AlignedVec<T>> {
        in_lanes!(self.geometry.channels, |LANES| self.add::<LANES>(grad))
    }

    /// The gradient of the weights, `[batch, neighbors, locations]`.
    pub(super) fn weight_gradient(&self, x: &[T], grad: &[T]) -> Result<AlignedVec<T>> {
        in_lanes!(self.geometry.channels, |LANES| self
            .weights::<LANES>(x, grad))
    }

    /// The gradient of the grid, `[batch, locations, dimensions]`.
    pub(super) fn grid_gradient(&self, x: &[T], grad: &[T]) -> Result<AlignedVec<T>> {
        in_lanes!(self.geometry.channels, |LANES| self.grid::<LANES>(x, grad))
    }

    fn read<const LANES: usize>(&self, x: &[T]) -> Result<AlignedVec<T>> {
        let pixels = Pixels::<T, LANES>::new(self, x)?;
        let pitch = pixels.groups * LANES;
        self.rows_of_locations(self.geometry.channels, &|block, rows| {
            if let (1, [row]) = (LANES, &mut *rows) {
                read_plane(pixels.plane(block.n), block, row);
                return Ok(());
            }
            let mut out = scratch(block.len() * pitch)?;
            run_at_best_level(Read {
                x: pixels.image(block.n),
                groups: pixels.groups,
                block,
                out: out.as_chunks_mut().0,
            });
            split(&out, pitch, rows)
        })
    }

    /// Threads add to channels of their own.
    fn add<const LANES: usize>(&self, grad: &[T]) -> Result<AlignedVec<T>> {
        let [batch, channels, locations] = self.sizes();
        let inner = self.geometry.inner();
        let mut out = filled(batch * channels * inner, T::zero())?;
        if channels == 0 || locations == 0 {
            return Ok(out);
        }
        let groups = channels.div_ceil(LANES);
        // Groups of an image are of one length only if the last is whole.
        let together = if channels.is_multiple_of(LANES) {
            1
        } else {
            groups
        };
        let steps = self.taps * locations * (LANES + STEPS) + inner * LANES;
        let items = Items(&mut out, channels * inner * together / groups);
        parallel_for(
            batch * groups / together,
            steps * together,
            items,
            &|range, out| {
                let mut rest = out.0;
                for group in range.start * together..range.end * together {
                    let (n, first) = (group / groups, group % groups * LANES);
                    let count = LANES.min(channels - first);
                    let planes = next(&mut rest, count * inner);
                    let grad = &grad[(n * channels + first) * locations..][..count * locations];
                    self.add_group::<LANES>(n, grad, planes)?;
                }
                Ok(())
            },
        )?;
        Ok(out)
    }

    /// Adds the gradients of the locations of an image to some of its channels.
    fn add_group<const LANES: usize>(&self, n: usize, grad: &[T], planes: &mut [T]) -> Result<()> {
        let (locations, inner) = (self.geometry.locations, self.geometry.inner());
        if LANES == 1 {
            return self.for_each_block(self.image(n), |block| {
                add_plane(&grad[block.range.clone()], block, planes);
                Ok(())
            });
        }
        let mut pixels = filled(inner * LANES, T::zero())?;
        let mut joined = scratch(BLOCK * LANES)?;
        self.for_each_block(self.image(n), |block| {
            let joined = &mut joined[..block.len() * LANES];
            let line = |c: usize| &grad[c * locations..][block.range.clone()];
            join(grad.len() / locations, line, LANES, joined);
            run_at_best_level(Add::<T, LANES> {
                grad: joined.as_chunks().0,
                block,
                out: pixels.as_chunks_mut().0,
            });
            Ok(())
        })?;
        let mut rows: Vec<&mut [T]> = planes.chunks_exact_mut(inner).collect();
        split(&pixels, LANES, &mut rows)
    }

    fn weights<const LANES: usize>(&self, x: &[T], grad: &[T]) -> Result<AlignedVec<T>> {
        let pixels = Pixels::<T, LANES>::new(self, x)?;
        self.rows_of_locations(self.taps, &|block, rows| {
            let mut grads = vec![[T::zero(); BLOCK]; self.taps];
            pixels.dot(self, grad, block, &mut grads)?;
            for (row, grads) in rows.iter_mut().zip(&grads) {
                row.copy_from_slice(&grads[..row.len()]);
            }
            Ok(())
        })
    }

    fn grid<const LANES: usize>(&self, x: &[T], grad: &[T]) -> Result<AlignedVec<T>> {
        let [batch, channels, locations] = self.sizes();
        let dims = self.geometry.sizes.len();
        let mut out = filled(batch * locations * dims, T::zero())?;
        if channels == 0 || self.is_nearest() {
            return Ok(out);
        }
        let pixels = Pixels::<T, LANES>::new(self, x)?;
        let steps = self.taps * (channels + STEPS);
        let items = Items(&mut out, dims);
        parallel_for(batch * locations, steps, items, &|range, out| {
            let mut rest = out.0;
            let mut grads = vec![[T::zero(); BLOCK]; self.taps];
            self.for_each_block(range, |block| {
                pixels.dot(self, grad, block, &mut grads)?;
                let out = next(&mut rest, block.len() * dims);
                block.weights.grid_gradient(&grads, out);
                Ok(())
            })
        })?;
        Ok(out)
    }
}

/// Images whose channels lie side by side, in groups of `LANES`.
struct Pixels<'a, T: Float, const LANES: usize> {
    /// As they were.
    planes: &'a [T],
    /// With the channels side by side, if there are several.
    pixels: AlignedVec<T>,
    /// The number of groups of a pixel.
    groups: usize,
    inner: usize,
}

impl<'a, T: Float, const LANES: usize> Pixels<'a, T, LANES> {
    fn new(sample: &Sample<'_, T>, planes: &'a [T]) -> Result<Self> {
        let [batch, channels, _] = sample.sizes();
        let inner = sample.geometry.inner();
        let pixels = match channels {
            0..=1 => AlignedVec::default(),
            _ => pixels_of_images(planes, [batch, channels, inner], LANES)?,
        };
        Ok(Self {
            planes,
            pixels,
            groups: channels.div_ceil(LANES),
            inner,
        })
    }

    /// An image as it was, which has one channel.
    fn plane(&self, n: usize) -> &[T] {
        &self.planes[n * self.inner..][..self.inner]
    }

    fn image(&self, n: usize) -> &[[T; LANES]] {
        let numel = self.inner * self.groups * LANES;
        self.pixels[n * numel..][..numel].as_chunks().0
    }

    /// The gradients of the weights of a block.
    fn dot(
        &self,
        sample: &Sample<'_, T>,
        grad: &[T],
        block: &Block<T>,
        out: &mut [Row<T>],
    ) -> Result<()> {
        let [_, channels, locations] = sample.sizes();
        let pitch = self.groups * LANES;
        let grad = &grad[block.n * channels * locations..];
        if LANES == 1 {
            dot_plane(self.plane(block.n), &grad[block.range.clone()], block, out);
            return Ok(());
        }
        let mut joined = scratch(block.len() * pitch)?;
        let line = |c: usize| &grad[c * locations..][block.range.clone()];
        join(channels, line, pitch, &mut joined);
        run_at_best_level(Dot::<T, LANES> {
            x: self.image(block.n),
            grad: joined.as_chunks().0,
            groups: self.groups,
            block,
            out,
        });
        Ok(())
    }
}
