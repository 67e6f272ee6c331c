//! Many small planes side by side: each position has an element of each.

use std::ops::Range;

use super::super::aligned_vec::Workspace;
use super::super::conv::ConvSizes;
use super::super::float::Float;
use super::super::simd::{BASELINE_HAS_FMA, Level, Leveled};
use super::super::threads::{Items, parallel_for};
use super::super::transpose::{columns_of_lines, lines_of_columns};
use super::super::window::Window;
use super::multiply_add;
use crate::Result;
use crate::zip::zip_mut2;

/// The planes that are convolved side by side.
const LANES: usize = 16;

/// The positions of a line of the output that are summed at a time: images are often seven or fourteen positions wide.
const PLACES: usize = 4;
const MANY_POSITIONS: usize = 7;

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
        level: Level,
        input: &[T],
        weight: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let window = &self.window;
        let (seen, positions, taps) = (window.input_len(), window.positions(), window.rows());
        let count = (self.batch * self.groups).div_ceil(LANES);
        let (len, steps) = (LANES * positions, positions * taps + 8 * (seen + positions));
        // The same channels are side by side in every sample, unless they leave some over.
        let mut all_kernels = Workspace::new();
        let all_kernels = match self.groups.is_multiple_of(LANES) && self.batch > 1 {
            true => {
                let all = all_kernels.of(weight.len());
                let of_lanes = LANES * taps;
                for (from, to) in weight
                    .chunks_exact(of_lanes)
                    .zip(all.chunks_exact_mut(of_lanes))
                {
                    columns_of_lines(from.chunks_exact(taps), to, LANES);
                }
                Some(&*all)
            }
            false => None,
        };
        let padded_len = match Lanes::<T>::sees_whole_lines(window) {
            true => 0,
            false => window.input[1] * Lanes::<T>::pitch(window) * LANES,
        };
        parallel_for(count, steps, Items(out, len), &|range, out| {
            let mut memory = [const { Workspace::new() }; 4];
            let [near, padded, kernels, sums] = &mut memory;
            let (near, sums) = (near.of(seen * LANES), sums.of(len));
            let kernels = kernels.of(taps * LANES);
            let padded = padded.of(padded_len);
            padded.fill(T::zero());
            for (group, out) in range.zip(out.0.chunks_mut(len)) {
                let first = group * LANES;
                let planes = first..first + out.len() / positions;
                let kernels = match all_kernels {
                    Some(all) => &all[first % self.groups * taps..][..LANES * taps],
                    None => {
                        let kernel = |plane: usize| &weight[plane % self.groups * taps..][..taps];
                        columns_of_lines(planes.clone().map(kernel), kernels, LANES);
                        &*kernels
                    }
                };
                let plane = |plane: usize| &input[plane * seen..][..seen];
                columns_of_lines(planes.map(plane), near, LANES);
                level.run(Lanes {
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

/// Planes side by side.
struct Lanes<'a, T> {
    window: &'a Window,
    input: &'a [T],
    /// Memory for the input with zeros beside its lines, which hold zeros.
    padded: &'a mut [T],
    kernels: &'a [T],
    sums: &'a mut [T],
}

impl<T: Float> Leveled for Lanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        match const { T::HAS_CONV_LOOPS } {
            true => self.run::<true, true>(),
            false => self.run::<true, false>(),
        }
    }

    #[inline(always)]
    fn run_avx2(self) {
        self.run::<true, false>();
    }

    #[inline(always)]
    fn run_baseline(self) {
        match BASELINE_HAS_FMA {
            true => self.run::<true, false>(),
            false => self.run::<false, false>(),
        }
    }
}

impl<T: Float> Lanes<'_, T> {
    /// The side of a kernel that is a square of a common size with a step of 1, or nothing.
    fn side(window: &Window) -> Option<usize> {
        if !T::HAS_CONV_LOOPS {
            return None;
        }
        let [_, height, width] = window.kernel;
        let is_common = matches!(width, 3 | 5 | 7) && height == width;
        (is_common && window.stride == [1; 3] && window.dilation == [1; 3]).then_some(width)
    }

    /// Whether the positions of a whole line are summed at a time, from the line as it is.
    fn sees_whole_lines(window: &Window) -> bool {
        window.output[2] == MANY_POSITIONS
            && window.input[2] == MANY_POSITIONS
            && Self::side(window).is_some()
    }

    /// The positions of a line with zeros beside it, as far as windows reach.
    fn pitch(window: &Window) -> usize {
        let reach = window.dilation[2] * (window.kernel[2] - 1);
        let seen = (window.output[2] - 1) * window.stride[2] + reach + 1;
        seen.max(window.input[2] + window.padding[2])
    }

    /// The lines of the kernel that read the input from line `y` of the output, with the line of the input that the
    /// first of them reads.
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

    /// `MANY` says whether registers hold the sums of [`MANY_POSITIONS`] and what they read.
    #[inline(always)]
    fn run<const FUSED: bool, const MANY: bool>(mut self) {
        let (window, width) = (self.window, self.window.output[2]);
        if const { T::HAS_CONV_LOOPS } {
            let side = Self::side(window);
            if Self::sees_whole_lines(window) {
                return match side {
                    Some(3) => self.squares::<FUSED, 3, MANY_POSITIONS, 7>(),
                    Some(5) => self.squares::<FUSED, 5, MANY_POSITIONS, 7>(),
                    _ => self.squares::<FUSED, 7, MANY_POSITIONS, 7>(),
                };
            }
            self.pad();
            // Where multiply-adds are two instructions, the loops for any kernel do.
            match side {
                Some(3) if MANY && width.is_multiple_of(MANY_POSITIONS) => {
                    return self.squares::<FUSED, 3, MANY_POSITIONS, 9>();
                }
                Some(5) if MANY && width.is_multiple_of(MANY_POSITIONS) => {
                    return self.squares::<FUSED, 5, MANY_POSITIONS, 11>();
                }
                Some(7) if MANY && width.is_multiple_of(MANY_POSITIONS) => {
                    return self.squares::<FUSED, 7, MANY_POSITIONS, 13>();
                }
                Some(3) if FUSED && width >= PLACES => {
                    return self.squares::<FUSED, 3, PLACES, 6>();
                }
                Some(5) if FUSED && width >= PLACES => {
                    return self.squares::<FUSED, 5, PLACES, 8>();
                }
                Some(7) if FUSED && width >= PLACES => {
                    return self.squares::<FUSED, 7, PLACES, 10>();
                }
                _ => {}
            }
        } else {
            self.pad();
        }
        if width.is_multiple_of(MANY_POSITIONS) {
            self.lines::<FUSED, MANY_POSITIONS>();
        } else if width >= PLACES {
            self.lines::<FUSED, PLACES>();
        } else {
            self.lines::<FUSED, 1>();
        }
    }

    /// Copies the input between zeros.
    #[inline(always)]
    fn pad(&mut self) {
        let ([_, _, width], left) = (self.window.input, self.window.padding[2]);
        let pitch = Self::pitch(self.window);
        let lines = self.input.chunks_exact(width * LANES);
        for (line, padded) in lines.zip(self.padded.chunks_exact_mut(pitch * LANES)) {
            padded[left * LANES..][..width * LANES].copy_from_slice(line);
        }
    }

    /// The output by a kernel of `SIDE` by `SIDE` with a step of 1, `N` positions at a time, which read `SEEN`
    /// positions: all that lie below the kernel, or without those beside a whole line.
    #[inline(always)]
    fn squares<const FUSED: bool, const SIDE: usize, const N: usize, const SEEN: usize>(&mut self) {
        let window = self.window;
        let [_, height, width] = window.output;
        let beside = const { (N + SIDE - 1 - SEEN) / 2 };
        let (source, pitch) = match beside {
            0 => (&*self.padded, Self::pitch(window)),
            _ => (self.input, width),
        };
        let (source, kernels) = (source.as_chunks::<LANES>().0, self.kernels.as_chunks().0);
        for y in 0..height {
            let (rows, first) = Self::lines_seen(window, y);
            // The last positions are summed twice if the others leave fewer.
            for x in (0..width).step_by(N).map(|x| x.min(width - N)) {
                let mut sums = [[T::zero(); LANES]; N];
                for (i, row) in rows.clone().enumerate() {
                    let mut seen = [[T::zero(); LANES]; SEEN];
                    seen.copy_from_slice(&source[(first + i) * pitch + x..][..SEEN]);
                    let factors: &[[T; LANES]] = &kernels[row * SIDE..][..SIDE];
                    for (dx, factors) in factors.iter().enumerate() {
                        // A copy: behind the reference the compiler would put the sums in memory.
                        let factors = *factors;
                        for (j, sums) in sums.iter_mut().enumerate() {
                            if dx + j >= beside && dx + j - beside < SEEN {
                                add_products::<_, FUSED>(sums, &seen[dx + j - beside], &factors);
                            }
                        }
                    }
                }
                let at = (y * width + x) * LANES;
                self.sums[at..][..N * LANES].copy_from_slice(sums.as_flattened());
            }
        }
    }

    /// The output by any kernel, `N` positions at a time.
    #[inline(always)]
    fn lines<const FUSED: bool, const N: usize>(&mut self) {
        let (window, pitch) = (self.window, Self::pitch(self.window));
        let [_, height, width] = window.output;
        for y in 0..height {
            // The last positions are summed twice if the others leave fewer.
            for x in (0..width).step_by(N).map(|x| x.min(width - N)) {
                self.tile::<FUSED, N>(y, x, pitch);
            }
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
            for (dx, factors) in kernels[row * kernel..][..kernel].iter().enumerate() {
                let seen = &line[x * step + dx * apart..][..(N - 1) * step + 1];
                for (j, sums) in sums.iter_mut().enumerate() {
                    add_products::<_, FUSED>(sums, &seen[j * step], factors);
                }
            }
        }
        let at = (y * window.output[2] + x) * LANES;
        self.sums[at..][..N * LANES].copy_from_slice(sums.as_flattened());
    }
}

#[inline(always)]
fn add_products<T: Float, const FUSED: bool>(
    sums: &mut [T; LANES],
    seen: &[T; LANES],
    factors: &[T; LANES],
) {
    for (sum, &v, &factor) in zip_mut2(sums, seen, factors) {
        *sum = multiply_add::<_, FUSED>(v, factor, *sum);
    }
}
