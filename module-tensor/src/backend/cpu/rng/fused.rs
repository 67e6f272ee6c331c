//! `a * b + c` with one rounding, where PyTorch's compilers fuse.

#![allow(clippy::inline_always)]

use crate::simd::{Loop, has_fma, run_at_best_level};

/// `a * b + c`, rounded once. The result does not depend on the platform: Rust guarantees the rounding
/// of `mul_add`, and the detour through `f64` is exact.
///
/// Without the instruction, `mul_add` is a call into the platform's library for each number; the detour
/// vectorizes.
#[inline(always)]
pub(super) fn fused_f32<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA {
        a.mul_add(b, c)
    } else {
        fused_by_f64(a, b, c)
    }
}

/// A loop over such products, for a processor with the instruction or without.
pub(super) trait FusedLoop {
    fn run<const FMA: bool>(self);
}

/// Runs the loop with the vector instructions that the processor has.
pub(super) fn run_fused(work: impl FusedLoop) {
    if has_fma() {
        run_at_best_level(WithFma(work));
    } else {
        work.run::<false>();
    }
}

struct WithFma<L>(L);

impl<L: FusedLoop> Loop for WithFma<L> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.run::<true>();
    }
}

/// The same by `f64`. The product of two `f32` is exact there; the sum is rounded *to odd*, which keeps
/// enough of what was lost for the rounding to `f32` to come out as if it were the only one (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
#[inline(always)]
pub(super) fn fused_by_f64(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // Knuth's two-sum: `sum + lost` is `product + c` exactly.
    let virtual_c = sum - product;
    let lost = (product - (sum - virtual_c)) + (c - virtual_c);
    let bits = sum.to_bits();
    // Half a unit was lost at most, so that the neighbor on the side of what was lost has the odd
    // mantissa when `sum` has not. A NaN in `lost` (an infinite sum) must change nothing.
    let inexact = u64::from(lost.abs() > 0.0);
    let even = !bits & 1;
    let outwards = (bits ^ lost.to_bits()) >> 63 == 0;
    let step = if outwards { 1 } else { u64::MAX };
    f64::from_bits(bits.wrapping_add(step & (inexact & even).wrapping_neg())) as f32
}
