//! How the tiles of a convolution are taken from planes, and written to them.

use std::ops::Range;

use super::super::conv::ConvSizes;
use super::super::conv_planes::copy_line;
use super::super::float::Float;
use super::transforms::{HALO, LANES, OUT, PLACES};
use crate::zip::zip_mut;

/// The tiles of the output of one group.
pub(super) struct Tiles<'a> {
    pub(super) sizes: &'a ConvSizes,
    /// Rows of tiles of a sample.
    rows: usize,
    /// Tiles of a row.
    columns: usize,
}

/// The tiles that are transformed and multiplied at a time: some samples, or some rows of tiles of one sample.
pub(super) struct Block {
    pub(super) samples: Range<usize>,
    pub(super) rows: Range<usize>,
    /// The tiles, in whole vectors.
    pub(super) tiles: usize,
}

/// A plane with zeros around it.
#[derive(Clone, Copy)]
pub(super) struct Padded<'a, T> {
    data: &'a [T],
    width: usize,
    top: usize,
    left: usize,
}

impl<'a> Tiles<'a> {
    pub(super) fn new(sizes: &'a ConvSizes) -> Self {
        let [_, height, width] = sizes.window.output;
        Self {
            sizes,
            rows: height.div_ceil(OUT),
            columns: width.div_ceil(OUT),
        }
    }

    /// All tiles of one group.
    pub(super) fn count(&self) -> usize {
        let of_sample = self.rows.saturating_mul(self.columns);
        self.sizes.batch.saturating_mul(of_sample)
    }

    /// Parts of the tiles whose transformed inputs and outputs have at most about so many elements, and at least so
    /// many parts if there are rows enough.
    pub(super) fn blocks(
        &self,
        elements: usize,
        least: usize,
    ) -> impl Iterator<Item = Block> + use<> {
        let channels = self.sizes.out_channels + self.sizes.window.channels;
        let fits = (elements / (PLACES * channels * self.columns)).max(1);
        let fits = fits.min(self.sizes.batch.saturating_mul(self.rows).div_ceil(least));
        // Whole samples, or rows of one.
        let samples = (fits / self.rows).max(1);
        let rows = fits.min(self.rows);
        let (batch, all, columns) = (self.sizes.batch, self.rows, self.columns);
        (0..batch).step_by(samples).flat_map(move |sample| {
            (0..all).step_by(rows).map(move |row| {
                let samples = sample..(sample + samples).min(batch);
                let rows = row..(row + rows).min(all);
                let tiles = samples.len() * rows.len() * columns;
                Block {
                    samples,
                    rows,
                    tiles: tiles.next_multiple_of(LANES),
                }
            })
        })
    }

    /// Writes the lines of a channel that each row of tiles reads, `[lines, tiles, OUT]`, with zeros beyond the last
    /// tile.
    pub(super) fn fill_lines<'b, T: Float>(
        &self,
        block: &Block,
        plane: impl Fn(usize) -> Padded<'b, T>,
        lines: &mut [T],
    ) {
        for (line, lines) in lines.chunks_exact_mut(block.tiles * OUT).enumerate() {
            let mut lines = lines.chunks_exact_mut(OUT * self.columns);
            self.for_rows(block, &plane, |plane, row| {
                if let Some(to) = lines.next() {
                    plane.write_line(row * OUT + line, to);
                }
            });
            lines.by_ref().for_each(|rest| rest.fill(T::zero()));
            lines.into_remainder().fill(T::zero());
        }
    }

    /// Writes the columns that each tile reads beyond those of [`fill_lines`](Self::fill_lines), `[lines, tiles,
    /// HALO]`.
    pub(super) fn fill_halo<'b, T: Float>(
        &self,
        block: &Block,
        plane: impl Fn(usize) -> Padded<'b, T>,
        lines: &[T],
        halo: &mut [T],
    ) {
        let lines = lines.chunks_exact(block.tiles * OUT);
        let halo = halo.chunks_exact_mut(block.tiles * HALO);
        for (line, (lines, halo)) in lines.zip(halo).enumerate() {
            let mut lines = lines.chunks_exact(OUT * self.columns);
            let mut halo = halo.chunks_exact_mut(HALO * self.columns);
            self.for_rows(block, &plane, |plane, row| {
                let (Some(line_of_tiles), Some(halo)) = (lines.next(), halo.next()) else {
                    return;
                };
                let halo = halo.as_chunks_mut::<HALO>().0;
                let next = line_of_tiles.as_chunks::<OUT>().0.get(1..);
                for (halo, &[a, b, ..]) in zip_mut(halo, next.unwrap_or_default()) {
                    *halo = [a, b];
                }
                if let Some(last) = halo.last_mut() {
                    let first = OUT * self.columns;
                    *last = [0, 1].map(|i| plane.at(row * OUT + line, first + i));
                }
            });
            halo.by_ref().for_each(|rest| rest.fill(T::zero()));
            halo.into_remainder().fill(T::zero());
        }
    }

    /// Calls `f` with the plane of each row of tiles and the row.
    fn for_rows<'b, T: Copy + 'b>(
        &self,
        block: &Block,
        plane: impl Fn(usize) -> Padded<'b, T>,
        mut f: impl FnMut(Padded<'b, T>, usize),
    ) {
        for sample in block.samples.clone() {
            let plane = plane(sample);
            block.rows.clone().for_each(|row| f(plane, row));
        }
    }

    /// Copies the lines of a sample's tiles to the lines of its plane of the output.
    pub(super) fn write_lines<T: Float>(
        &self,
        block: &Block,
        sample: usize,
        lines: &[T],
        out: &mut [T],
    ) {
        let width = self.sizes.window.output[2];
        let mut first = sample * block.rows.len() * self.columns * OUT;
        for rows in out.chunks_mut(OUT * width) {
            for (i, out) in rows.chunks_exact_mut(width).enumerate() {
                copy_line(&lines[i * block.tiles * OUT + first..][..width], out);
            }
            first += self.columns * OUT;
        }
    }
}

impl<'a, T: Float> Padded<'a, T> {
    /// A plane of lines of a width after so many zeros.
    pub(super) fn new(data: &'a [T], width: usize, [top, left]: [usize; 2]) -> Self {
        Self {
            data,
            width,
            top,
            left,
        }
    }

    /// A line without its zeros, if it has anything else.
    fn line(&self, y: usize) -> Option<&'a [T]> {
        let start = y.checked_sub(self.top)? * self.width;
        self.data.get(start..start + self.width)
    }

    fn at(&self, y: usize, x: usize) -> T {
        let value = |x: usize| self.line(y)?.get(x).copied();
        let x = x.checked_sub(self.left);
        x.and_then(value).unwrap_or_else(T::zero)
    }

    /// The first elements of a line.
    fn write_line(&self, y: usize, to: &mut [T]) {
        let Some(line) = self.line(y) else {
            to.fill(T::zero());
            return;
        };
        let inside = self.width.min(to.len() - self.left);
        // What was there before is not zero.
        to[..self.left].fill(T::zero());
        copy_line(&line[..inside], &mut to[self.left..][..inside]);
        to[self.left + inside..].fill(T::zero());
    }
}
