//! Small planes side by side, so that each step computes an element of all of them: along rows of seven elements, most of a
//! vector register would be empty.

use super::super::Element;
use super::super::aligned_vec::Workspace;
use super::super::max_loops::{Offset, greater};
use super::super::memory::check_allocatable;
use super::super::number::Number;
use super::super::pool_windows::Windows;
use super::super::simd::{Loop, run_at_best_level};
use super::super::transpose::{columns_of_lines, lines_of_columns};
use super::members::{MeetMembers, Members, Of, SIDE_BY_SIDE};
use crate::Result;
use crate::zip::zip_mut;

/// How planes of the input become planes of the output.
pub(in super::super) struct SmallPasses {
    way: Way,
    /// The number of elements of a plane of the input, of the output, and of the largest plane on the way.
    input: usize,
    output: usize,
    largest: usize,
}

/// How the maxima of windows are found.
enum Way {
    /// All elements of a window at once.
    Members(Members),
    /// Those along one dimension, and then along the others; at least one pass.
    Passes(Vec<Pass>),
}

/// Maxima along one dimension.
struct Pass {
    /// The number of blocks of planes, slices or rows, and how many elements, before the pass, make a block.
    blocks: usize,
    size: usize,
    /// The number of elements that an index along the dimension stands for.
    inner: usize,
    /// The first index and the number of indices of each window.
    windows: Vec<(usize, usize)>,
    /// The number of elements between those of a window.
    step: usize,
}

impl Pass {
    fn new(blocks: usize, windows: &Windows, inner: usize) -> Option<Self> {
        (!windows.are_single()).then(|| Self {
            blocks,
            size: windows.size * inner,
            inner,
            windows: windows.starts_and_counts(),
            step: windows.distance() * inner,
        })
    }

    /// The number of comparisons.
    fn compared(&self) -> usize {
        let of_windows = self.windows.iter().map(|(_, count)| count - 1);
        self.blocks * self.inner * of_windows.sum::<usize>()
    }
}

impl SmallPasses {
    /// The passes along the width, the height and the depth.
    pub(in super::super) fn new(depths: &Windows, heights: &Windows, widths: &Windows) -> Self {
        let rows = depths.size * heights.size;
        let [depth, height, width] = [depths, heights, widths].map(|all| all.ranges.len());
        let passes = [
            Pass::new(rows, widths, 1),
            Pass::new(depths.size, heights, width),
            Pass::new(1, depths, height * width),
        ];
        let passes: Vec<Pass> = passes.into_iter().flatten().collect();
        let compared = passes.iter().map(Pass::compared).sum();
        let members = Members::new([depths, heights, widths], compared);
        Self {
            way: members.map_or(Way::Passes(passes), Way::Members),
            input: rows * widths.size,
            output: depth * height * width,
            largest: rows.max(depths.size * height).max(depth * height) * widths.size.max(width),
        }
    }
}

/// Small planes that are processed side by side, and memory for them.
pub(in super::super) struct SideBySide<'a, T: Element, O> {
    passes: &'a SmallPasses,
    values: [Workspace<T>; 2],
    /// The positions of values in their planes: those of the input, which only passes read, and of the maxima on the way.
    places: Vec<Of<O>>,
    positions: [Vec<Of<O>>; 2],
    /// Those of the output, plane by plane.
    lines: Vec<O>,
}

impl<'a, T: Number, O: Offset> SideBySide<'a, T, O> {
    pub(in super::super) fn new(passes: &'a SmallPasses) -> Result<Self> {
        check_allocatable::<Of<T>>(passes.largest.saturating_mul(2))?;
        check_allocatable::<Of<O>>(passes.largest.saturating_mul(4))?;
        let positions = || vec![Of::<O>::default(); passes.largest];
        let place = |i| [O::default().plus(i); SIDE_BY_SIDE];
        let places = match passes.way {
            Way::Members(_) => 0,
            Way::Passes(_) => passes.input,
        };
        Ok(Self {
            passes,
            values: [Workspace::new(), Workspace::new()],
            places: (0..places).map(place).collect(),
            positions: [positions(), positions()],
            lines: vec![O::default(); SIDE_BY_SIDE * passes.output],
        })
    }

    /// The maxima of the planes, and their positions unless `positions` is empty.
    pub(in super::super) fn run(&mut self, planes: &[T], maxima: &mut [T], positions: &mut [i64]) {
        let output = self.passes.output;
        let [values, next_values] = self.values.each_mut();
        let mut values = values.of(self.passes.largest * SIDE_BY_SIDE);
        let mut next_values = next_values.of(self.passes.largest * SIDE_BY_SIDE);
        let [there, next_there] = self.positions.each_mut();
        let (mut there, mut next_there) = (&mut there[..], &mut next_there[..]);
        let lines = planes.chunks_exact(self.passes.input);
        columns_of_lines(lines, &mut values[..planes.len()], SIDE_BY_SIDE);
        match &self.passes.way {
            Way::Members(members) => {
                run_at_best_level(MeetMembers {
                    members,
                    values: values.as_chunks().0,
                    to_values: next_values.as_chunks_mut().0,
                    to_places: next_there,
                });
                std::mem::swap(&mut values, &mut next_values);
                std::mem::swap(&mut there, &mut next_there);
            }
            Way::Passes(passes) => {
                for (i, pass) in passes.iter().enumerate() {
                    run_at_best_level(MeetAlong {
                        pass,
                        values: values.as_chunks().0,
                        positions: if i == 0 { &self.places } else { there },
                        to_values: next_values.as_chunks_mut().0,
                        to_positions: next_there,
                    });
                    std::mem::swap(&mut values, &mut next_values);
                    std::mem::swap(&mut there, &mut next_there);
                }
            }
        }
        lines_of_columns(&values[..output * SIDE_BY_SIDE], SIDE_BY_SIDE, maxima);
        if positions.is_empty() {
            return;
        }
        let there = &there[..output];
        O::lines_of_columns(there.as_flattened(), SIDE_BY_SIDE, &mut self.lines);
        run_at_best_level(ToI64(&self.lines, positions));
    }
}

/// Positions as the numbers of the result.
struct ToI64<'a, O>(&'a [O], &'a mut [i64]);

impl<O: Offset> Loop for ToI64<'_, O> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (to, &position) in zip_mut(self.1, self.0) {
            *to = position.to_i64();
        }
    }
}

/// The maxima of windows along one dimension.
struct MeetAlong<'a, T, O> {
    pass: &'a Pass,
    values: &'a [Of<T>],
    positions: &'a [Of<O>],
    to_values: &'a mut [Of<T>],
    to_positions: &'a mut [Of<O>],
}

impl<T: Number, O: Offset> Loop for MeetAlong<'_, T, O> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Pass {
            blocks,
            size,
            inner,
            ref windows,
            step,
        } = *self.pass;
        let mut done = 0;
        for block in 0..blocks {
            let values = &self.values[block * size..][..size];
            let positions = &self.positions[block * size..][..size];
            for &(first, count) in windows {
                for start in first * inner..(first + 1) * inner {
                    let (mut best, mut there) = (values[start], positions[start]);
                    for k in 1..count {
                        let at = start + k * step;
                        let (next, next_there) = (&values[at], &positions[at]);
                        for i in 0..SIDE_BY_SIDE {
                            let second = (next[i], next_there[i]);
                            (best[i], there[i]) = greater((best[i], there[i]), second);
                        }
                    }
                    self.to_values[done] = best;
                    self.to_positions[done] = there;
                    done += 1;
                }
            }
        }
    }
}
