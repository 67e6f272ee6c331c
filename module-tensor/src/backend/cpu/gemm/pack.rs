//! Factors laid out as tiles read them.

use std::ops::Range;

use super::super::aligned_vec::Workspace;
use super::super::simd::{HIGH_TILE_ROWS, Level, PACKED_STEPS};
use super::Tile;
use super::matrix::{Lines, Matrix};
use super::tile::high_rows;

/// Rows of a factor in some of its columns: where they lie, or else copied to `copy`.
pub(super) fn rows<'a, T: Tile>(
    level: Level,
    x: &Matrix<'a, T>,
    [rows, inner]: [Range<usize>; 2],
    copy: &'a mut Workspace<T>,
) -> Lines<'a, T> {
    if x.has_rows() {
        return x.lines(rows, inner);
    }
    let depth = inner.len();
    let copy = copy.of(rows.len() * depth);
    transpose(level, x.t().lines(inner, rows), copy, depth);
    Lines::new(copy, depth)
}

/// Some rows and columns of a factor, its columns side by side in panels of so many, with zeros beside
/// the last.
pub(in super::super) fn panels<'a, T: Tile>(
    level: Level,
    x: &Matrix<'_, T>,
    [inner, columns]: [Range<usize>; 2],
    width: usize,
    copy: &'a mut Workspace<T>,
) -> &'a [T] {
    let depth = inner.len();
    let whole = columns.len() / width * width;
    let copy = copy.of(columns.len().next_multiple_of(width) * depth);
    // Beside the last columns there are zeros, and not what another block left.
    copy[whole * depth..].fill(T::zero());
    if x.has_rows() {
        let rows = x.lines(inner, columns);
        match width {
            2 => pack_rows::<T, 2>(rows, copy),
            4 => pack_rows::<T, 4>(rows, copy),
            8 => pack_rows::<T, 8>(rows, copy),
            16 => pack_rows::<T, 16>(rows, copy),
            _ => pack_rows::<T, 32>(rows, copy),
        }
    } else {
        let lines = x.t().lines(columns, inner);
        for (i, panel) in copy.chunks_exact_mut(depth * width).enumerate() {
            transpose(level, lines.from(i * width, width), panel, width);
        }
    }
    copy
}

/// The rows of high tiles, packed: those of each tile in [`PACKED_STEPS`] steps, then in the next. Rows that fill no tile are left out.
pub(super) fn tile_rows<'a, T: Tile>(
    rows: &Lines<'_, T>,
    copy: &'a mut Workspace<T>,
) -> &'a [[[T; PACKED_STEPS]; HIGH_TILE_ROWS]] {
    let (high, blocks) = (high_rows(rows.count), rows.len.div_ceil(PACKED_STEPS));
    let copy = copy.of(high * blocks * PACKED_STEPS);
    let copy = copy.as_chunks_mut().0.as_chunks_mut().0;
    for (tile, blocks) in copy.chunks_exact_mut(blocks.max(1)).enumerate() {
        for i in 0..HIGH_TILE_ROWS {
            let (whole, rest) = rows.line(tile * HIGH_TILE_ROWS + i).as_chunks();
            let mut blocks = blocks.iter_mut();
            for (from, to) in whole.iter().zip(&mut blocks) {
                to[i] = *from;
            }
            if let Some(to) = blocks.next() {
                to[i] = [T::zero(); PACKED_STEPS];
                to[i][..rest.len()].copy_from_slice(rest);
            }
        }
    }
    copy
}

/// Cuts rows into panels of a width that the compiler knows.
fn pack_rows<T: Tile, const WIDTH: usize>(rows: Lines<'_, T>, panels: &mut [T]) {
    let panels = panels.as_chunks_mut::<WIDTH>().0;
    for p in 0..rows.count {
        let (whole, rest) = rows.line(p).as_chunks::<WIDTH>();
        let mut to = panels[p..].iter_mut().step_by(rows.count);
        for (from, to) in whole.iter().zip(&mut to) {
            *to = *from;
        }
        if let Some(to) = to.next() {
            to[..rest.len()].copy_from_slice(rest);
        }
    }
}

/// The number of lines that are transposed together.
const LINES: usize = 32;

/// Writes each line as a column, into rows of `stride` elements.
fn transpose<T: Tile>(level: Level, lines: Lines<'_, T>, out: &mut [T], stride: usize) {
    for first in (0..lines.count).step_by(LINES) {
        let mut together: [&[T]; LINES] = [&[]; LINES];
        let count = LINES.min(lines.count - first);
        for (i, line) in together.iter_mut().take(count).enumerate() {
            *line = lines.line(first + i);
        }
        T::transpose(level, &together[..count], &mut out[first..], stride);
    }
}
