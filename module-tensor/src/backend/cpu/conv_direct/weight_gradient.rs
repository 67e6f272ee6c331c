//! The gradient of the weight by a direct convolution.

use std::ops::Range;

use super::super::conv::ConvSizes;
use super::super::conv_planes::Planes;
use super::super::float::Float;
use super::super::gemm::DEPTH;
use super::super::memory::Workspace;
use super::super::simd::WindowProduct;
use super::super::threads::{Items, parallel_for};
use super::super::transpose::{columns_of_lines, lines_of_columns};
use super::shapes::{MOST_ROWS, narrowed, shape_for, write_sums};
use crate::Result;
use crate::zip::zip_mut;

/// The approximate number of places whose gradients are laid out at a time, and the elements of their planes.
const PLACES: usize = 2048;
const PLANE_ELEMENTS: usize = 1 << 18;

/// A gradient of the weight by places of planes.
pub(super) struct WeightGradient<'a> {
    sizes: &'a ConvSizes,
    planes: &'a Planes,
    /// The tiles of the kernel.
    shape: [usize; 2],
    /// How far lines of the kernel are apart in a plane.
    step: usize,
}

impl<'a> WeightGradient<'a> {
    pub(super) fn new(sizes: &'a ConvSizes, planes: &'a Planes) -> Self {
        let [_, height, width] = sizes.window.kernel;
        let lines = planes.starts.iter().step_by(width).take(height.min(2));
        let step = lines.fold(0, |before, start| start - before);
        Self {
            sizes,
            planes,
            shape: shape_for(height, width).0,
            step,
        }
    }

    /// Overwrites `out`.
    pub(super) fn run<T: Float>(&self, input: &[T], grad: &[T], out: &mut [T]) -> Result<()> {
        let ConvSizes {
            batch,
            groups,
            out_channels: o,
            ref window,
        } = *self.sizes;
        let (places, rows) = (window.places(), window.rows());
        let planes_len = self.planes.len;
        // Whole products of those that are summed where windows are copied, which gives the same bits.
        let joined = self.sizes.samples_of_product();
        let at_once = (PLACES / places).min(PLANE_ELEMENTS / planes_len);
        let samples = (at_once / joined).max(1) * joined;
        let samples = samples.min(batch);
        let offsets = self.offsets_of_places(samples)?;
        let panels = o.div_ceil(T::COLUMNS);
        let taps = rows / window.channels;
        let mut memory = [const { Workspace::new() }; 3];
        let [data, grads, sums] = &mut memory;
        let data = data.of(samples * planes_len + self.shape[0] * self.step + self.shape[1]);
        let grads = grads.of(panels * samples * places * T::COLUMNS);
        let sums = sums.of(panels * rows * T::COLUMNS);
        data.fill(T::zero());
        grads.fill(T::zero());
        for (group, out) in out.chunks_exact_mut(o * rows).enumerate() {
            for first in (0..batch).step_by(samples) {
                let here = samples.min(batch - first);
                for sample in 0..here {
                    let block = (first + sample) * groups + group;
                    let input = &input[block * window.input_len()..][..window.input_len()];
                    let data = &mut data[sample * planes_len..][..planes_len];
                    self.planes.fill(window, input, data);
                    let grad = &grad[block * o * places..][..o * places];
                    let grads = grads.chunks_exact_mut(samples * places * T::COLUMNS);
                    for (grads, grad) in grads.zip(grad.chunks(T::COLUMNS * places)) {
                        let grads = &mut grads[sample * places * T::COLUMNS..];
                        columns_of_lines(grad.chunks_exact(places), grads, T::COLUMNS);
                    }
                }
                let blocks = blocks_of(here * places, joined * places);
                let items = Items(&mut *sums, taps * T::COLUMNS);
                let ns = here * places * taps * T::COLUMNS / 48;
                let count = panels * window.channels;
                parallel_for(count, ns, items, &|range, sums| {
                    let sums = sums.0.chunks_exact_mut(taps * T::COLUMNS);
                    for (item, sums) in range.zip(sums) {
                        let (panel, channel) = (item / window.channels, item % window.channels);
                        let panel = &grads[panel * samples * places * T::COLUMNS..];
                        for (i, places) in blocks.iter().enumerate() {
                            let product = WindowProduct {
                                data: &data[self.planes.starts[channel * taps]..],
                                offsets: &offsets[places.clone()],
                                step: self.step,
                                panel: &panel[places.start * T::COLUMNS..places.end * T::COLUMNS],
                                add: first + i > 0,
                            };
                            self.sum_taps(&product, sums);
                        }
                    }
                    Ok(())
                })?;
            }
            let sums = sums.chunks_exact(rows * T::COLUMNS);
            for (sums, out) in sums.zip(out.chunks_mut(T::COLUMNS * rows)) {
                lines_of_columns(sums, T::COLUMNS, out);
            }
        }
        Ok(())
    }

    /// Sums the gradients of the kernel of one channel over some places.
    fn sum_taps<T: Float>(&self, product: &WindowProduct<'_, T>, sums: &mut [T]) {
        let [depth, height, width] = self.sizes.window.kernel;
        let [lines, columns] = self.shape;
        let mut tile = [T::zero(); MOST_ROWS * 32];
        for slice in 0..depth {
            for row in (0..height).step_by(lines) {
                for column in (0..width).step_by(columns) {
                    let tap = (slice * height + row) * width + column;
                    let starts = &self.planes.starts;
                    let of_tile = WindowProduct {
                        data: &product.data[starts[tap] - starts[0]..],
                        add: false,
                        ..*product
                    };
                    write_sums(self.shape, &of_tile, &mut tile);
                    for line in 0..lines.min(height - row) {
                        let count = columns.min(width - column) * T::COLUMNS;
                        let from = &tile[line * columns * T::COLUMNS..][..count];
                        let to = &mut sums[(tap + line * width) * T::COLUMNS..][..count];
                        match product.add {
                            true => zip_mut(to, from).for_each(|(to, &from)| *to = to.plus(from)),
                            false => to.copy_from_slice(from),
                        }
                    }
                }
            }
        }
    }

    /// Where the planes of some samples have what the first element of the kernel sees, for each place.
    fn offsets_of_places(&self, samples: usize) -> Result<Vec<u32>> {
        let width = self.sizes.window.output[2];
        let lines = |sample: usize| {
            let outputs = self.planes.outputs.iter();
            outputs.map(move |output| sample * self.planes.len + output)
        };
        let starts = (0..samples).flat_map(lines);
        narrowed(starts.flat_map(|start| start..start + width))
    }
}

/// All places in parts of the products, and of what a product sums at a time.
fn blocks_of(places: usize, of_product: usize) -> Vec<Range<usize>> {
    let cut = |range: Range<usize>, len: usize| {
        let end = range.end;
        range
            .step_by(len)
            .map(move |start| start..end.min(start + len))
    };
    let products = cut(0..places, of_product);
    products.flat_map(|product| cut(product, DEPTH)).collect()
}
