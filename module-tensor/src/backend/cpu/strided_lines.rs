//! Copies of lines, which may be as short as a few elements.

use super::Element;
use super::interleave::{MOST_CHANNELS, join_channels};
use super::simd::{Loop, run_at_best_level};
use crate::zip::zip_mut;

/// Lines of one length, whose elements lie `step` apart.
#[derive(Clone, Copy)]
pub(super) struct StridedLines<'a, T> {
    /// Begins with the first line.
    pub(super) data: &'a [T],
    /// The distance between the starts of two lines.
    pub(super) stride: usize,
    pub(super) step: usize,
    /// The number of elements of a line.
    pub(super) length: usize,
}

impl<'a, T: Element> StridedLines<'a, T> {
    /// One line.
    pub(super) fn one(data: &'a [T], step: usize, length: usize) -> Self {
        Self {
            data,
            stride: 0,
            step,
            length,
        }
    }

    /// Writes the lines to `out`, side by side, as many as it has room for.
    pub(super) fn copy_to(self, out: &mut [T]) {
        if self.are_pixels() && out.len() >= MANY * self.length {
            let channel = |c| &self.data[c * self.step..];
            return join_channels(self.length, channel, out);
        }
        match (self.step, self.length) {
            (_, 0) => {}
            (1, SHORTEST..LONG) => run_at_best_level(CopyShort { lines: self, out }),
            (1, _) => self.each(out, |line, out| {
                out.copy_from_slice(line.get(..out.len()).unwrap_or_default());
            }),
            (0, _) => self.each(out, |line, out| {
                if let [first, ..] = *line {
                    out.fill(first);
                }
            }),
            (2..=MOST_CHANNELS, MANY..) => run_at_best_level(CopyChannels { lines: self, out }),
            (step, length) => self.each(out, |line, out| {
                // A layout does not lead out of its storage.
                let line = line.get(..=(length - 1) * step).unwrap_or_default();
                for (out, i) in out.iter_mut().zip(0..line.len().div_ceil(step)) {
                    *out = line[i * step];
                }
            }),
        }
    }

    /// Whether each line has one element of each of a few channels, which follow each other.
    fn are_pixels(self) -> bool {
        self.stride == 1 && self.step > 0 && (2..=MOST_CHANNELS).contains(&self.length)
    }

    /// Calls `f` with what begins with each line, and its place.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn each(self, out: &mut [T], f: impl Fn(&[T], &mut [T])) {
        let mut start = 0;
        for out in out.chunks_exact_mut(self.length) {
            f(self.data.get(start..).unwrap_or_default(), out);
            start += self.stride;
        }
    }
}

/// The minimum length for a [`CopyShort`].
const SHORTEST: usize = 4;

/// From so many elements on, a call that copies a line takes little of the time.
const LONG: usize = 128;

/// The number of pixels from which loops over them are worth being chosen by the number of channels.
const MANY: usize = 16;

/// Copies channels that are side by side: lines whose elements lie 2 to [`MOST_CHANNELS`] apart.
struct CopyChannels<'a, T> {
    lines: StridedLines<'a, T>,
    out: &'a mut [T],
}

impl<T: Element> Loop for CopyChannels<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        match self.lines.step {
            2 => self.copy::<2>(),
            3 => self.copy::<3>(),
            _ => self.copy::<MOST_CHANNELS>(),
        }
    }
}

impl<T: Element> CopyChannels<'_, T> {
    /// Copies lines whose elements lie `N` apart: a distance that is known makes vectors.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn copy<const N: usize>(self) {
        self.lines.each(self.out, |line, out| {
            let (pixels, rest) = line.as_chunks::<N>();
            // Memory may end with the last element, whose pixel is not whole then.
            if let (Some(last), [first, ..]) = (out.get_mut(pixels.len()), rest) {
                *last = *first;
            }
            for (out, pixel) in zip_mut(out, pixels) {
                *out = pixel[0];
            }
        });
    }
}

/// Copies lines of [`SHORTEST`] to [`LONG`] elements without a call for each.
struct CopyShort<'a, T> {
    lines: StridedLines<'a, T>,
    out: &'a mut [T],
}

impl<T: Element> Loop for CopyShort<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        match self.lines.length {
            ..8 => self.copy::<4>(),
            8..16 => self.copy::<8>(),
            16..32 => self.copy::<16>(),
            32..64 => self.copy::<32>(),
            _ => self.copy::<64>(),
        }
    }
}

impl<T: Element> CopyShort<'_, T> {
    /// Copies lines of at least `W` and at most `2 W` elements: the first and the last `W`, which may overlap.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn copy<const W: usize>(self) {
        let rest = self.lines.length - W;
        self.lines.each(self.out, |line, out| {
            if let (Some(to), Some(from)) = (out.first_chunk_mut::<W>(), line.first_chunk()) {
                *to = *from;
            }
            if rest == 0 {
                return;
            }
            let line = line.get(rest..).unwrap_or_default();
            if let (Some(to), Some(from)) = (out.last_chunk_mut::<W>(), line.first_chunk()) {
                *to = *from;
            }
        });
    }
}
