use half::{bf16, f16};

use super::fused::fused_f32;
use super::mt19937::join;
use super::{Generator, cephes};

/// The types that continuous distributions fill: `f32`, `f64`, [`struct@f16`] and [`bf16`].
///
/// The trait is sealed; its methods are the rounding rules of PyTorch's kernels.
pub trait RandomFloat: Float {}

impl RandomFloat for f32 {}
impl RandomFloat for f64 {}
impl RandomFloat for f16 {}
impl RandomFloat for bf16 {}

pub(super) mod sealed {
    use super::Generator;

    /// A type of tensor elements.
    pub trait Float: Copy + PartialEq + PartialOrd + 'static {
        /// The type that kernels compute in: `f64` for itself, `f32` for the others.
        type Wide: Wide;

        /// Rounds a computed value.
        fn narrow(value: Self::Wide) -> Self;
        /// The value, exactly, in the type that kernels compute in.
        fn widen(self) -> Self::Wide;
        /// Rounds a value of a kernel that computes in `f64` whatever the type of the tensor is.
        fn from_f64(value: f64) -> Self;
        /// The value, exactly.
        fn to_f64(self) -> f64;
        /// Whether the finite `value` stays finite in this type.
        fn holds(value: f64) -> bool;
    }

    /// A type that kernels compute in.
    pub trait Wide: Float<Wide = Self> + std::ops::Neg<Output = Self> {
        /// Zero, of which a buffer is made.
        const ZERO: Self;

        /// Fills `out` with uniforms in `[0, 1)`: 24 bits of one word, or 53 bits of two.
        fn fill_unit(generator: &mut Generator, out: &mut [Self]);
        /// `self * factor + term`, rounded once.
        fn fused(self, factor: Self, term: Self) -> Self;
        /// `self - other`.
        fn minus(self, other: Self) -> Self;
        /// `self * other`.
        fn times(self, other: Self) -> Self;
        /// `self / other`.
        fn over(self, other: Self) -> Self;
        /// The natural logarithm.
        fn ln(self) -> Self;
        /// The Box–Muller transform of eight pairs of uniforms, the pairs being `(j, j + 8)`.
        fn box_muller(block: &mut [Self; 16], mean: Self, std: Self);
    }
}

use sealed::{Float, Wide};

/// How many words are drawn at a time on the stack: enough for the loops to vectorise.
const BLOCK: usize = 256;

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

impl Wide for f32 {
    const ZERO: Self = 0.0;

    fn fill_unit(generator: &mut Generator, out: &mut [Self]) {
        let mut words = [0; BLOCK];
        for chunk in out.chunks_mut(BLOCK) {
            if let Some(words) = words.get_mut(..chunk.len()) {
                generator.engine.fill(words);
            }
            for (slot, &word) in chunk.iter_mut().zip(&words) {
                // By way of a signed integer, for which there is an instruction everywhere.
                *slot = (word & 0x00ff_ffff) as i32 as f32 * (1.0 / 16_777_216.0);
            }
        }
    }
    #[inline]
    fn fused(self, factor: Self, term: Self) -> Self {
        fused_f32(self, factor, term)
    }
    #[inline]
    fn minus(self, other: Self) -> Self {
        self - other
    }
    #[inline]
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
    fn box_muller(block: &mut [Self; 16], mean: Self, std: Self) {
        let (first, second) = block.split_at_mut(8);
        for (a, b) in first.iter_mut().zip(second) {
            // [0, 1) becomes (0, 1], of which there is always a logarithm.
            let radius = (-2.0 * cephes::ln(1.0 - *a)).sqrt();
            let (sin, cos) = cephes::sin_cos(std::f32::consts::TAU * *b);
            *a = fused_f32(radius * cos, std, mean);
            *b = fused_f32(radius * sin, std, mean);
        }
    }
}

impl Wide for f64 {
    const ZERO: Self = 0.0;

    fn fill_unit(generator: &mut Generator, out: &mut [Self]) {
        let mut words = [[0; 2]; BLOCK / 2];
        for chunk in out.chunks_mut(BLOCK / 2) {
            if let Some(words) = words.get_mut(..chunk.len()) {
                generator.engine.fill(words.as_flattened_mut());
            }
            for (slot, &pair) in chunk.iter_mut().zip(&words) {
                let bits = join(pair) & ((1 << 53) - 1);
                *slot = bits as i64 as f64 * (1.0 / 9_007_199_254_740_992.0);
            }
        }
    }
    #[inline]
    fn fused(self, factor: Self, term: Self) -> Self {
        self.mul_add(factor, term)
    }
    #[inline]
    fn minus(self, other: Self) -> Self {
        self - other
    }
    #[inline]
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
    fn box_muller(block: &mut [Self; 16], mean: Self, std: Self) {
        // PyTorch's kernel for `f64` is this loop, calling the platform's library for every value.
        // On Linux with glibc, Rust's methods call the same functions: a million values are equal.
        let (first, second) = block.split_at_mut(8);
        for (a, b) in first.iter_mut().zip(second) {
            let radius = (-2.0 * (1.0 - *a).ln()).sqrt();
            let theta = std::f64::consts::TAU * *b;
            *a = (radius * theta.cos()).mul_add(std, mean);
            *b = (radius * theta.sin()).mul_add(std, mean);
        }
    }
}
