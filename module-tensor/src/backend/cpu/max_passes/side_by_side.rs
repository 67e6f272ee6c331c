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
    /// The passes of [`SIDE_BY_SIDE`] planes whose elements lie side by side: the last dimension is one of rows too, whose
    /// columns are the planes.
    pub(in super::super) fn side_by_side(
        depths: &Windows,
        heights: &Windows,
        widths: &Windows,
    ) -> Self {
        let mut passes = Self::new(depths, heights, widths);
        let (rows, columns) = (depths.size * heights.size, widths.ranges.len());
        let width = columns * SIDE_BY_SIDE;
        let slice = heights.ranges.len() * width;
        let slices = depths.size.max(depths.ranges.len());
        let along = |blocks, windows, pitch, distance| {
            Pass::Rows(Rows::new(blocks, windows, pitch, pitch, distance))
        };
        passes.passes = vec![along(rows, widths, SIDE_BY_SIDE, 1)];
        if !heights.are_single() {
            let of_heights = along(depths.size, heights, width, widths.size);
            passes.passes.push(of_heights);
        }
        if !depths.are_single() {
            let distance = heights.size * widths.size;
            passes.passes.push(along(1, depths, slice, distance));
        }
        let widest = widths.size.max(columns) * SIDE_BY_SIDE;
        passes.largest = (rows * widest).max(slice * slices);
        let starts = passes.rows.iter().flat_map(|&row| {
            let columns = passes.columns.iter();
            columns.map(move |&column| row + column as usize)
        });
        passes.rows = starts.collect();
        passes.columns = vec![0; SIDE_BY_SIDE];
        passes
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
