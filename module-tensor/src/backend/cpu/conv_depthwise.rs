//! Convolutions of each channel by a kernel of its own, in lines of a plane or in many small planes at a time.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::conv::ConvSizes;
use super::conv_planes::Planes;
use super::float::Float;
use super::memory::Workspace;
use super::simd::{FusedLoop, run_fused};
use super::threads::{Items, parallel_for};
use super::transpose::{columns_of_lines, lines_of_columns};
use super::window::Window;
use crate::Result;
use crate::zip::{zip_mut, zip_mut2};

/// The lines of the output that are summed at a time, because they see the same lines of the input.
const LINES: usize = 4;

/// The planes that are convolved side by side, and the places of a line of the output at a time.
const LANES: usize = 16;
const PLACES: usize = 4;
/// Images are often seven or fourteen places wide.
const MANY_PLACES: usize = 7;

/// The output of one plane, from its input in planes with zeros around it.
pub(super) struct Plane<'a, T> {
    pub(super) planes: &'a Planes,
    pub(super) data: &'a [T],
    pub(super) weight: &'a [T],
    pub(super) width: usize,
    pub(super) out: &'a mut [T],
}

impl<T: Float> Plane<'_, T> {
    /// Whether there is a loop for a window: its kernel is a square of a common size, its step 1, and its lines fill
    /// vectors.
    pub(super) fn can_run(window: &Window) -> bool {
        let [_, height, width] = window.output;
        window.channels == 1
            && matches!(window.kernel, [1, 3, 3] | [1, 5, 5] | [1, 7, 7])
            && window.stride == [1; 3]
            && window.dilation == [1; 3]
            && window.output[0] == 1
            && width >= LANES
            && height >= LINES
    }

    pub(super) fn run(self) {
        match self.weight.len() {
            9 => run_fused(Square::<T, 3, 6>(self)),
            25 => run_fused(Square::<T, 5, 8>(self)),
            _ => run_fused(Square::<T, 7, 10>(self)),
        }
    }
}

/// A kernel of `SIDE` by `SIDE`; so many lines of the output see `SEEN` lines of the input.
struct Square<'a, T, const SIDE: usize, const SEEN: usize>(Plane<'a, T>);

impl<T: Float, const SIDE: usize, const SEEN: usize> FusedLoop for Square<'_, T, SIDE, SEEN> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Plane {
            planes,
            data,
            weight,
            width,
            out,
        } = self.0;
        let (height, pitch) = (planes.outputs.len(), planes.outputs[1] - planes.outputs[0]);
        // Columns of the kernel, whose elements see lines below each other.
        let mut columns = [[T::zero(); SIDE]; SIDE];
        for (i, &v) in weight.iter().enumerate().take(SIDE * SIDE) {
            columns[i % SIDE][i / SIDE] = v;
        }
        // The last lines and places are summed twice if the others leave fewer.
        for y in (0..height).step_by(LINES).map(|y| y.min(height - LINES)) {
            for x in (0..width).step_by(LANES).map(|x| x.min(width - LANES)) {
                // Arrays of their own: the compiler would take one lane of each for a vector.
                let (mut a, mut b) = ([T::zero(); LANES], [T::zero(); LANES]);
                let (mut c, mut d) = ([T::zero(); LANES], [T::zero(); LANES]);
                for (dx, column) in columns.iter().enumerate() {
                    let seen = &data[y * pitch + x + dx..][..(SEEN - 1) * pitch + LANES];
                    for i in 0..SEEN {
                        let mut line = [T::zero(); LANES];
                        line.copy_from_slice(&seen[i * pitch..][..LANES]);
                        if i < SIDE {
                            add_times::<_, FUSED, _>(&mut a, &line, column[i]);
                        }
                        if i >= 1 && i - 1 < SIDE {
                            add_times::<_, FUSED, _>(&mut b, &line, column[i - 1]);
                        }
                        if i >= 2 && i - 2 < SIDE {
                            add_times::<_, FUSED, _>(&mut c, &line, column[i - 2]);
                        }
                        if i >= 3 && i - 3 < SIDE {
                            add_times::<_, FUSED, _>(&mut d, &line, column[i - 3]);
                        }
                    }
                }
                let out = &mut out[y * width + x..][..(LINES - 1) * width + LANES];
                out[..LANES].copy_from_slice(&a);
                out[width..][..LANES].copy_from_slice(&b);
                out[2 * width..][..LANES].copy_from_slice(&c);
                out[3 * width..][..LANES].copy_from_slice(&d);
            }
        }
    }
}

#[inline(always)]
fn add_times<T: Float, const FUSED: bool, const N: usize>(
    sums: &mut [T; N],
    line: &[T; N],
    factor: T,
) {
    for (sum, &v) in zip_mut(sums, line) {
        *sum = multiply_add::<_, FUSED>(v, factor, *sum);
    }
}

#[inline(always)]
fn multiply_add<T: Float, const FUSED: bool>(v: T, factor: T, sum: T) -> T {
    match FUSED {
        true => v.times_plus(factor, sum),
        false => sum.plus(v.times(factor)),
    }
}

impl ConvSizes {
    /// Whether many planes are convolved side by side: their lines are too short for vectors.
    pub(super) fn is_by_lanes(&self) -> bool {
        let window = &self.window;
        window.channels == 1
            && self.out_channels == 1
            && window.kernel[0] == 1
            && window.input[0] == 1
            && window.output[0] == 1
            && window.padding[0] == 0
            && window.output[2] < LANES
            && self.groups >= LANES / 2
            && window.padding[2] <= 4 * LANES
    }

