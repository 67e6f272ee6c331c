//! The input of a convolution with few channels, laid out for its kernel.
//!
//! The input lies in planes with zeros around it, such that what an element of the kernel reads, for all positions
//! of the output, is one stretch of memory, with some elements between the lines that belong to no position.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::sync::OnceLock;

use super::float::Float;
use super::simd::{Loop, run_at_best_level};
use super::window::{Window, copy_steps};
use crate::zip::zip_mut;

/// The elements that are summed at a time: many, or few at the end.
pub(super) const MANY: usize = 64;
pub(super) const FEW: usize = 16;

/// How the input of a window lies in planes: one for each channel and each remainder of a position by the stride.
pub(super) struct Planes {
    step: usize,
    /// The elements of all planes, and those that sums read beyond.
    pub(super) len: usize,
    /// The elements from the first position of the output to the last, as the planes have them, in whole sums.
    pub(super) positions: usize,
    /// Where the first element lies that each element of the kernel reads.
    pub(super) starts: Vec<usize>,
    window: Window,
    sizes: Sizes,
    /// The lines of a channel of the input that the kernel reads, and where the planes have them, once they are filled.
    inputs: OnceLock<Vec<(usize, usize)>>,
    segments: Vec<Segment>,
    /// Where the planes have each line of the output.
    pub(super) outputs: Vec<usize>,
}

/// The elements of a line of the input that lie in one plane.
struct Segment {
    /// The first of them.
    from: usize,
    /// Where it lies, from where the line starts.
    to: usize,
    count: usize,
}

/// The sizes of planes.
struct Sizes {
    /// The remainders by the stride that the kernel reads.
    phases: [usize; 3],
    size: [usize; 3],
    plane: usize,
}

impl Planes {
    /// Whether there are planes.
    pub(super) fn fit(window: &Window) -> bool {
        Sizes::new(window)
            .and_then(|sizes| sizes.len(window))
            .is_some()
    }

    /// The elements from the first position of a slice of the output to its last, and to the first of the next slice, as
    /// [planes](Self::new) have them.
    pub(super) fn slice(window: &Window) -> Option<[usize; 2]> {
        let sizes = Sizes::new(window)?;
        sizes.len(window)?;
        let [_, height, width] = window.output;
        let slice = sizes.line(height, height);
        Some([sizes.line(height - 1, height) + width, slice])
    }

    /// Nothing if the planes would be much larger than what lies in them.
    pub(super) fn new(window: &Window) -> Option<Self> {
        let sizes = Sizes::new(window)?;
        let [depth, height, width] = window.output;
        let len = sizes.len(window)?;
        let line = |line: usize| sizes.line(line, height);
        let positions = line(depth * height - 1) + width;
        Some(Self {
            step: window.stride[2],
            len: len + MANY,
            positions: positions.next_multiple_of(FEW),
            starts: sizes.starts(window),
            inputs: OnceLock::new(),
            segments: sizes.segments(window),
            outputs: (0..depth * height).map(line).collect(),
            window: Window { ..*window },
            sizes,
        })
    }

    /// The elements of the planes of a channel.
    pub(super) fn channel_len(&self) -> usize {
        self.sizes.phases.iter().product::<usize>() * self.sizes.plane
    }

    /// Writes the input to the planes, which hold zeros, or an earlier input of the same window.
    pub(super) fn fill<T: Float>(&self, input: &[T], planes: &mut [T]) {
        let inputs = input.chunks_exact(self.window.input.iter().product());
        let planes = planes.chunks_exact_mut(self.channel_len());
        for (input, planes) in inputs.zip(planes).take(self.window.channels) {
            self.fill_channel(input, planes);
        }
    }

    /// The same with one channel of the input, and its planes.
    pub(super) fn fill_channel<T: Float>(&self, input: &[T], planes: &mut [T]) {
        run_at_best_level(Fill {
            planes: self,
            inputs: self.inputs.get_or_init(|| self.sizes.inputs(&self.window)),
            width: self.window.input[2],
            input,
            out: planes,
        });
    }
}

impl Sizes {
    fn new(window: &Window) -> Option<Self> {
        let (mut phases, mut size, mut plane) = ([1; 3], [1; 3], 1_usize);
        for d in 0..3 {
            let reach = window.dilation[d].checked_mul(window.kernel[d] - 1)?;
            phases[d] = window.stride[d].min(reach.checked_add(1)?);
            size[d] = window.output[d].checked_add(reach / window.stride[d])?;
            plane = plane.checked_mul(size[d])?;
        }
        Some(Self {
            phases,
            size,
            plane,
        })
    }

