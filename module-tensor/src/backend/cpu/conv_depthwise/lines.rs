//! Planes whose lines fill vectors, some lines of the output at a time.

use super::super::aligned_vec::Workspace;
use super::super::conv::ConvSizes;
use super::super::float::Float;
use super::super::simd::{BASELINE_HAS_FMA, Level, Leveled};
use super::super::threads::{Items, parallel_for};
use super::super::window::Window;
use super::multiply_add;
use crate::Result;
use crate::zip::zip_mut;

/// The positions of a line of the output that are summed at a time, and those of a line's end.
const PLACES: usize = 16;
const FEW_POSITIONS: usize = 8;

/// The lines of the output that are summed at a time, because they read the same lines of the input: as many as the
/// registers of any processor hold, and where there are 32 of 64 bytes.
const LINES: usize = 4;
const MANY_LINES: usize = 7;

impl ConvSizes {
    /// Whether there is a loop for lines: the kernel is a square of a common size, its step 1, and lines fill vectors.
    pub(super) fn is_by_lines(&self) -> bool {
        let window = &self.window;
        let [_, height, width] = window.output;
        window.channels == 1
            && self.out_channels == 1
            && matches!(window.kernel, [1, 3, 3] | [1, 5, 5] | [1, 7, 7])
            && window.stride == [1; 3]
            && window.dilation == [1; 3]
            && window.output[0] == 1
            && width >= PLACES
            && height >= LINES
            && !self.is_mostly_padding()
    }

    /// Whether what lies around a plane is much larger than the plane and its output.
    fn is_mostly_padding(&self) -> bool {
        let window = &self.window;
        let reach = window.kernel[2] - 1;
        let [_, height, width] = window.output.map(|size| size.saturating_add(reach));
        height.saturating_mul(width) / 8 > window.input_len() + window.positions()
    }

    pub(super) fn run_by_lines<T: Float>(
        &self,
        level: Level,
        input: &[T],
        weight: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let window = &self.window;
        let (seen, positions, taps) = (window.input_len(), window.positions(), window.rows());
        let layout = Layout::of(window);
        let items = Items(out, positions);
        let steps = taps * positions / 16;
        parallel_for(
            self.batch * self.groups,
            steps,
            items,
            &|planes, mut out| {
                let mut memory = Workspace::new();
                let padded = memory.of(layout.len);
                padded.fill(T::zero());
                for (i, plane) in planes.enumerate() {
                    let plane = Plane {
                        window,
                        layout: &layout,
                        input: &input[plane * seen..][..seen],
                        weight: &weight[plane % self.groups * taps..][..taps],
                        padded,
                        out: out.at(i),
                    };
                    match window.kernel[2] {
                        3 => level.run(Square::<_, 3, 6, 9>(plane)),
                        5 => level.run(Square::<_, 5, 8, 11>(plane)),
                        _ => level.run(Square::<_, 7, 10, 13>(plane)),
                    }
                }
                Ok(())
            },
        )
    }
}

/// How the lines of a plane lie in memory with zeros around them.
struct Layout {
    /// Where each line starts after the one before. The zeros after a line are those before the next one.
    pitch: usize,
    /// Where the first line of the input starts: lines start where cache lines do.
    start: usize,
    /// Where the first line of the output reads the first element.
    seen: usize,
    len: usize,
}

impl Layout {
    fn of(window: &Window) -> Self {
        let [_, above, before] = window.padding;
        let lines = window.output[1] + window.kernel[1] - 1;
        let pitch = (window.input[2] + before).next_multiple_of(PLACES);
        let start = before.next_multiple_of(PLACES);
        Self {
            pitch,
            start: start + above * pitch,
            seen: start - before,
            len: start + lines * pitch,
        }
    }
}

/// A plane and what is computed of it.
struct Plane<'a, T> {
    window: &'a Window,
    layout: &'a Layout,
    input: &'a [T],
    weight: &'a [T],
    /// Memory for the input with zeros around it, which hold zeros.
    padded: &'a mut [T],
    out: &'a mut [T],
}

/// A kernel of `SIDE` by `SIDE`; [`LINES`] lines of the output read `SEEN` lines of the input, and [`MANY_LINES`] read
/// `MANY_SEEN`.
struct Square<'a, T, const SIDE: usize, const SEEN: usize, const MANY_SEEN: usize>(Plane<'a, T>);

