//! Packed matrices whose rows are unpacked a part at a time.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::aligned_vec::Workspace;
use super::dots::add_products;
use super::gemm::Matrix;
use super::lanes::{WIDE_LANES, sum_of_lanes};
use super::memory::scratch;
use super::simd::has_loop_of_blocks;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::{CodedRows, Int8Rows, Operand, PackedRuns};
use crate::Result;
use crate::zip::zip_mut2;

/// The elements of a row that are unpacked at a time: they stay in the first-level cache.
const PART: usize = 2048;

/// A packed matrix in host memory.
pub(super) struct PackedMatrix<'a> {
    runs: &'a dyn PackedRuns,
    /// All elements of the storage.
    numel: usize,
    offset: usize,
    /// The rows that lie in memory, and the elements of each; those of the matrix are columns if it is transposed.
    lines: usize,
    len: usize,
    /// From the start of one to the next.
    step: usize,
    pub(super) transposed: bool,
}

impl<'a> PackedMatrix<'a> {
    /// A packed operand whose rows or columns lie one by one.
    pub(super) fn of(x: &'a Operand) -> Option<Self> {
        let packed = x.storage.packed()?;
        let (shape, strides) = (x.layout.shape(), x.layout.strides());
        let (&[rows, columns], &[row_step, column_step]) = (&**shape, strides) else {
            return None;
        };
        let transposed = row_step == 1;
        let (lines, len, step) = match transposed {
            true => (columns, rows, column_step),
            false => (rows, columns, row_step),
        };
        (transposed || column_step == 1).then_some(Self {
            runs: packed.runs()?,
            numel: packed.numel(),
            offset: x.layout.offset(),
            lines,
            len,
            step,
            transposed,
        })
    }

    /// Rows and columns.
    pub(super) fn sizes(&self) -> [usize; 2] {
        match self.transposed {
            true => [self.len, self.lines],
            false => [self.lines, self.len],
        }
    }

    /// The lines in memory as numbers of 8 bits, if the inputs of products by the transposed matrix are rounded
    /// and the lines are whole.
    pub(super) fn rounding_inputs(&self) -> Option<Int8Rows<'a>> {
        let all = self.runs.rounding_inputs().filter(|_| self.transposed)?;
        let whole = all.codes.len() == all.scales.len() * self.len && self.step == self.len;
        let first = self.offset.checked_div(self.len).filter(|_| whole)?;
        self.offset.is_multiple_of(self.len).then_some(Int8Rows {
            codes: all.codes.get(first * self.len..)?,
            scales: all.scales.get(first..first + self.lines)?,
            sums: all.sums.get(first..first + self.lines)?,
        })
    }

    /// The lines in memory as codes of 4 bits, if they are such codes in whole blocks.
    pub(super) fn coded_rows(&self) -> Option<CodedRows<'a>> {
        let all = self.runs.coded_rows()?;
        let size = all.block_size;
        let whole = |n: usize| n.is_multiple_of(size);
        let fits = self.transposed
            && size % 2 == 0
            && has_loop_of_blocks(size / 2)
            && self.len > 0
            && self.step == self.len
            && whole(self.len)
            && whole(self.offset);
        let first = self.offset.checked_div(size).filter(|_| fits)?;
        let count = self.lines * self.len / size;
        Some(CodedRows {
            codes: all
                .codes
                .get(self.offset / 2..)?
                .get(..count * (size / 2))?,
            scales: all.scales.get(first..first + count)?,
            tables: all.tables.skip_blocks(first),
            ..all
        })
    }

    /// The elements of a line in memory.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Writes some elements of a line to `out`, which is as long.
    fn unpack(&self, line: usize, part: Range<usize>, spare: &mut Workspace<f32>, out: &mut [f32]) {
        let start = self.offset + line * self.step + part.start;
        let end = start + part.len();
        let group = self.runs.group().max(1);
        let first = start / group * group;
        let last = end.next_multiple_of(group).min(self.numel);
        if (first, last) == (start, end) {
            return self.runs.unpack_run(start..end, out);
        }
        // Whole groups, of which a part is used.
        let whole = spare.of(last - first);
        self.runs.unpack_run(first..last, whole);
        out.copy_from_slice(&whole[start - first..end - first]);
    }

    /// Writes the products of rows with a line, if they can be computed without unpacking it.
    fn write_dots(&self, line: usize, a: &[f32], dots: &mut [f32]) -> Option<()> {
        let start = self.offset + line * self.step;
        let end = start + self.len;
        let is_group = |at: usize| at.is_multiple_of(self.runs.group().max(1));
        if !(is_group(start) && (is_group(end) || end == self.numel)) {
            return None;
        }
        for (dot, a) in dots.iter_mut().zip(a.chunks_exact(self.len)) {
            *dot = self.runs.dot_run(start..end, a)?;
        }
        Some(())
    }

    /// Some rows and columns, unpacked to `memory`.
    pub(super) fn part<'m>(
        &self,
        [rows, columns]: [Range<usize>; 2],
        memory: &'m mut Workspace<f32>,
    ) -> Matrix<'m, f32> {
        let (lines, part) = match self.transposed {
            true => (columns, rows),
            false => (rows, columns),
        };
        let (count, len) = (lines.len(), part.len());
        let out = memory.of(count * len);
        let mut spare = Workspace::new();
        for (line, out) in lines.zip(out.chunks_exact_mut(len.max(1))) {
            self.unpack(line, part.clone(), &mut spare, out);
        }
        let part = Matrix::with_steps(out, [count, len], [len, 1]);
        match self.transposed {
            true => part.t(),
            false => part,
        }
    }
}

