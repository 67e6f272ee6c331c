//! How a layer is shared among threads.
//!
//! Each thread computes all gates of some units, for all sequences, so that its part of the weights stays in the cache
//! of its processor; after each step the threads meet and read what the others have written. If there are fewer units
//! than threads can share, but many sequences, each thread computes some of the sequences.

use std::ops::Range;
use std::sync::OnceLock;

use super::super::float::Float;
use super::super::panels::Panels;
use super::super::parallel_steps::{Line, parallel_steps};
use super::super::threads::{Items, parallel_for, threads_of_steps};
use super::RecurrentGeometry;
use crate::Result;

/// The units of a part are a multiple of this, if there are enough of them.
const GRAIN: usize = 8;

/// The least number of sequences of a thread: with fewer, reading the weights takes longer than multiplying.
const SEQUENCES: usize = 4;

/// The parts of a layer: groups of sequences, or ranges of units with their elements of the state. One of the two has
/// one entry only.
pub(super) struct Shares {
    pub(super) sequences: Vec<Range<usize>>,
    pub(super) units: Vec<Range<usize>>,
    pub(super) outputs: Vec<Range<usize>>,
}

impl Shares {
    /// The shares of a layer each of whose rows multiplies so many weights.
    pub(super) fn of(geometry: &RecurrentGeometry, weights: usize) -> Self {
        let rows = geometry.rows() / geometry.batch_sizes.len().max(1);
        // A step reads all weights, which takes as long as four rows of products.
        let step_ns = (weights / 128).saturating_mul(4 + rows);
        let threads = threads_of_steps(step_ns);
        let most = geometry.hidden.div_ceil(GRAIN).max(1);
        match most < threads && rows / threads >= SEQUENCES {
            true => Self::cut(geometry, threads, 1),
            false => Self::cut(geometry, 1, threads.min(most)),
        }
    }

    fn cut(geometry: &RecurrentGeometry, sequences: usize, parts: usize) -> Self {
        let start = |group: usize| geometry.batch() * group / sequences;
        Self {
            sequences: (0..sequences)
                .map(|group| start(group)..start(group + 1))
                .collect(),
            units: ranges(geometry.hidden, parts),
            outputs: ranges(geometry.width, parts),
        }
    }

    /// The number of parts.
    pub(super) fn len(&self) -> usize {
        self.sequences.len() * self.units.len()
    }

    /// The group of sequences and the range of units of a part.
    pub(super) fn position(&self, part: usize) -> [usize; 2] {
        [part / self.units.len(), part % self.units.len()]
    }

    /// The rows of each step of a group of sequences, in the order of computation: among all rows, and among those of
    /// the group.
    pub(super) fn steps(
        &self,
        group: usize,
        geometry: &RecurrentGeometry,
    ) -> [Vec<Range<usize>>; 2] {
        let sequences = &self.sequences[group];
        let mut steps = geometry.steps();
        if geometry.reverse {
            steps.reverse();
        }
        let mut end = 0;
        let mut own = Vec::with_capacity(steps.len());
        for step in &mut steps {
            let [first, last] = [sequences.start, sequences.end].map(|at| at.min(step.len()));
            *step = step.start + first..step.start + last;
            own.push(end..end + step.len());
            end += step.len();
        }
        if geometry.reverse {
            steps.reverse();
            own.reverse();
        }
        [steps, own]
    }

    /// For each part, its columns of each of its rows of a matrix, which has `lines` lines for each row of a step.
    pub(super) fn split<'a, T>(
        &self,
        mut matrix: &'a mut [T],
        lines: usize,
        columns: &[Range<usize>],
        geometry: &RecurrentGeometry,
    ) -> Vec<Vec<&'a mut [T]>> {
        let count = geometry.rows() * lines / self.sequences.len();
        let mut parts: Vec<_> = (0..self.len()).map(|_| Vec::with_capacity(count)).collect();
        for &rows in &geometry.batch_sizes {
            let groups = self.sequences.iter().zip(parts.chunks_mut(columns.len()));
            for (sequences, parts) in groups {
                let rows = sequences.end.min(rows) - sequences.start.min(rows);
                for _ in 0..rows * lines {
                    for (part, range) in parts.iter_mut().zip(columns) {
                        let (own, others) = matrix.split_at_mut(range.len());
                        part.push(own);
                        matrix = others;
                    }
                }
            }
        }
        parts
    }

    /// Does the work of all parts at each stage. Those of one group read what the others have written at the stage
    /// before.
    pub(super) fn run(&self, stages: usize, work: &(dyn Fn(usize, usize) + Sync)) {
        match self.sequences.len() {
            1 => parallel_steps(stages, self.units.len(), work),
            groups => parallel_steps(1, groups, &|_, part| {
                (0..stages).for_each(|stage| work(stage, part));
            }),
        }
    }
}

