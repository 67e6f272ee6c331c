//! How PyTorch's kernels compute in each type, and round to it.

use half::{bf16, f16};

use super::box_muller::BoxMuller;
use super::float::sealed::{Float, Wide};
use super::fused::{fused_f32, run_fused};
use super::mt19937::{Mt19937, join};

impl Float for f32 {
    type Wide = Self;

    #[inline]
    fn narrow(value: f32) -> Self {
        value
    }
    #[inline]
    fn widen(self) -> f32 {
        self
    }
    #[inline]
    fn as_wide(values: &mut [Self]) -> Option<&mut [f32]> {
        Some(values)
    }
    #[inline]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn holds(value: f64) -> bool {
        value.abs() <= f64::from(f32::MAX)
    }
}

impl Float for f64 {
    type Wide = Self;

    #[inline]
    fn narrow(value: f64) -> Self {
        value
    }
    #[inline]
    fn widen(self) -> f64 {
        self
    }
    #[inline]
    fn as_wide(values: &mut [Self]) -> Option<&mut [f64]> {
        Some(values)
    }
    #[inline]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
    fn holds(value: f64) -> bool {
        value.is_finite()
    }
}

macro_rules! sixteen_bits {
    ($($type:ty),*) => {$(
        impl Float for $type {
            type Wide = f32;

            #[inline]
            fn narrow(value: f32) -> Self {
                Self::from_f32(value)
            }
            #[inline]
            fn widen(self) -> f32 {
                self.to_f32()
            }
            #[inline]
            fn as_wide(_: &mut [Self]) -> Option<&mut [f32]> {
                None
            }
            // PyTorch has no conversion from `double` and rounds twice, by way of `float`.
            #[inline]
            fn from_f64(value: f64) -> Self {
                Self::from_f32(value as f32)
            }
            #[inline]
            fn to_f64(self) -> f64 {
                Self::to_f64(self)
            }
            fn holds(value: f64) -> bool {
                value.abs() <= Self::MAX.to_f64()
            }
        }
    )*};
}

sixteen_bits!(f16, bf16);

// What loops are made of is always inlined: it is compiled for each level of vector instructions.
#[allow(clippy::inline_always)]
impl Wide for f32 {
    const ZERO: Self = 0.0;
    type Words = u32;
    const NO_WORDS: u32 = 0;

    #[allow(private_interfaces, reason = "the trait is sealed")]
    fn fill_words(engine: &mut Mt19937, out: &mut [u32]) {
        engine.fill(out);
    }
    #[inline(always)]
    fn unit(word: u32) -> Self {
        // By way of a signed integer, for which there is an instruction everywhere.
        (word & 0x00ff_ffff) as i32 as f32 * (1.0 / 16_777_216.0)
    }
    #[inline(always)]
    fn fused<const FMA: bool>(self, factor: Self, term: Self) -> Self {
        fused_f32::<FMA>(self, factor, term)
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self - other
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }
    #[inline]
    fn over(self, other: Self) -> Self {
        self / other
    }
    #[inline]
    fn ln(self) -> Self {
        // The rounded `f64` logarithm is the nearest `f32` but for a few inputs in a billion, which
        // no library's own `logf` promises. PyTorch's differs from it in 15372 of the 2²⁴ uniforms,
        // by one unit in the last place.
        f64::from(self).ln() as f32
    }
    fn box_muller(words: &[u32], out: &mut [Self], mean: Self, std: Self) {
        run_fused(BoxMuller {
            words,
            out,
            mean,
            std,
        });
    }
}

#[allow(clippy::inline_always)]
impl Wide for f64 {
    const ZERO: Self = 0.0;
    type Words = [u32; 2];
    const NO_WORDS: [u32; 2] = [0; 2];

    #[allow(private_interfaces, reason = "the trait is sealed")]
    fn fill_words(engine: &mut Mt19937, out: &mut [[u32; 2]]) {
        engine.fill(out.as_flattened_mut());
    }
    #[inline(always)]
    fn unit(pair: [u32; 2]) -> Self {
        let bits = join(pair) & ((1 << 53) - 1);
        bits as i64 as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
    #[inline(always)]
    fn fused<const FMA: bool>(self, factor: Self, term: Self) -> Self {
        self.mul_add(factor, term)
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self - other
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }
    #[inline]
    fn over(self, other: Self) -> Self {
        self / other
    }
    #[inline]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    fn box_muller(words: &[[u32; 2]], out: &mut [Self], mean: Self, std: Self) {
        // PyTorch's kernel for `f64` is this loop, calling the platform's library for every value.
        // On Linux with glibc, Rust's methods call the same functions: a million values are equal.
        let (blocks, _) = words.as_chunks::<16>();
        for (words, out) in blocks.iter().zip(out.as_chunks_mut::<16>().0) {
            for j in 0..8 {
                let radius = (-2.0 * (1.0 - Self::unit(words[j])).ln()).sqrt();
                let theta = std::f64::consts::TAU * Self::unit(words[j + 8]);
                out[j] = (radius * theta.cos()).mul_add(std, mean);
                out[j + 8] = (radius * theta.sin()).mul_add(std, mean);
            }
        }
    }
}