/// Adds to `out` the products of a few rows with each line of a transposed matrix.
pub(super) fn add_dots(a: &[f32], matrix: &PackedMatrix<'_>, out: &mut [f32]) -> Result<()> {
    let (len, lines) = (matrix.len, matrix.lines);
    let rows = a.len() / len.max(1);
    // Line by line, so that each thread writes to a part of its own.
    let mut dots = scratch::<f32>(rows * lines)?;
    let items = Items(&mut dots, rows);
    parallel_for(lines, len * (rows + 2) / 16, items, &|range, mut dots| {
        let (mut memory, mut spare) = (Workspace::new(), Workspace::new());
        let memory = memory.of(PART.min(len));
        let mut sums = vec![[0.0; WIDE_LANES]; rows];
        for (i, line) in range.enumerate() {
            if matrix.write_dots(line, a, dots.at(i)).is_some() {
                continue;
            }
            sums.fill([0.0; WIDE_LANES]);
            for start in (0..len).step_by(PART) {
                let part = start..len.min(start + PART);
                let unpacked = &mut memory[..part.len()];
                matrix.unpack(line, part.clone(), &mut spare, unpacked);
                for (sums, a) in sums.iter_mut().zip(a.chunks_exact(len)) {
                    let (a, b) = (&a[part.clone()], &*unpacked);
                    run_at_best_level(AddProducts { sums, a, b });
                }
            }
            for (dot, sums) in dots.at(i).iter_mut().zip(&sums) {
                *dot = sum_of_lanes(*sums);
            }
        }
        Ok(())
    })?;
    for (i, dots) in dots.chunks_exact(rows.max(1)).enumerate() {
        for (row, dot) in dots.iter().enumerate() {
            out[row * lines + i] += dot;
        }
    }
    Ok(())
}

/// Adds the products of elements that stand side by side to sums in lanes.
struct AddProducts<'a> {
    sums: &'a mut [f32; WIDE_LANES],
    a: &'a [f32],
    b: &'a [f32],
}

impl Loop for AddProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (a, a_rest) = self.a.as_chunks::<WIDE_LANES>();
        let (b, b_rest) = self.b.as_chunks::<WIDE_LANES>();
        [*self.sums] = add_products([*self.sums], [&a[..b.len()]], b);
        for (sum, a, b) in zip_mut2(self.sums, a_rest, b_rest) {
            *sum += a * b;
        }
    }
}