impl<T: Float, const SIDE: usize, const SEEN: usize, const MANY_SEEN: usize> Leveled
    for Square<'_, T, SIDE, SEEN, MANY_SEEN>
{
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        // The last lines are summed twice if the others leave fewer.
        let height = self.0.window.output[1];
        let computed = |lines: usize| height.next_multiple_of(lines);
        match height >= MANY_LINES && computed(MANY_LINES) <= computed(LINES) {
            true => self.0.run::<true, SIDE, MANY_LINES, MANY_SEEN>(),
            false => self.0.run::<true, SIDE, LINES, SEEN>(),
        }
    }

    #[inline(always)]
    fn run_avx2(self) {
        self.0.run::<true, SIDE, LINES, SEEN>();
    }

    #[inline(always)]
    fn run_baseline(self) {
        match BASELINE_HAS_FMA {
            true => self.0.run::<true, SIDE, LINES, SEEN>(),
            false => self.0.run::<false, SIDE, LINES, SEEN>(),
        }
    }
}

impl<T: Float> Plane<'_, T> {
    /// `COUNT` lines of the output, which read `SEEN` lines of the input, at a time.
    #[inline(always)]
    fn run<const FUSED: bool, const SIDE: usize, const COUNT: usize, const SEEN: usize>(mut self) {
        let [_, height, width] = self.window.output;
        // Columns of the kernel, whose elements read lines below each other.
        let mut columns = [[T::zero(); SIDE]; SIDE];
        for (i, &v) in self.weight.iter().enumerate().take(SIDE * SIDE) {
            columns[i % SIDE][i / SIDE] = v;
        }
        let mut filled = 0;
        for y in (0..height).step_by(COUNT) {
            // The lines that are seen next are read while these are summed.
            self.fill(filled, y + SEEN + COUNT);
            filled = y + SEEN + COUNT;
            let y = y.min(height - COUNT);
            let whole = width / PLACES * PLACES;
            for x in (0..whole).step_by(PLACES) {
                self.tile::<FUSED, SIDE, COUNT, SEEN, PLACES>(&columns, y, x);
            }
            // The last positions are summed twice if the others leave fewer.
            match width - whole {
                0 => {}
                1..=FEW_POSITIONS => {
                    let x = width - FEW_POSITIONS;
                    self.tile::<FUSED, SIDE, COUNT, SEEN, FEW_POSITIONS>(&columns, y, x);
                }
                _ => self.tile::<FUSED, SIDE, COUNT, SEEN, PLACES>(&columns, y, width - PLACES),
            }
        }
    }

    /// Copies the lines of the input that are among some lines with zeros around them.
    #[inline(always)]
    fn fill(&mut self, first: usize, end: usize) {
        let ([_, height, width], above) = (self.window.input, self.window.padding[1]);
        for line in first.saturating_sub(above)..end.saturating_sub(above).min(height) {
            let to = &mut self.padded[self.layout.start + line * self.layout.pitch..][..width];
            copy_line(&self.input[line * width..][..width], to);
        }
    }

    /// Some positions of some lines of the output, from those at `y` and `x` on.
    #[inline(always)]
    fn tile<
        const FUSED: bool,
        const SIDE: usize,
        const COUNT: usize,
        const SEEN: usize,
        const PLACES: usize,
    >(
        &mut self,
        columns: &[[T; SIDE]; SIDE],
        y: usize,
        x: usize,
    ) {
        let (pitch, width) = (self.layout.pitch, self.window.output[2]);
        let first = self.layout.seen + y * pitch + x;
        let mut sums = [[T::zero(); PLACES]; COUNT];
        for (dx, column) in columns.iter().enumerate() {
            let seen = &self.padded[first + dx..][..(SEEN - 1) * pitch + PLACES];
            let mut lines = [[T::zero(); PLACES]; SEEN];
            for (i, line) in lines.iter_mut().enumerate() {
                line.copy_from_slice(&seen[i * pitch..][..PLACES]);
            }
            for (dy, &factor) in column.iter().enumerate() {
                for (sums, line) in zip_mut(&mut sums, &lines[dy..]) {
                    for (sum, &v) in zip_mut(sums, line) {
                        *sum = multiply_add::<_, FUSED>(v, factor, *sum);
                    }
                }
            }
        }
        let out = &mut self.out[y * width + x..][..(COUNT - 1) * width + PLACES];
        for (i, sums) in sums.iter().enumerate() {
            out[i * width..][..PLACES].copy_from_slice(sums);
        }
    }
}

/// Copies a line, some of its last elements twice.
#[inline(always)]
pub(super) fn copy_line<T: Float>(from: &[T], to: &mut [T]) {
    let Some(last) = from.last_chunk::<PLACES>() else {
        zip_mut(to, from).for_each(|(to, &from)| *to = from);
        return;
    };
    for (to, from) in zip_mut(to.as_chunks_mut::<PLACES>().0, from.as_chunks::<PLACES>().0) {
        *to = *from;
    }
    if let Some(to) = to.last_chunk_mut() {
        *to = *last;
    }
}
