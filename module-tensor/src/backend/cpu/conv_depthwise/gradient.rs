//! The gradient of kernels whose planes have lines that fill vectors: products of a plane with shifted gradients.

use std::hint::black_box;

use super::super::aligned_vec::Workspace;
use super::super::conv::ConvSizes;
use super::super::float::Float;
use super::super::simd::{BASELINE_HAS_FMA, Level, Leveled};
use super::super::threads::{Items, parallel_for};
use super::super::window::Window;
use super::lines::copy_line;
use super::multiply_add;
use crate::Result;
use crate::zip::{zip_mut, zip_mut2};

/// The positions of a line that are multiplied at a time, each in a sum of its own.
const LANES: usize = 16;

/// The lines of the kernel whose gradients are summed at a time where there are 32 registers of 64 bytes.
const MANY_LINES: usize = 3;

/// The elements of the largest kernel.
const MOST_TAPS: usize = 49;

impl ConvSizes {
    /// Adds the gradients of the kernels, sample after sample; what [is by lines](Self::is_by_lines) has them.
    pub(super) fn run_gradient_by_lines<T: Float>(
        &self,
        level: Level,
        input: &[T],
        grad: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let window = &self.window;
        let (seen, positions, taps) = (window.input_len(), window.positions(), window.rows());
        let layout = Layout::of(window);
        let steps = self.batch * (taps * positions / 16 + seen + positions);
        parallel_for(self.groups, steps, Items(out, taps), &|groups, mut out| {
            let mut memory = [const { Workspace::new() }; 2];
            let [plane, shifted] = &mut memory;
            let (plane, shifted) = (plane.of(layout.plane_len), shifted.of(layout.grad_len));
            plane.fill(T::zero());
            shifted.fill(T::zero());
            for (i, group) in groups.enumerate() {
                for sample in 0..self.batch {
                    let at = sample * self.groups + group;
                    let input = &input[at * seen..][..seen];
                    let grad = &grad[at * positions..][..positions];
                    let mut lanes = [[T::zero(); LANES]; MOST_TAPS];
                    let products = Products {
                        window,
                        layout: &layout,
                        factors: [input, grad],
                        plane,
                        shifted,
                        sums: &mut lanes[..taps],
                    };
                    match window.kernel[2] {
                        3 => level.run(Square::<_, 3>(products)),
                        5 => level.run(Square::<_, 5>(products)),
                        _ => level.run(Square::<_, 7>(products)),
                    }
                    let mut sums = [T::zero(); MOST_TAPS];
                    for (sum, lanes) in zip_mut(&mut sums, &lanes[..taps]) {
                        *sum = lanes.iter().fold(T::zero(), |sum, &lane| sum.plus(lane));
                    }
                    let is_finite = |sum: &T| sum.times(T::zero()) == T::zero();
                    match sums.iter().all(is_finite) {
                        true => zip_mut(out.at(i), &sums).for_each(|(to, &v)| *to = to.plus(v)),
                        // An infinity may have been multiplied by a zero between the lines.
                        false => self.add_shifted_weight(input, grad, out.at(i)),
                    }
                }
            }
            Ok(())
        })
    }
}

/// How a plane and gradients lie in memory with zeros around them.
struct Layout {
    /// Where each line of the plane starts after the one before.
    pitch: usize,
    plane_len: usize,
    /// The same for the gradients, which are read from some positions before a line to some behind it.
    grad_pitch: usize,
    grad_len: usize,
}

impl Layout {
    fn of(window: &Window) -> Self {
        let (height, width) = (window.output[1], window.output[2]);
        let seen = window.input[2] + window.padding[2];
        let pitch = window.input[2].next_multiple_of(LANES);
        let grad_pitch = LANES + width.max(seen).next_multiple_of(LANES);
        Self {
            pitch,
            plane_len: (height + window.kernel[1] - 1) * pitch,
            grad_pitch,
            grad_len: height * grad_pitch + 2 * LANES + pitch + window.padding[2],
        }
    }
}

/// A plane and its gradients, and what is computed of them.
struct Products<'a, T> {
    window: &'a Window,
    layout: &'a Layout,
    factors: [&'a [T]; 2],
    /// Memory for both with zeros around them, which hold zeros.
    plane: &'a mut [T],
    shifted: &'a mut [T],
    sums: &'a mut [[T; LANES]],
}

/// A kernel of `SIDE` by `SIDE`.
struct Square<'a, T, const SIDE: usize>(Products<'a, T>);

