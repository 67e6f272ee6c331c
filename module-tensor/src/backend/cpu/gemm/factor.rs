//! The operations that a product needs of its factors.

use std::ops::Range;

use super::super::aligned_vec::Workspace;
use super::super::simd::Level;
use super::matrix::{Lines, Matrix};
use super::{Tile, pack};

/// A factor of a product, which is laid out part by part as tiles read it.
pub(in super::super) trait Factor<T: Tile>: Sync {
    fn rows(&self) -> usize;
    fn columns(&self) -> usize;

    /// The elements from one row to the next, if the elements of a row follow each other in memory, so that
    /// [`lines`](Self::lines) copies nothing.
    fn row_step(&self) -> Option<usize> {
        None
    }

    /// Some rows in some columns: where they lie, or else copied to `copy`.
    fn lines<'a>(
        &'a self,
        level: Level,
        part: [Range<usize>; 2],
        copy: &'a mut Workspace<T>,
    ) -> Lines<'a, T>;

    /// Some rows and columns, the columns side by side in panels of so many; what lies beside the last is not read.
    fn panels<'a>(
        &'a self,
        level: Level,
        part: [Range<usize>; 2],
        width: usize,
        copy: &'a mut Workspace<T>,
    ) -> &'a [T];
}

impl<T: Tile> Factor<T> for Matrix<'_, T> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn row_step(&self) -> Option<usize> {
        Matrix::row_step(self)
    }

    fn lines<'a>(
        &'a self,
        level: Level,
        part: [Range<usize>; 2],
        copy: &'a mut Workspace<T>,
    ) -> Lines<'a, T> {
        pack::rows(level, self, part, copy)
    }

    fn panels<'a>(
        &'a self,
        level: Level,
        part: [Range<usize>; 2],
        width: usize,
        copy: &'a mut Workspace<T>,
    ) -> &'a [T] {
        pack::panels(level, self, part, width, copy)
    }
}
