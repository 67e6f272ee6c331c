//! The gradient of the weight by a direct convolution.

use std::ops::Range;

use super::super::aligned_vec::Workspace;
use super::super::conv::ConvSizes;
use super::super::conv_planes::Planes;
use super::super::float::Float;
use super::super::gemm::DEPTH;
use super::super::lanes::are_finite;
use super::super::simd::{Padding, Tap, WindowProduct};
use super::super::threads::{Items, parallel_for};
use super::super::transpose::{columns_of_lines, lines_of_columns};
use super::super::window::Window;
use super::in_place::{InPlace, Margins};
use super::map::Map;
use super::shapes::{MOST_SUMS, Shape, narrowed};
use super::taps::{MOST_OF_INPUT, Reach, TilesAlong, share_of_input};
use crate::Result;
use crate::zip::zip_mut;

/// The approximate number of positions whose gradients are laid out at a time, and the elements of their planes.
const PLACES: usize = 2048;
const PLANE_ELEMENTS: usize = 1 << 18;

/// A gradient of the weight by positions of the input.
pub(super) struct WeightGradient<'a> {
    sizes: &'a ConvSizes,
    planes: &'a Planes,
    /// The elements before the input that offsets count from if it is read in place; `None` if planes are read.
    margin: Option<usize>,
    /// Where the data has what the elements of the kernel read from the first position, in the first channel.
    starts: Vec<usize>,
    /// Where it has each line of positions, and the elements between channels and samples.
    lines: Vec<usize>,
    channel_step: usize,
    sample_step: usize,
    /// The tiles of the kernel.
    shape: Shape,
    /// The ranges that the positions read, along each dimension of the kernel.
    reaches: [Vec<Reach>; 3],
    /// Whether products with padding are skipped.
    skip: bool,
    columns: TilesAlong,
}

/// A tile of the kernel.
struct KernelTile {
    /// Its first element in the kernel, and its lines and columns that belong to the kernel.
    first: usize,
    lines: usize,
    columns: usize,
    /// Where the data has what a position reads first, and each line from there on: the first line of a slice of the kernel may
    /// lie before the last one of the slice before.
    start: usize,
    starts: Vec<usize>,
    /// The positions that its sums are over, for each block of them.
    positions: Vec<Vec<Tap>>,
}

