//! Convolutions whose windows are read where planes have them.
//!
//! What all positions of the output read for one element of the kernel is one stretch of the planes, so that windows are not
//! copied and sums not transposed. Between the lines of the output lie some positions that belong to none.

use super::aligned_vec::Workspace;
use super::conv::{ConvSizes, parts_of_channels};
use super::conv_planes::{Planes, copy_line};
use super::float::Float;
use super::gemm::DEPTH;
use super::simd::{Level, PLANE_TILE_ROWS as ROWS, PlaneProduct};
use super::threads::{Items, parallel_for};
use super::transpose::columns_of_lines;
use crate::Result;

#[cfg(test)]
mod tests;

/// The sums that are gathered before they are written, at most, and the tiles of a channel among them.
const GATHERED: usize = 1 << 14;
const TILES: usize = 4;

/// The time of writing an element of a plane, and what other ways take before they begin, in multiply-adds.
const FILL: f64 = 30.0;
const BEGIN: f64 = 120_000.0;

/// A part of a line of the output among the sums of some tiles.
struct Segment {
    /// Where it begins in the sums of a channel, and in the output.
    from: usize,
    to: usize,
    count: usize,
}

impl ConvSizes {
    /// The output, which overwrites `out`; returns whether this is the fastest way. The bits are those of products with copied
    /// windows.
    pub(super) fn run_by_planes<T: Float>(
        &self,
        input: &[T],
        weight: &[T],
        out: &mut [T],
    ) -> Result<bool> {
        if const { !T::HAS_CONV_LOOPS }
            || !T::has_window_tiles(Level::highest())
            || !self.is_faster_by_planes::<T>()
        {
            return Ok(false);
        }
        let Some(planes) = Planes::new(&self.window) else {
            return Ok(false);
        };
        self.write_by_planes(&planes, [input, weight], out)?;
        Ok(true)
    }

    fn write_by_planes<T: Float>(
        &self,
        planes: &Planes,
        [input, weight]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<()> {
        let mut memory = Workspace::new();
        let [of_slice, pitch] = Planes::slice(&self.window).unwrap_or_default();
        let [depth, _, width] = self.window.output;
        let product = Product {
            planes,
            factors: self.factors(weight, &mut memory),
            slices: (0..depth).map(|slice| slice * pitch).collect(),
            tiles: of_slice.div_ceil(T::COLUMNS),
            width,
            positions: self.window.positions(),
        };
        let (o, blocks) = (self.out_channels, self.batch * self.groups);
        let input_len = self.window.input_len();
        let parts = parts_of_channels(o, ROWS, blocks);
        let len = o / parts * product.positions;
        let ns = len * self.window.rows() / 48;
        let items = Items(out, len);
        if parts == 1 {
            return parallel_for(blocks, ns, items, &|range, mut out| {
                let mut memory = [const { Workspace::new() }; 2];
                let [data, sums] = &mut memory;
                let data = data.of(product.data_len());
                data.fill(T::zero());
                for (i, block) in range.enumerate() {
                    planes.fill(&input[block * input_len..][..input_len], data);
                    let first = block % self.groups * o.div_ceil(ROWS);
                    product.write(data, first, sums, out.at(i));
                }
                Ok(())
            });
        }
        let mut memory = Workspace::new();
        let data = self.fill_planes(planes, input, product.data_len(), &mut memory)?;
        parallel_for(blocks * parts, ns, items, &|range, out| {
            let (mut sums, mut item, mut out) = (Workspace::new(), range.start, out.0);
            while item < range.end {
                let (block, part) = (item / parts, item % parts);
                // The parts of one block.
                let count = (range.end - item).min(parts - part);
                let here;
                (here, out) = out.split_at_mut(count * len);
                let data = &data[block * self.window.channels * planes.channel_len()..];
                let first = block % self.groups * parts + part;
                product.write(data, first, &mut sums, here);
                item += count;
            }
            Ok(())
        })
    }

    /// The planes of all samples and groups one after the other, and so many elements from the last of them on.
    fn fill_planes<'a, T: Float>(
        &self,
        planes: &Planes,
        input: &[T],
        last: usize,
        memory: &'a mut Workspace<T>,
    ) -> Result<&'a [T]> {
        let len = planes.channel_len();
        let input_len = self.window.input_len() / self.window.channels;
        let channels = self.batch * self.groups * self.window.channels;
        let before = (channels - self.window.channels) * len;
        let data = memory.of(before + last);
        let (filled, rest) = data.split_at_mut(channels * len);
        rest.fill(T::zero());
        parallel_for(channels, len / 4, Items(filled, len), &|range, mut out| {
            for (i, channel) in range.enumerate() {
                let out = out.at(i);
                out.fill(T::zero());
                planes.fill_channel(&input[channel * input_len..][..input_len], out);
            }
            Ok(())
        })?;
        Ok(data)
    }

    /// Whether it takes less time than reading the input in place or copying windows, as measured with 3 to 256 channels, 16 to
    /// 128 output channels and kernels of 3 to 7.
    fn is_faster_by_planes<T: Float>(&self) -> bool {
        let window = &self.window;
        let Some([of_slice, _]) = Planes::slice(window) else {
            return false;
        };
        let [rows, positions, o] =
            [window.rows(), window.positions(), self.out_channels].map(|size| size as f64);
        let fill = FILL * window.input_len() as f64;
        let computed = (window.output[0] * of_slice.next_multiple_of(T::COLUMNS)) as f64;
        let channels = self.out_channels.next_multiple_of(ROWS) as f64;
        let by_planes = channels * computed * (1.04 * rows + 13.0) + fill;
        let others = match self.direct_time::<T>() {
            Some((time, is_in_place)) => time + if is_in_place { 0.0 } else { fill },
            None => o * positions * (1.2 * rows + 48.0) + fill,
        };
        by_planes < others + BEGIN
    }

    /// The weight as factors of tiles: group after group, and the channels of a tile side by side.
    fn factors<'a, T: Float>(&self, weight: &[T], memory: &'a mut Workspace<T>) -> &'a [[T; ROWS]] {
        let (o, rows) = (self.out_channels, self.window.rows());
        let factors = memory.of(self.groups * o.next_multiple_of(ROWS) * rows);
        if !o.is_multiple_of(ROWS) {
            factors.fill(T::zero());
        }
        let groups = factors.chunks_exact_mut(o.next_multiple_of(ROWS) * rows);
        for (weight, factors) in weight.chunks_exact(o * rows).zip(groups) {
            let tiles = factors.chunks_exact_mut(ROWS * rows);
            for (weight, factors) in weight.chunks(ROWS * rows).zip(tiles) {
                columns_of_lines(weight.chunks_exact(rows), factors, ROWS);
            }
        }
        factors.as_chunks().0
    }
}

