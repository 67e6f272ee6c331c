//! How the tiles of a convolution are taken from planes, and written to them.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::super::conv::ConvSizes;
use super::super::conv_planes::copy_line;
use super::super::float::Float;
use super::super::simd::prefetch;
use super::transforms::{HALO, IN, LANES, OUT, PLACES, combine, combine_lines, split_in_six};
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
    #[inline(always)]
    pub(super) fn fill_lines<'b, T: Float>(
        &self,
        block: &Block,
        plane: impl Fn(usize) -> Padded<'b, T>,
        lines: &mut [T],
    ) {
        let length = OUT * self.columns;
        for (line, lines) in lines.chunks_exact_mut(block.tiles * OUT).enumerate() {
            let mut start = 0;
            for sample in block.samples.clone() {
                let plane = plane(sample);
                for row in block.rows.clone() {
                    plane.write_line(row * OUT + line, &mut lines[start..][..length]);
                    start += length;
                }
            }
            lines[start..].fill(T::zero());
        }
    }

    /// Writes `Bᵀ d` of the lines that each row of tiles reads, `[lines, tiles, OUT]`, and of the columns that each tile
    /// reads beyond those, `[lines, tiles, HALO]`, with zeros beyond the last tile. `zeros` is a line of them.
    #[inline(always)]
    pub(super) fn fill_combined<'b, T: Float>(
        &self,
        block: &Block,
        plane: impl Fn(usize) -> Padded<'b, T>,
        zeros: &'b [T],
        lines: &mut [T],
        halo: &mut [T],
    ) {
        let mut lines = split_in_six(lines, OUT * block.tiles);
        let mut halo = split_in_six(halo, HALO * block.tiles);
        let mut tiles = 0..self.columns;
        for sample in block.samples.clone() {
            let plane = plane(sample);
            for row in block.rows.clone() {
                let from = plane.six_lines(row * OUT, zeros);
                // Those of the next channel, which come from far away if all channels are many.
                for line in &from[..OUT] {
                    prefetch_line(line, plane.data.len());
                }
                plane.combine_row(&from, tiles.clone(), &mut lines);
                plane.combine_halo(&from, tiles.clone(), &lines, &mut halo);
                tiles = tiles.end..tiles.end + self.columns;
            }
        }
        for (lines, halo) in lines.iter_mut().zip(&mut halo) {
            lines[tiles.start * OUT..].fill(T::zero());
            halo[tiles.start * HALO..].fill(T::zero());
        }
    }

    /// Copies the lines of a sample's tiles to the lines of its plane of the output.
    #[inline(always)]
    pub(super) fn write_lines<T: Float>(
        &self,
        block: &Block,
        sample: usize,
        lines: &[T],
        out: &mut [T],
    ) {
        let width = self.sizes.window.output[2];
        let mut first = sample * block.rows.len() * self.columns * OUT;
        let len = self.sizes.window.positions();
        for rows in out.chunks_mut(OUT * width) {
            for (i, out) in rows.chunks_exact_mut(width).enumerate() {
                prefetch_line(out, len);
                copy_line(&lines[i * block.tiles * OUT + first..][..width], out);
            }
            first += self.columns * OUT;
        }
    }
}

/// Asks for what lies so many elements after a line.
#[inline(always)]
fn prefetch_line<T>(line: &[T], elements: usize) {
    let after = line.as_ptr().wrapping_add(elements);
    let starts = (0..line.len()).step_by(LANES);
    starts.for_each(|start| prefetch(after.wrapping_add(start)));
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
    #[inline(always)]
    fn line(&self, y: usize) -> Option<&'a [T]> {
        let start = y.checked_sub(self.top)? * self.width;
        self.data.get(start..start + self.width)
    }

    /// The lines of a row of tiles, from the first on: `zeros` in place of each that has nothing else.
    #[inline(always)]
    fn six_lines(&self, first: usize, zeros: &'a [T]) -> [&'a [T]; IN] {
        let mut lines = [zeros; IN];
        for (i, to) in lines.iter_mut().enumerate() {
            if let Some(line) = self.line(first + i) {
                *to = line;
            }
        }
        lines
    }

    /// `Bᵀ d` of six lines in the columns of a row of tiles.
    #[inline(always)]
    fn combine_row(&self, from: &[&[T]; IN], tiles: Range<usize>, lines: &mut [&mut [T]; IN]) {
        let (first, length) = (tiles.start * OUT, tiles.len() * OUT);
        for line in &mut *lines {
            // The zeros at an end of a line are at most as many as a tile has columns.
            let line = line[first..][..length].as_chunks_mut::<OUT>().0;
            line[0] = [T::zero(); OUT];
            line[tiles.len() - 1] = [T::zero(); OUT];
        }
        let inside = self.width.min(length - self.left);
        combine_lines(from, lines, first + self.left, inside);
    }

    /// The columns that each of these tiles reads beyond its own: those of the next tile, or beyond the last.
    #[inline(always)]
    fn combine_halo(
        &self,
        from: &[&[T]; IN],
        tiles: Range<usize>,
        lines: &[&mut [T]; IN],
        halo: &mut [&mut [T]; IN],
    ) {
        for (line, halo) in lines.iter().zip(&mut *halo) {
            let line = &line.as_chunks::<OUT>().0[tiles.clone()];
            let halo = &mut halo.as_chunks_mut::<HALO>().0[tiles.clone()];
            for (halo, &[a, b, ..]) in halo.iter_mut().zip(&line[1..]) {
                *halo = [a, b];
            }
        }
        for i in 0..HALO {
            let at = tiles.len() * OUT + i - self.left;
            let mut column = [T::zero(); IN];
            for (value, line) in zip_mut(&mut column, from) {
                if let Some(&beyond) = line.get(at) {
                    *value = beyond;
                }
            }
            for (halo, value) in halo.iter_mut().zip(combine(column)) {
                halo[(tiles.end - 1) * HALO + i] = value;
            }
        }
    }

    /// The first elements of a line.
    #[inline(always)]
    fn write_line(&self, y: usize, to: &mut [T]) {
        let Some(line) = self.line(y) else {
            to.fill(T::zero());
            return;
        };
        prefetch_line(line, self.data.len());
        let inside = self.width.min(to.len() - self.left);
        // What was there before is not zero.
        to[..self.left].fill(T::zero());
        copy_line(&line[..inside], &mut to[self.left..][..inside]);
        to[self.left + inside..].fill(T::zero());
    }
}
