//! The gradient of the weight by a direct convolution.

use std::ops::Range;

use super::super::conv::ConvSizes;
use super::super::conv_planes::Planes;
use super::super::float::Float;
use super::super::gemm::DEPTH;
use super::super::memory::Workspace;
use super::super::simd::{Padding, Tap, WindowProduct};
use super::super::threads::{Items, parallel_for};
use super::super::transpose::{columns_of_lines, lines_of_columns};
use super::super::window::Window;
use super::shapes::{MOST_SUMS, Shape, narrowed};
use super::taps::{MOST_OF_INPUT, Reach, TilesAlong, are_finite, share_of_input};
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
    shape: Shape,
    along: [TilesAlong; 3],
    /// How far lines of the kernel are apart in a plane.
    step: usize,
}

/// A tile of the kernel.
struct KernelTile {
    /// Its first element in the kernel, and its lines and columns that belong to the kernel.
    first: usize,
    lines: usize,
    columns: usize,
    /// The places that its sums are over, for each block of them.
    places: Vec<Vec<Tap>>,
}

impl<'a> WeightGradient<'a> {
    pub(super) fn new<T: Float>(sizes: &'a ConvSizes, planes: &'a Planes, grad: &[T]) -> Self {
        let window = &sizes.window;
        let [depth, height, width] = window.kernel;
        let lines = planes.starts.iter().step_by(width).take(height.min(2));
        let step = lines.fold(0, |before, start| start - before);
        let shape = Shape::new::<T>(sizes.out_channels, height, width).0;
        let share = share_of_input(&Reach::all(window), window.output);
        let skip = share < MOST_OF_INPUT && are_finite(grad);
        let along = [
            (0, depth, 1),
            (1, height, shape.lines),
            (2, width, shape.columns),
        ];
        Self {
            sizes,
            planes,
            shape,
            along: along.map(|(d, size, len)| {
                TilesAlong::new(&reaches_of_places(window, d), size, len, skip)
            }),
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
        let columns = self.shape.channels::<T>();
        let panels = o.div_ceil(columns);
        let taps = rows / window.channels;
        let mut memory = [const { Workspace::new() }; 3];
        let [data, grads, sums] = &mut memory;
        let data =
            data.of(samples * planes_len + self.shape.lines * self.step + self.shape.columns);
        let grads = grads.of(panels * samples * places * columns);
        let sums = sums.of(panels * rows * columns);
        data.fill(T::zero());
        grads.fill(T::zero());
        let mut tiles = Vec::new();
        for (group, out) in out.chunks_exact_mut(o * rows).enumerate() {
            tiles.clear();
            for first in (0..batch).step_by(samples) {
                let here = samples.min(batch - first);
                for sample in 0..here {
                    let block = (first + sample) * groups + group;
                    let input = &input[block * window.input_len()..][..window.input_len()];
                    let data = &mut data[sample * planes_len..][..planes_len];
                    self.planes.fill(window, input, data);
                    let grad = &grad[block * o * places..][..o * places];
                    let grads = grads.chunks_exact_mut(samples * places * columns);
                    for (grads, grad) in grads.zip(grad.chunks(columns * places)) {
                        let grads = &mut grads[sample * places * columns..];
                        columns_of_lines(grad.chunks_exact(places), grads, columns);
                    }
                }
                let blocks = blocks_of(here * places, joined * places);
                if tiles.is_empty() || here < samples {
                    tiles = self.tiles(&blocks, here)?;
                }
                let items = Items(&mut *sums, taps * columns);
                let ns = here * places * taps * columns / 48;
                let count = panels * window.channels;
                parallel_for(count, ns, items, &|range, sums| {
                    let mut memory = [T::zero(); MOST_SUMS];
                    let sums = sums.0.chunks_exact_mut(taps * columns);
                    for (item, sums) in range.zip(sums) {
                        let (panel, channel) = (item / window.channels, item % window.channels);
                        let panel = &grads[panel * samples * places * columns..];
                        let data = &data[self.planes.starts[channel * taps]..];
                        for (i, places) in blocks.iter().enumerate() {
                            let panel = &panel[places.start * columns..places.end * columns];
                            for tile in &tiles {
                                let product = WindowProduct {
                                    data: &data
                                        [self.planes.starts[tile.first] - self.planes.starts[0]..],
                                    taps: &tile.places[i],
                                    first: 0,
                                    count: tile.places[i].len(),
                                    channel_steps: [0; 2],
                                    line_step: self.step,
                                    panel,
                                    add: false,
                                };
                                self.shape.write_sums(&product, &mut memory);
                                self.add_tile(tile, &memory, first + i > 0, sums);
                            }
                        }
                    }
                    Ok(())
                })?;
            }
            let sums = sums.chunks_exact(rows * columns);
            for (sums, out) in sums.zip(out.chunks_mut(columns * rows)) {
                lines_of_columns(sums, columns, out);
            }
        }
        Ok(())
    }

    /// Adds the sums of a tile to those of the kernel of one channel, or overwrites these.
    fn add_tile<T: Float>(&self, tile: &KernelTile, from: &[T], add: bool, sums: &mut [T]) {
        let (width, channels) = (self.sizes.window.kernel[2], self.shape.channels::<T>());
        let lines = from.chunks_exact(self.shape.columns * channels);
        for (line, from) in lines.take(tile.lines).enumerate() {
            let from = &from[..tile.columns * channels];
            let to = &mut sums[(tile.first + line * width) * channels..][..from.len()];
            match add {
                true => zip_mut(to, from).for_each(|(to, &from)| *to = to.plus(from)),
                false => to.copy_from_slice(from),
            }
        }
    }

    /// All tiles of the kernel, over the places of so many samples.
    fn tiles(&self, blocks: &[Range<usize>], samples: usize) -> Result<Vec<KernelTile>> {
        let [_, height, width] = self.sizes.window.kernel;
        let Shape { lines, columns, .. } = self.shape;
        let mut tiles = Vec::new();
        for slice in 0..self.along[0].len() {
            for row in 0..self.along[1].len() {
                for column in 0..self.along[2].len() {
                    let (line, first) = (row * lines, column * columns);
                    tiles.push(KernelTile {
                        first: (slice * height + line) * width + first,
                        lines: lines.min(height - line),
                        columns: columns.min(width - first),
                        places: self.places([slice, row, column], blocks, samples)?,
                    });
                }
            }
        }
        Ok(tiles)
    }

    /// The places of each block from which a tile sees the input, and where the planes have what its first element sees.
    fn places(
        &self,
        tile: [usize; 3],
        blocks: &[Range<usize>],
        samples: usize,
    ) -> Result<Vec<Vec<Tap>>> {
        let [z, y, x] = [0, 1, 2].map(|d| self.along[d].of_tile(tile[d]));
        let (mut places, mut blocks) = (Vec::new(), blocks.iter());
        let (mut place, mut block) = (0, 0..0);
        for sample in 0..samples {
            for (line, output) in self.planes.outputs.iter().enumerate() {
                let start = narrowed(sample * self.planes.len + output)?;
                let (is_seen, of_line) = (z[line / y.len()].is_some(), y[line % y.len()]);
                for (column, of_column) in x.iter().enumerate() {
                    if place == block.end {
                        block = blocks.next().cloned().unwrap_or(place..usize::MAX);
                        places.push(Vec::with_capacity(block.len().min(DEPTH)));
                    }
                    let padding = of_line.zip(*of_column).filter(|_| is_seen);
                    if let (Some(places), Some(padding)) = (places.last_mut(), padding) {
                        let ([first_line, last_line], [first_column, last_column]) = padding;
                        places.push(Tap {
                            offset: start + column as u32,
                            row: (place - block.start) as u32,
                            padding: Padding {
                                first_line,
                                last_line,
                                first_column,
                                last_column,
                            },
                        });
                    }
                    place += 1;
                }
            }
        }
        Ok(places)
    }
}

/// What the elements of the kernel see from each place along dimension `d`, where the places of a reach are these elements.
fn reaches_of_places(window: &Window, d: usize) -> Vec<Reach> {
    let reach = |place: usize| Reach {
        first: (place * window.stride[d]) as isize - window.padding[d] as isize,
        step: window.dilation[d],
        end: window.input[d],
    };
    (0..window.output[d]).map(reach).collect()
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
