use half::{bf16, f16};

use super::mt19937::Mt19937;

/// The types that continuous distributions fill: `f32`, `f64`, [`struct@f16`] and [`bf16`].
///
/// The trait is sealed; its methods are the rounding rules of PyTorch's kernels.
///
/// # Example
///
/// ```
/// use module_tensor::rng::{CpuGenerator, RandomFloat, RngError};
///
/// /// Noise of any precision.
/// fn noise<T: RandomFloat + Default>(seed: u64) -> Result<[T; 2], RngError> {
///     let mut values = [T::default(); 2];
///     CpuGenerator::new(seed).fill_normal(&mut values, 0.0, 1.0)?;
///     Ok(values)
/// }
///
/// // PyTorch's `torch.empty(2).normal_()` after `torch.manual_seed(0)`.
/// assert_eq!(noise::<f32>(0)?, [1.540_996_1, -0.293_428_9]);
/// assert_eq!(noise::<f64>(0)?[0] as f32, 1.540_996_1);
/// # Ok::<(), RngError>(())
/// ```
pub trait RandomFloat: sealed::Float {}

impl RandomFloat for f32 {}
impl RandomFloat for f64 {}
impl RandomFloat for f16 {}
impl RandomFloat for bf16 {}

pub(super) mod sealed {
    use super::Mt19937;

    /// A type of tensor elements.
    pub trait Float: Copy + PartialEq + PartialOrd + 'static {
        /// The type that kernels compute in: `f64` for itself, `f32` for the others.
        type Wide: Wide;

        /// Rounds a computed value.
        fn narrow(value: Self::Wide) -> Self;
        /// The value, exactly, in the type that kernels compute in.
        fn widen(self) -> Self::Wide;
        /// The elements themselves, where kernels compute in their type.
        fn as_wide(values: &mut [Self]) -> Option<&mut [Self::Wide]>;
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
        /// The words of which one uniform is made.
        type Words: Copy;
        /// No words yet, of which a buffer is made.
        const NO_WORDS: Self::Words;

        /// Fills `out` with the next words.
        #[allow(private_interfaces, reason = "the trait is sealed")]
        fn fill_words(engine: &mut Mt19937, out: &mut [Self::Words]);
        /// A uniform in `[0, 1)`: 24 bits of one word, or 53 bits of two.
        fn unit(words: Self::Words) -> Self;
        /// `self * factor + term`, rounded once.
        fn fused<const FMA: bool>(self, factor: Self, term: Self) -> Self;
        /// `self - other`.
        fn minus(self, other: Self) -> Self;
        /// `self * other`.
        fn times(self, other: Self) -> Self;
        /// `self / other`.
        fn over(self, other: Self) -> Self;
        /// The natural logarithm.
        fn ln(self) -> Self;
        /// The Box–Muller transform of blocks of eight pairs of uniforms, the pairs being `(j, j + 8)`.
        fn box_muller(words: &[Self::Words], out: &mut [Self], mean: Self, std: Self);
    }
}