/// Lays out the weights of each range of units, on several threads.
pub(super) fn laid_out<T: Float>(
    ranges: &[Range<usize>],
    weights: usize,
    panels: &(dyn Fn(&Range<usize>) -> Result<Panels<T>> + Sync),
) -> Result<Vec<Panels<T>>> {
    let mut all: Vec<Option<Panels<T>>> = ranges.iter().map(|_| None).collect();
    let items = Items(&mut all, 1);
    parallel_for(
        ranges.len(),
        weights / ranges.len().max(1) / 3,
        items,
        &|parts, out| {
            for (part, out) in parts.zip(out.0) {
                *out = Some(panels(&ranges[part])?);
            }
            Ok(())
        },
    )?;
    Ok(all.into_iter().flatten().collect())
}

/// The units, or the elements of the state, of each part.
fn ranges(units: usize, parts: usize) -> Vec<Range<usize>> {
    let start = |part: usize| (units.div_ceil(GRAIN) * part / parts * GRAIN).min(units);
    (0..parts)
        .map(|part| start(part)..start(part + 1))
        .collect()
}

/// Takes some rows of a part, to write them and never again.
pub(super) fn take<'a, 'b, T>(
    rows: &'b mut [&'a mut [T]],
    range: Range<usize>,
) -> impl Iterator<Item = &'a mut [T]> + use<'a, 'b, T> {
    rows[range].iter_mut().map(std::mem::take)
}

/// The results that the parts write at each step, which all of them read at the next one.
pub(super) struct Written<'a, T> {
    ranges: Vec<Range<usize>>,
    rows: Vec<Line<OnceLock<Vec<&'a [T]>>>>,
}

impl<'a, T: Copy> Written<'a, T> {
    pub(super) fn new(ranges: &[Range<usize>], steps: usize) -> Self {
        let count = ranges.len() * steps;
        Self {
            ranges: ranges.to_vec(),
            rows: (0..count).map(|_| Line(OnceLock::new())).collect(),
        }
    }

    /// Shows the columns of a part to the others.
    pub(super) fn set(&self, step: usize, part: usize, rows: Vec<&'a [T]>) {
        // Each part of a step is done once.
        let _ = self.rows[step * self.ranges.len() + part].0.set(rows);
    }

    /// Copies the rows of a step, at most as many as `out` has.
    pub(super) fn read(&self, step: usize, out: &mut [T]) {
        let parts = self.ranges.len();
        let width = self.ranges.last().map_or(0, |range| range.end);
        for (range, rows) in self.ranges.iter().zip(&self.rows[step * parts..]) {
            let rows = rows.0.get().map_or(&[][..], Vec::as_slice);
            for (out, row) in out.chunks_exact_mut(width.max(1)).zip(rows) {
                out[range.clone()].copy_from_slice(row);
            }
        }
    }
}

/// Writes rows of a part into its columns of a matrix of so many columns.
pub(super) fn put<T: Copy>(own: &[T], range: &Range<usize>, matrix: &mut [T], width: usize) {
    let rows = own.chunks_exact(range.len().max(1));
    for (out, row) in matrix.chunks_exact_mut(width.max(1)).zip(rows) {
        out[range.clone()].copy_from_slice(row);
    }
}

#[cfg(test)]
mod tests {
    use super::{GRAIN, Shares, Written, take};
    use crate::DType;
    use crate::backend::{RecurrentGeometry, RecurrentOp};

    #[test]
    fn each_part_has_rows_and_columns_of_its_own_and_reads_those_of_all() {
        let cuts = [
            (0, 1, 1),
            (1, 1, 1),
            (150, 1, 4),
            (256, 1, 7),
            (9, 2, 1),
            (9, 4, 1),
        ];
        for (units, groups, parts) in cuts {
            for reverse in [false, true] {
                let geometry = RecurrentGeometry {
                    op: RecurrentOp::Tanh,
                    hidden: units,
                    width: units,
                    batch_sizes: vec![5, 4, 1],
                    reverse,
                    compute: DType::F32,
                };
                let shares = Shares::cut(&geometry, groups, parts);
                assert_eq!(shares.len(), groups * parts);
                assert!((shares.units.iter()).all(|r| r.end == units || r.end % GRAIN == 0));
                // The number of each element, in two lines for each of the ten rows.
                let expected: Vec<usize> = (0..10 * 2 * units).collect();
                let mut matrix = expected.clone();
                let split = shares.split(&mut matrix, 2, &shares.units, &geometry);
                let written: Vec<_> = (0..groups)
                    .map(|_| Written::new(&shares.units, 3))
                    .collect();
                for (part, mut lines) in split.into_iter().enumerate() {
                    let [group, range] = shares.position(part);
                    let [_, own] = shares.steps(group, &geometry);
                    for (step, rows) in own.into_iter().enumerate() {
                        let rows = take(&mut lines, 2 * rows.start..2 * rows.end);
                        let lines = rows.map(|line| &*line).collect();
                        written[group].set(step, range, lines);
                    }
                }
                for (step, rows) in geometry.steps().into_iter().enumerate() {
                    let mut read = Vec::new();
                    for (group, written) in written.iter().enumerate() {
                        let [steps, _] = shares.steps(group, &geometry);
                        let mut own = vec![0; 2 * steps[step].len() * units];
                        written.read(step, &mut own);
                        read.extend(own);
                    }
                    let all = 2 * rows.start * units..2 * rows.end * units;
                    assert_eq!(read, expected[all]);
                }
            }
        }
    }
}
