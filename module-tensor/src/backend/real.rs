//! The number types that formulas are generic over.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number in an [`UpdateFormula`](UpdateFormula): an element of a tensor, or a result computed from elements.
///
/// It is a number of the CPU or the record of a computation that other devices carry out; a formula does not know which.
/// Each operation rounds like the [`Tensor`](crate::Tensor) operation of the same name; a scalar operand is rounded to the
/// dtype first.
///
/// # Example
///
/// ```
/// use module_tensor::fused::Real;
///
/// /// A soft step: written once, and computed on any device.
/// fn soft_sign<T: Real>(x: T) -> T {
///     x / (x.abs() + 1.0)
/// }
/// ```
///
/// ```
/// use module_tensor::Tensor;
/// use module_tensor::fused::{Real, UpdateFormula, update_elements};
///
/// /// The functions of two numbers, one for each written tensor.
/// #[derive(Clone, Copy)]
/// struct Functions;
///
/// impl UpdateFormula<6, 1> for Functions {
///     #[inline]
///     fn apply<T: Real>(self, [x, ..]: [T; 6], [y]: [T; 1]) -> [T; 6] {
///         [
///             x.sqrt().recip(),
///             x.maximum(y).clamp(-1.0, 3.0),
///             x.add_product(2.0, y, y),
///             x.add_quotient(2.0, x, y),
///             x.lerp(y, 0.25),
///             y.where_positive(x, y.sign()),
///         ]
///     }
/// }
///
/// let mut values = [(); 6].map(|()| Tensor::from([4.0_f64]));
/// update_elements(values.each_mut(), [&Tensor::from([-2.0_f64])], Functions)?;
/// let values: Vec<f64> = values.iter().map(Tensor::item).collect::<Result<_, _>>()?;
/// assert_eq!(values, [0.5, 3.0, 12.0, 0.0, 2.5, -1.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub trait Real:
    Copy
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// `|x|`
    fn abs(self) -> Self;

    /// `1/x`
    fn recip(self) -> Self;

    /// `√x`
    fn sqrt(self) -> Self;

    /// 1, -1 or 0, as it is above 0, below or neither.
    fn sign(self) -> Self;

    /// The greater one; NaN if either is NaN.
    fn maximum(self, other: Self) -> Self;

    /// At least `min` and at most `max`; NaN stays.
    fn clamp(self, min: f64, max: f64) -> Self;

    /// `x + s·y`
    fn add_scaled(self, y: Self, s: f64) -> Self;

    /// `x + (s·y)·z`, PyTorch's `addcmul`.
    fn add_product(self, s: f64, y: Self, z: Self) -> Self;

    /// `x + (s·y)/z`, PyTorch's `addcdiv`.
    fn add_quotient(self, s: f64, y: Self, z: Self) -> Self;

    /// `x + w·(y - x)`, from the side that rounds less.
    fn lerp(self, y: Self, w: f64) -> Self;

    /// `y` where this is above 0, otherwise `z`.
    fn where_positive(self, y: Self, z: Self) -> Self;
}

/// A formula for [`update_elements`](crate::fused::update_elements): computes the new elements of `W` written tensors from
/// their elements and those of `R` tensors that are only read.
///
/// It holds the numbers of the formula. Its result must depend only on them and on the elements.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
/// use module_tensor::fused::{Real, UpdateFormula, update_elements};
///
/// #[derive(Clone, Copy)]
/// struct Decay(f64);
///
/// impl UpdateFormula<1, 0> for Decay {
///     #[inline]
///     fn apply<T: Real>(self, [value]: [T; 1], []: [T; 0]) -> [T; 1] {
///         [value * self.0]
///     }
/// }
///
/// let mut value = Tensor::from([1.0, 2.0]);
/// update_elements([&mut value], [], Decay(0.5))?;
/// assert_eq!(value.to_vec::<f64>()?, [0.5, 1.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub trait UpdateFormula<const W: usize, const R: usize>: Copy + Sync {
    /// The new elements of the written tensors. Mark it `#[inline]`, so that it becomes one vectorized loop, and have the
    /// numbers of the formula by value: behind a reference they are read and converted again for every few elements.
    fn apply<T: Real>(self, written: [T; W], read: [T; R]) -> [T; W];
}