struct Product<'a, T> {
    planes: &'a Planes,
    factors: &'a [[T; ROWS]],
    /// Where the planes have each slice of the output, and the tiles of one.
    slices: Vec<usize>,
    tiles: usize,
    /// The positions of a line of the output, and of a channel.
    width: usize,
    positions: usize,
}

impl<T: Float> Product<'_, T> {
    /// The elements of the planes and those that tiles read behind them.
    fn data_len(&self) -> usize {
        let last = self.planes.starts.iter().copied().max().unwrap_or(0);
        let last_slice = self.slices.last().copied().unwrap_or(0);
        self.planes
            .len
            .max(last + last_slice + self.tiles * T::COLUMNS)
    }

    /// The channels of `out`, the first of which are those of tile `first` of the weight.
    fn write(&self, data: &[T], first: usize, memory: &mut Workspace<T>, out: &mut [T]) {
        let rows = self.planes.starts.len();
        let channels = (out.len() / self.positions).next_multiple_of(ROWS);
        let factors = &self.factors[first * rows..][..channels / ROWS * rows];
        let together = (GATHERED / (channels * T::COLUMNS)).clamp(1, TILES);
        let pitch = together * T::COLUMNS;
        let sums = memory.of(channels * pitch);
        let first_tiles = (0..self.tiles).step_by(together);
        for (slice, tile) in self
            .slices
            .iter()
            .flat_map(|slice| first_tiles.clone().map(move |tile| (slice, tile)))
        {
            let count = together.min(self.tiles - tile);
            let start = slice + tile * T::COLUMNS;
            for column in (0..count * T::COLUMNS).step_by(T::COLUMNS) {
                let data = &data[start + column..];
                let tiles = sums.chunks_exact_mut(ROWS * pitch);
                for (factors, sums) in factors.chunks_exact(rows).zip(tiles) {
                    self.write_tile(data, factors, pitch, &mut sums[column..]);
                }
            }
            let segments = self.segments(start, count * T::COLUMNS);
            let channels = out.chunks_exact_mut(self.positions);
            for (sums, out) in sums.chunks_exact(pitch).zip(channels) {
                for &Segment { from, to, count } in &segments {
                    copy_line(&sums[from..], &mut out[to..][..count]);
                }
            }
        }
    }

    /// As many products are summed at a time as by other ways.
    fn write_tile(&self, data: &[T], factors: &[[T; ROWS]], pitch: usize, sums: &mut [T]) {
        let parts = self.planes.starts.chunks(DEPTH).zip(factors.chunks(DEPTH));
        for (part, (starts, factors)) in parts.enumerate() {
            let product = PlaneProduct {
                factors,
                starts,
                planes: data,
                add: part > 0,
            };
            T::plane_tile(Level::highest(), &product, pitch, sums);
        }
    }

    /// The parts of lines among so many positions of the planes.
    fn segments(&self, start: usize, count: usize) -> Vec<Segment> {
        let lines = &self.planes.outputs;
        let first = lines.partition_point(|line| line + self.width <= start);
        let lines = lines.iter().enumerate().skip(first);
        lines
            .take_while(|&(_, &line)| line < start + count)
            .map(|(i, &line)| {
                let from = line.max(start);
                Segment {
                    from: from - start,
                    to: i * self.width + from - line,
                    count: (start + count).min(line + self.width) - from,
                }
            })
            .collect()
    }
}