    /// The output, so many planes at a time.
    pub(super) fn run_by_lanes<T: Float>(
        &self,
        input: &[T],
        weight: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let window = &self.window;
        let (seen, places, taps) = (window.input_len(), window.places(), window.rows());
        let count = (self.batch * self.groups).div_ceil(LANES);
        let (len, steps) = (LANES * places, places * taps + 8 * (seen + places));
        parallel_for(count, steps, Items(out, len), &|range, out| {
            let mut memory = [const { Workspace::new() }; 4];
            let [near, padded, kernels, sums] = &mut memory;
            let (near, sums) = (near.of(seen * LANES), sums.of(len));
            let kernels = kernels.of(taps * LANES);
            let padded = padded.of(window.input[1] * Lanes::<T>::pitch(window) * LANES);
            padded.fill(T::zero());
            for (group, out) in range.zip(out.0.chunks_mut(len)) {
                let first = group * LANES;
                let planes = first..first + out.len() / places;
                let kernel = |plane: usize| &weight[plane % self.groups * taps..][..taps];
                columns_of_lines(planes.clone().map(kernel), kernels, LANES);
                let plane = |plane: usize| &input[plane * seen..][..seen];
                columns_of_lines(planes.map(plane), near, LANES);
                run_fused(Lanes {
                    window,
                    input: near,
                    padded,
                    kernels,
                    sums,
                });
                lines_of_columns(sums, LANES, out);
            }
            Ok(())
        })
    }
}

/// Planes side by side: each place has an element of each.
struct Lanes<'a, T> {
    window: &'a Window,
    input: &'a [T],
    /// Memory for the input with zeros beside its lines, which hold zeros.
    padded: &'a mut [T],
    kernels: &'a [T],
    sums: &'a mut [T],
}

impl<T: Float> Lanes<'_, T> {
    /// The places of a line with zeros beside it, as far as windows reach.
    fn pitch(window: &Window) -> usize {
        let reach = window.dilation[2] * (window.kernel[2] - 1);
        let seen = (window.output[2] - 1) * window.stride[2] + reach + 1;
        seen.max(window.input[2] + window.padding[2])
    }

    /// The lines of the kernel that see the input from line `y` of the output, with the line of the input that the
    /// first of them sees.
    #[inline(always)]
    fn lines_seen(window: &Window, y: usize) -> (Range<usize>, usize) {
        let (step, apart) = (window.stride[1], window.dilation[1]);
        let top = y * step;
        let first = window.padding[1].saturating_sub(top).div_ceil(apart);
        let end = (window.input[1] + window.padding[1]).saturating_sub(top);
        let end = end.div_ceil(apart).min(window.kernel[1]);
        match first < end {
            true => (first..end, top + first * apart - window.padding[1]),
            false => (0..0, 0),
        }
    }

    /// A line of the output, so many places at a time.
    #[inline(always)]
    fn places<const FUSED: bool, const N: usize>(&mut self, y: usize, pitch: usize) {
        let width = self.window.output[2];
        for x in (0..width).step_by(N) {
            // The last places are summed twice if the others leave fewer.
            self.tile::<FUSED, N>(y, x.min(width - N), pitch);
        }
    }

    #[inline(always)]
    fn tile<const FUSED: bool, const N: usize>(&mut self, y: usize, x: usize, pitch: usize) {
        let window = self.window;
        let (kernel, step, apart) = (window.kernel[2], window.stride[2], window.dilation[2]);
        let (rows, first) = Self::lines_seen(window, y);
        let padded = self.padded.as_chunks::<LANES>().0;
        let kernels = self.kernels.as_chunks::<LANES>().0;
        let mut sums = [[T::zero(); LANES]; N];
        for (i, row) in rows.enumerate() {
            let line = &padded[(first + i * window.dilation[1]) * pitch..][..pitch];
            for (dx, weight) in kernels[row * kernel..][..kernel].iter().enumerate() {
                let seen = &line[x * step + dx * apart..][..(N - 1) * step + 1];
                for (j, sums) in sums.iter_mut().enumerate() {
                    for (sum, &v, &factor) in zip_mut2(sums, &seen[j * step], weight) {
                        *sum = multiply_add::<_, FUSED>(v, factor, *sum);
                    }
                }
            }
        }
        let at = (y * window.output[2] + x) * LANES;
        self.sums[at..][..N * LANES].copy_from_slice(sums.as_flattened());
    }
}

impl<T: Float> FusedLoop for Lanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(mut self) {
        let window = self.window;
        let pitch = Self::pitch(window);
        let ([_, _, width], left) = (window.input, window.padding[2]);
        let lines = self.input.chunks_exact(width * LANES);
        for (line, padded) in lines.zip(self.padded.chunks_exact_mut(pitch * LANES)) {
            padded[left * LANES..][..width * LANES].copy_from_slice(line);
        }
        let [_, height, width] = window.output;
        for y in 0..height {
            if width.is_multiple_of(MANY_PLACES) {
                self.places::<FUSED, MANY_PLACES>(y, pitch);
            } else if width >= PLACES {
                self.places::<FUSED, PLACES>(y, pitch);
            } else {
                self.places::<FUSED, 1>(y, pitch);
            }
        }
    }
}