impl<T: Float, const SIDE: usize> Leveled for Square<'_, T, SIDE> {
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        self.0.run::<true, SIDE, MANY_LINES>();
    }

    #[inline(always)]
    fn run_avx2(self) {
        self.0.run::<true, SIDE, 1>();
    }

    #[inline(always)]
    fn run_baseline(self) {
        match BASELINE_HAS_FMA {
            true => self.0.run::<true, SIDE, 1>(),
            false => self.0.run::<false, SIDE, 1>(),
        }
    }
}

impl<T: Float> Products<'_, T> {
    /// Copies both factors between zeros.
    #[inline(always)]
    fn fill(&mut self) {
        let ([_, _, seen], above) = (self.window.input, self.window.padding[1]);
        let positions = self.window.output[2];
        let [input, grad] = self.factors;
        let lines = self.plane.chunks_exact_mut(self.layout.pitch).skip(above);
        for (to, line) in lines.zip(input.chunks_exact(seen)) {
            copy_line(line, &mut to[..seen]);
        }
        let lines = self.shifted.chunks_exact_mut(self.layout.grad_pitch);
        for (to, line) in lines.zip(grad.chunks_exact(positions)) {
            copy_line(line, &mut to[LANES..][..positions]);
        }
    }

    /// `COUNT` lines of the kernel at a time.
    #[inline(always)]
    fn run<const FUSED: bool, const SIDE: usize, const COUNT: usize>(mut self) {
        self.fill();
        let Layout {
            pitch, grad_pitch, ..
        } = *self.layout;
        let count = pitch / LANES;
        // What the last column of the kernel reads from the first position: shifts to the right are positive.
        let start = LANES + self.window.padding[2] - (SIDE - 1);
        // The last lines are summed twice if the others leave fewer.
        for first in (0..SIDE)
            .step_by(COUNT)
            .map(|first| first.min(SIDE - COUNT))
        {
            let mut sums = [[[T::zero(); LANES]; COUNT]; SIDE];
            for y in 0..self.window.output[1] {
                // One length for all, so that it is checked once.
                let mut lines: [&[[T; LANES]]; COUNT] = [&[]; COUNT];
                for (dy, line) in lines.iter_mut().enumerate() {
                    *line = &self.plane[(y + first + dy) * pitch..].as_chunks().0[..count];
                }
                let mut shifted: [&[[T; LANES]]; SIDE] = [&[]; SIDE];
                for (dx, line) in shifted.iter_mut().enumerate() {
                    // The compiler would permute the elements that these share, which takes longer than reading them.
                    let from = black_box(&self.shifted[y * grad_pitch + start + SIDE - 1 - dx..]);
                    *line = &from.as_chunks().0[..count];
                }
                for i in 0..count {
                    // No loop: it would not be unrolled, and the sums would be in memory.
                    add_products::<T, FUSED, COUNT>(&mut sums[0], &lines, shifted[0], i);
                    add_products::<T, FUSED, COUNT>(&mut sums[1], &lines, shifted[1], i);
                    add_products::<T, FUSED, COUNT>(&mut sums[2], &lines, shifted[2], i);
                    if SIDE > 3 {
                        add_products::<T, FUSED, COUNT>(&mut sums[3], &lines, shifted[3], i);
                        add_products::<T, FUSED, COUNT>(&mut sums[4], &lines, shifted[4], i);
                    }
                    if SIDE > 5 {
                        add_products::<T, FUSED, COUNT>(&mut sums[5], &lines, shifted[5], i);
                        add_products::<T, FUSED, COUNT>(&mut sums[6], &lines, shifted[6], i);
                    }
                }
            }
            for (dx, sums) in sums.iter().enumerate() {
                for (dy, &sums) in sums.iter().enumerate() {
                    self.sums[(first + dy) * SIDE + dx] = sums;
                }
            }
        }
    }
}

/// Adds the products of some positions of a line of gradients with those of the lines of the plane.
#[inline(always)]
fn add_products<T: Float, const FUSED: bool, const COUNT: usize>(
    sums: &mut [[T; LANES]; COUNT],
    lines: &[&[[T; LANES]]; COUNT],
    grads: &[[T; LANES]],
    i: usize,
) {
    let grads = grads[i];
    for (sums, line) in zip_mut(sums, lines) {
        for (sum, &v, &grad) in zip_mut2(sums, &line[i], &grads) {
            *sum = multiply_add::<_, FUSED>(v, grad, *sum);
        }
    }
}
