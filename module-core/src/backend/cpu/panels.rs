//! Products with a matrix that is used again and again: it is laid out once in the order in which the
//! loop reads it.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::float::Float;
use super::memory::filled;
use crate::Result;

/// How many columns are summed side by side.
const WIDE: usize = 16;

/// A matrix `[depth, width]`, laid out as panels of some columns, with zeros behind the last.
pub(super) struct Panels<T> {
    data: Vec<T>,
    depth: usize,
    width: usize,
}

impl<T: Float> Panels<T> {
    /// From a matrix `[depth, width]`.
    pub(super) fn new(matrix: &[T], depth: usize, width: usize) -> Result<Self> {
        Self::laid_out(depth, width, |panel, columns| {
            for (p, line) in panel.iter_mut().enumerate() {
                let row = &matrix[p * width..][columns.clone()];
                line[..row.len()].copy_from_slice(row);
            }
        })
    }

    /// From a matrix `[width, depth]`, which is turned.
    pub(super) fn turned(matrix: &[T], depth: usize, width: usize) -> Result<Self> {
        Self::laid_out(depth, width, |panel, columns| {
            for (c, column) in columns.enumerate() {
                let column = &matrix[column * depth..][..depth];
                for (line, &v) in panel.iter_mut().zip(column) {
                    line[c] = v;
                }
            }
        })
    }

    fn laid_out(
        depth: usize,
        width: usize,
        fill: impl Fn(&mut [[T; WIDE]], std::ops::Range<usize>),
    ) -> Result<Self> {
        let panels = width.div_ceil(WIDE);
        let mut data = filled(panels * depth * WIDE, T::zero())?;
        for (i, panel) in data.chunks_exact_mut((depth * WIDE).max(1)).enumerate() {
            let columns = i * WIDE..width.min((i + 1) * WIDE);
            fill(panel.as_chunks_mut().0, columns);
        }
        Ok(Self { data, depth, width })
    }

    /// About how many nanoseconds the product with a row takes.
    pub(super) fn steps(&self) -> usize {
        self.data.len() / 32
    }

    /// `out += a · matrix` for all rows of `a`; to be called in a loop for the widest instructions.
    ///
    /// The bits of a row do not depend on the rows beside it.
    #[inline(always)]
    pub(super) fn add(&self, a: &[T], out: &mut [T]) {
        let (depth, width) = (self.depth, self.width);
        if depth == 0 || width == 0 {
            return;
        }
        for (i, panel) in self.data.chunks_exact(depth * WIDE).enumerate() {
            let panel = panel.as_chunks().0;
            let mut rows = a.chunks_exact(depth);
            let mut lines = out.chunks_exact_mut(width);
            let columns = i * WIDE..width.min((i + 1) * WIDE);
            loop {
                let left = rows.len().min(lines.len());
                match left {
                    0 => break,
                    1 => tile::<T, 1>(panel, &mut rows, &mut lines, &columns),
                    2 | 4 => tile::<T, 2>(panel, &mut rows, &mut lines, &columns),
                    3 | 5 => tile::<T, 3>(panel, &mut rows, &mut lines, &columns),
                    _ => tile::<T, 6>(panel, &mut rows, &mut lines, &columns),
                }
            }
        }
    }
}

/// The next rows of `out`, in some of their columns: as many sums as the processor has room for.
#[inline(always)]
fn tile<'a, T: Float, const ROWS: usize>(
    panel: &[[T; WIDE]],
    rows: &mut std::slice::ChunksExact<'a, T>,
    lines: &mut std::slice::ChunksExactMut<'_, T>,
    columns: &std::ops::Range<usize>,
) {
    let a: [&[T]; ROWS] = std::array::from_fn(|_| {
        let row: &'a [T] = rows.next().unwrap_or_default();
        &row[..panel.len()]
    });
    let mut sums = [[T::zero(); WIDE]; ROWS];
    for (p, line) in panel.iter().enumerate() {
        for (sums, a) in sums.iter_mut().zip(&a) {
            let factor = a[p];
            for (sum, &v) in sums.iter_mut().zip(line) {
                *sum = factor.times_plus(v, *sum);
            }
        }
    }
    for sums in sums {
        let line = lines.next().unwrap_or_default();
        let line = &mut line[columns.clone()];
        match <&mut [T; WIDE]>::try_from(&mut *line) {
            Ok(line) => line
                .iter_mut()
                .zip(sums)
                .for_each(|(v, sum)| *v = v.plus(sum)),
            Err(_) => line
                .iter_mut()
                .zip(sums)
                .for_each(|(v, sum)| *v = v.plus(sum)),
        }
    }
}
