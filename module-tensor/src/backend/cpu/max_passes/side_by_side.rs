//! Small planes side by side, so that each step computes an element of all of them: along rows of seven elements, most of a
//! vector register would be empty.

use super::super::Element;
use super::super::aligned_vec::Workspace;
use super::super::max_loops::Offset;
use super::super::number::Number;
use super::super::pool_windows::Windows;
use super::super::transpose::{columns_of_lines, lines_of_columns};
use super::{Pass, Passes, Rows, Scratch};
use crate::Result;

/// The number of planes that are processed together.
pub(in super::super) const SIDE_BY_SIDE: usize = 16;

impl Passes {
    /// The passes of [`SIDE_BY_SIDE`] planes whose elements lie side by side: rows of columns, and no columns in a row.
    pub(in super::super) fn side_by_side(
        depths: &Windows,
        heights: &Windows,
        widths: &Windows,
    ) -> Self {
        let mut one = Self::new(depths, heights, widths);
        let (rows, columns) = (depths.size * heights.size, widths.ranges.len());
        let slice = heights.ranges.len() * columns * SIDE_BY_SIDE;
        let slices = depths.size.max(depths.ranges.len());
        let width = columns * SIDE_BY_SIDE;
        let rows_of = |blocks, windows, pitch, distance| {
            Pass::Rows(Rows::new(blocks, windows, pitch, pitch, distance))
        };
        one.passes = vec![rows_of(rows, widths, SIDE_BY_SIDE, 1)];
        if !heights.are_single() {
            one.passes
                .push(rows_of(depths.size, heights, width, widths.size));
        }
        if !depths.are_single() {
            let distance = heights.size * widths.size;
            one.passes.push(rows_of(1, depths, slice, distance));
        }
        one.largest = (rows * widths.size.max(columns) * SIDE_BY_SIDE).max(slice * slices);
        let starts = one.rows.iter().flat_map(|&row| {
            let columns = one.columns.iter();
            columns.map(move |&column| row + column as usize)
        });
        one.rows = starts.collect();
        one.columns = vec![0; SIDE_BY_SIDE];
        one
    }
}

/// Small planes that are processed side by side, and memory for them.
pub(in super::super) struct SideBySide<'a, T: Element, O> {
    passes: &'a Passes,
    scratch: Scratch<T, O>,
    values: Workspace<T>,
    maxima: Workspace<T>,
    positions: Workspace<i64>,
}

impl<'a, T: Number, O: Offset> SideBySide<'a, T, O> {
    pub(in super::super) fn new(passes: &'a Passes) -> Result<Self> {
        Ok(Self {
            passes,
            scratch: passes.scratch()?,
            values: Workspace::new(),
            maxima: Workspace::new(),
            positions: Workspace::new(),
        })
    }

    /// The maxima of the planes, and their positions unless `positions` is empty.
    pub(in super::super) fn run(&mut self, planes: &[T], maxima: &mut [T], positions: &mut [i64]) {
        let values = self.values.of(planes.len());
        let lines = planes.chunks_exact(planes.len() / SIDE_BY_SIDE);
        columns_of_lines(lines, values, SIDE_BY_SIDE);
        let maxima_beside = self.maxima.of(maxima.len());
        let positions_beside = self.positions.of(positions.len());
        self.passes
            .run(values, &mut self.scratch, maxima_beside, positions_beside);
        lines_of_columns(maxima_beside, SIDE_BY_SIDE, maxima);
        if !positions.is_empty() {
            lines_of_columns(positions_beside, SIDE_BY_SIDE, positions);
        }
    }
}