    /// Where a plane has a line of an output of so many lines.
    fn line(&self, line: usize, height: usize) -> usize {
        let [_, high, wide] = self.size;
        (line / height * high + line % height) * wide
    }

    /// The elements of all planes, unless they are many more than lie in them.
    fn len(&self, window: &Window) -> Option<usize> {
        let mut phases = self.phases.into_iter();
        let planes = phases.try_fold(window.channels, usize::checked_mul)?;
        let len = self.plane.checked_mul(planes)?;
        (len / 8 <= window.input_len() + window.positions()).then_some(len)
    }

    fn starts(&self, window: &Window) -> Vec<usize> {
        let mut starts = Vec::with_capacity(window.rows());
        let [kd, kh, kw] = window.kernel;
        for row in 0..window.rows() {
            let mut plane = row / (kd * kh * kw);
            let seen = [row / (kh * kw) % kd, row / kw % kh, row % kw];
            let mut at = 0;
            for (d, seen) in seen.into_iter().enumerate() {
                let shift = seen * window.dilation[d];
                plane = plane * self.phases[d] + shift % window.stride[d];
                at = at * self.size[d] + shift / window.stride[d];
            }
            starts.push(plane * self.plane + at);
        }
        starts
    }

    fn inputs(&self, window: &Window) -> Vec<(usize, usize)> {
        let [depth, height, _] = window.input;
        let mut inputs = Vec::new();
        for line in 0..depth * height {
            let (y, z) = (line % height, line / height);
            let positions = (self.position(window, 0, z), self.position(window, 1, y));
            if let (Some((pz, z)), Some((py, y))) = positions {
                let plane = pz * self.phases[1] + py;
                let first = plane * self.phases[2] * self.plane;
                inputs.push((line, first + (z * self.size[1] + y) * self.size[2]));
            }
        }
        inputs
    }

    /// The remainder and the position in a plane of index `i` of dimension `d`, if the kernel reads it.
    fn position(&self, window: &Window, d: usize, i: usize) -> Option<(usize, usize)> {
        let i = i + window.padding[d];
        let (phase, position) = (i % window.stride[d], i / window.stride[d]);
        (phase < self.phases[d] && position < self.size[d]).then_some((phase, position))
    }

    fn segments(&self, window: &Window) -> Vec<Segment> {
        let (step, before, width) = (window.stride[2], window.padding[2], window.input[2]);
        let segment = |phase: usize| {
            let first = before.saturating_sub(phase).div_ceil(step);
            let from = first * step + phase - before;
            let end = width.saturating_sub(from).div_ceil(step);
            Segment {
                from: from.min(width),
                to: phase * self.plane + first,
                count: end.min(self.size[2].saturating_sub(first)),
            }
        };
        let segments = (0..self.phases[2]).map(segment);
        segments.filter(|segment| segment.count > 0).collect()
    }
}

/// Copies a line, which is most often too short for a call.
#[inline(always)]
pub(super) fn copy_line<T: Float>(from: &[T], to: &mut [T]) {
    match to.len() {
        0..4 => zip_mut(to, from).for_each(|(to, &from)| *to = from),
        4..8 => copy_ends::<T, 4>(from, to),
        8..16 => copy_ends::<T, 8>(from, to),
        16..=32 => copy_ends::<T, 16>(from, to),
        33..=64 => copy_ends::<T, 32>(from, to),
        65..=128 => copy_ends::<T, 64>(from, to),
        length => to.copy_from_slice(&from[..length]),
    }
}

/// Copies a line of `N` to `2 N` elements, some of them twice.
#[inline(always)]
fn copy_ends<T: Float, const N: usize>(from: &[T], to: &mut [T]) {
    let from = &from[..to.len()];
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        *to = *from;
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        *to = *from;
    }
}

/// Writes an input to its planes.
struct Fill<'a, T> {
    planes: &'a Planes,
    inputs: &'a [(usize, usize)],
    width: usize,
    input: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Loop for Fill<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for &(line, start) in self.inputs {
            let input = &self.input[line * self.width..][..self.width];
            for segment in &self.planes.segments {
                let to = &mut self.out[start + segment.to..][..segment.count];
                let input = &input[segment.from..];
                match self.planes.step {
                    1 => copy_line(input, to),
                    step => copy_steps(input, step, to),
                }
            }
        }
    }
}