impl<'a> WeightGradient<'a> {
    pub(super) fn new<T: Float>(sizes: &'a ConvSizes, map: &'a Map, grad: &[T]) -> Self {
        let window = &sizes.window;
        let shape = Shape::of_kernel::<T>(sizes.out_channels, window.kernel);
        // Tiles are of the kernel, and positions are what reaches them.
        let reaches = [0, 1, 2].map(|d| reaches_of_places(window, d));
        let columns =
            |skip: bool| TilesAlong::of_columns(&reaches[2], window.kernel[2], shape, skip);
        let (mut along, mut skip) = (columns(true), are_finite(grad));
        let of_elements = Reach::all(window);
        let in_place = InPlace::new(&of_elements, window.output, window.input);
        let skips_all = skip && along.skips_all && !shape.reads_lines_once();
        let in_place = in_place.filter(|_| skips_all);
        skip &= in_place.is_some() || share_of_input(&of_elements, window.output) <= MOST_OF_INPUT;
        if !skip || shape.reads_lines_once() {
            along = columns(false);
        }
        let kernel: usize = window.kernel.iter().product();
        let planes = &map.planes;
        let margin = in_place.as_ref().map(|in_place| in_place.margin);
        let (starts, lines, channel_step, sample_step) = match in_place {
            Some(in_place) => (
                in_place.starts,
                in_place.lines,
                in_place.channel_step,
                window.input_len() * sizes.groups,
            ),
            None => (
                planes.starts[..kernel].to_vec(),
                map.lines.clone(),
                map.channel_step(kernel),
                planes.len,
            ),
        };
        Self {
            sizes,
            planes,
            margin,
            starts,
            lines,
            channel_step,
            sample_step,
            shape,
            reaches,
            skip,
            columns: along,
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
        let (positions, rows) = (window.positions(), window.rows());
        // Whole products of those that are summed where windows are copied, which gives the same bits.
        let joined = self.sizes.samples_of_product();
        let at_once = (PLACES / positions).min(PLANE_ELEMENTS / self.planes.len);
        let samples = (at_once / joined).max(1) * joined;
        let samples = samples.min(batch);
        let columns = self.shape.channels::<T>();
        let panels = o.div_ceil(columns);
        let taps = rows / window.channels;
        let mut memory = [const { Workspace::new() }; 3];
        let [planes, grads, sums] = &mut memory;
        // Tiles are wider than the last of the kernel.
        let beyond = self.shape.columns;
        let last = |offsets: &[usize]| offsets.iter().copied().max().unwrap_or(0);
        let margins = self.margin.map(|margin| {
            let channels = (window.channels - 1) * self.channel_step;
            let of_sample = channels + last(&self.starts) + last(&self.lines);
            let of_sample = of_sample + window.output[2] * window.stride[2];
            let before = (samples - 1) * self.sample_step;
            Margins::new(
                margin,
                before + of_sample + beyond,
                before + window.input_len(),
            )
        });
        let planes = planes.of(match &margins {
            Some(margins) => margins.len,
            None => samples * self.sample_step + beyond,
        });
        let grads = grads.of(panels * samples * positions * columns);
        let sums = sums.of(panels * rows * columns);
        if margins.is_none() {
            planes.fill(T::zero());
        }
        if !o.is_multiple_of(columns) {
            grads.fill(T::zero());
        }
        let mut tiles = Vec::new();
        for (group, out) in out.chunks_exact_mut(o * rows).enumerate() {
            tiles.clear();
            for first in (0..batch).step_by(samples) {
                let here = samples.min(batch - first);
                let start = (first * groups + group) * window.input_len();
                let data = match margins
                    .as_ref()
                    .and_then(|margins| margins.find(input, start))
                {
                    Some(data) => data,
                    None => {
                        match &margins {
                            Some(margins) => {
                                let len = (here - 1) * self.sample_step + window.input_len();
                                margins.copy(&input[start..][..len], planes);
                            }
                            None => self.fill_planes(&input[start..], here, planes)?,
                        }
                        &*planes
                    }
                };
                let first_grad = (first * groups + group) * o * positions;
                self.lay_out(&grad[first_grad..], [here, samples], grads)?;
                let blocks = blocks_of(here * positions, joined * positions);
                if tiles.is_empty() || here < samples {
                    tiles = self.tiles(&blocks, here)?;
                }
                let items = Items(&mut *sums, taps * columns);
                let ns = here * positions * taps * columns / 48;
                let count = panels * window.channels;
                parallel_for(count, ns, items, &|range, sums| {
                    let mut memory = [T::zero(); MOST_SUMS];
                    let sums = sums.0.chunks_exact_mut(taps * columns);
                    for (item, sums) in range.zip(sums) {
                        let (panel, channel) = (item / window.channels, item % window.channels);
                        let panel = &grads[panel * samples * positions * columns..];
                        let data = &data[channel * self.channel_step..];
                        for (i, positions) in blocks.iter().enumerate() {
                            let panel = &panel[positions.start * columns..positions.end * columns];
                            for tile in &tiles {
                                let product = WindowProduct {
                                    data: &data[tile.start..],
                                    taps: &tile.positions[i],
                                    first: 0,
                                    count: tile.positions[i].len(),
                                    step: window.stride[2],
                                    channel_steps: [0; 2],
                                    lines: &tile.starts,
                                    panel,
                                    add: false,
                                };
                                self.shape.write_kernel_sums(&product, &mut memory);
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

    /// Writes the group of so many samples to planes.
    fn fill_planes<T: Float>(&self, input: &[T], samples: usize, planes: &mut [T]) -> Result<()> {
        let window = &self.sizes.window;
        let (len, step) = (window.input_len(), window.input_len() * self.sizes.groups);
        let items = Items(planes, self.sample_step);
        parallel_for(samples, len / 8, items, &|range, mut planes| {
            for (i, sample) in range.enumerate() {
                let input = &input[sample * step..][..len];
                self.planes.fill(input, planes.at(i));
            }
            Ok(())
        })
    }

    /// Lays out the gradients of the group of some samples: panel after panel, of which each has room for so many
    /// samples, the channels of a position side by side.
    fn lay_out<T: Float>(
        &self,
        grad: &[T],
        [here, samples]: [usize; 2],
        out: &mut [T],
    ) -> Result<()> {
        let (o, positions) = (self.sizes.out_channels, self.sizes.window.positions());
        let columns = self.shape.channels::<T>();
        let items = Items(out, positions * columns);
        let count = o.div_ceil(columns) * samples;
        parallel_for(count, positions * columns / 8, items, &|range, mut out| {
            for (i, item) in range.enumerate() {
                let (panel, sample) = (item / samples, item % samples);
                if sample < here {
                    let grad = &grad[sample * self.sizes.groups * o * positions..][..o * positions];
                    let channels = grad.chunks_exact(positions).skip(panel * columns);
                    columns_of_lines(channels.take(columns), out.at(i), columns);
                }
            }
            Ok(())
        })
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

    /// All tiles of the kernel, over the positions of so many samples.
    fn tiles(&self, blocks: &[Range<usize>], samples: usize) -> Result<Vec<KernelTile>> {
        let [depth, height, width] = self.sizes.window.kernel;
        let Shape { lines, columns, .. } = self.shape;
        let mut tiles = Vec::new();
        // Lines of a slice follow those of the slice before.
        for line in (0..depth * height).step_by(lines) {
            let lines_here = lines.min(depth * height - line);
            for column in (0..width).step_by(columns) {
                let line_start =
                    |i: usize| self.starts[(line + i.min(lines_here - 1)) * width + column];
                let starts = (0..lines).map(line_start);
                let start = starts.clone().min().unwrap_or_default();
                tiles.push(KernelTile {
                    first: line * width + column,
                    lines: lines_here,
                    columns: columns.min(width - column),
                    start,
                    starts: starts.map(|line| line - start).collect(),
                    positions: self.positions(line, column / columns, blocks, samples)?,
                });
            }
        }
        Ok(tiles)
    }

    /// The positions of each block from which a tile reads the input, and where the data has what its first element
    /// reads.
    fn positions(
        &self,
        first_line: usize,
        column: usize,
        blocks: &[Range<usize>],
        samples: usize,
    ) -> Result<Vec<Vec<Tap>>> {
        let step = self.sizes.window.stride[2];
        let stretches = self.stretches(column);
        let width = self.reaches[2].len();
        let skipped: Vec<Option<u32>> = (0..self.lines.len())
            .map(|line| self.skipped_lines(first_line, line))
            .collect();
        let (mut positions, mut block) = (vec![Vec::new(); blocks.len()], 0);
        for sample in 0..samples {
            for (line, (output, &lines)) in self.lines.iter().zip(&skipped).enumerate() {
                let first = (sample * self.lines.len() + line) * width;
                let Some(lines) = lines else { continue };
                for &(ref stretch, columns) in &stretches {
                    let mut position = first + stretch.start;
                    while position < first + stretch.end {
                        while blocks[block].end <= position {
                            block += 1;
                        }
                        let end = blocks[block].end.min(first + stretch.end);
                        let offset = sample * self.sample_step + output + (position - first) * step;
                        positions[block].push(Tap {
                            offset: narrowed(offset)?,
                            row: narrowed(position - blocks[block].start)?,
                            count: narrowed(end - position)?,
                            padding: Padding { lines, columns },
                        });
                        position = end;
                    }
                }
            }
        }
        Ok(positions)
    }

    /// Neighbors in a line of positions that read the input from some columns of the kernel, and those that they skip.
    fn stretches(&self, column: usize) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for (position, skipped) in self.columns.of_tile(column).iter().enumerate() {
            let Some(skipped) = *skipped else { continue };
            let columns = self.columns.ends(skipped);
            match stretches.last_mut() {
                Some((stretch, known)) if stretch.end == position && *known == columns => {
                    stretch.end = position + 1;
                }
                _ => stretches.push((position..position + 1, columns)),
            }
        }
        stretches
    }

    /// The lines of a tile of the kernel that a line of positions skips, a bit for each; nothing if it skips all.
    fn skipped_lines(&self, first: usize, positions: usize) -> Option<u32> {
        let [depth, height, _] = self.sizes.window.kernel;
        let [z, y, _] = &self.reaches;
        let (z, y) = (&z[positions / y.len()], &y[positions % y.len()]);
        let is_skipped = |line: usize| {
            let sees_input = || z.sees_input(line / height) && y.sees_input(line % height);
            line >= depth * height || (self.skip && !sees_input())
        };
        let lines = (0..self.shape.lines).filter(|i| is_skipped(first + i));
        let skipped = lines.fold(0_u32, |bits, i| bits | 1 << i);
        (skipped.count_ones() < self.shape.lines as u32).then_some(skipped)
    }
}

/// Positions of a line, and the columns at the ends of a tile that they skip.
type Stretch = (Range<usize>, u32);

/// What the elements of the kernel read from each position along dimension `d`, where the positions of a reach are
/// these elements.
fn reaches_of_places(window: &Window, d: usize) -> Vec<Reach> {
    let reach = |position: usize| Reach {
        first: (position * window.stride[d]) as isize - window.padding[d] as isize,
        step: window.dilation[d],
        end: window.input[d],
    };
    (0..window.output[d]).map(reach).collect()
}

/// All positions in parts of the products, and of what a product sums at a time.
fn blocks_of(positions: usize, of_product: usize) -> Vec<Range<usize>> {
    let cut = |range: Range<usize>, len: usize| {
        let end = range.end;
        range
            .step_by(len)
            .map(move |start| start..end.min(start + len))
    };
    let products = cut(0..positions, of_product);
    products.flat_map(|product| cut(product, DEPTH)).collect()
}
