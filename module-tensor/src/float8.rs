//! 8-bit floating-point numbers.

use std::cmp::Ordering;
use std::fmt;

use half::f16;

/// The parameters of an 8-bit format.
#[derive(Clone, Copy)]
struct Format {
    /// The bits of the mantissa.
    mantissa: u32,
    /// The bias that is added to the exponent.
    bias: u32,
    /// The code of the greatest finite number.
    greatest: u32,
    /// The result for greater numbers.
    beyond: u8,
}

/// The bits of an `f32` mantissa, and what is added to its exponent.
const MANTISSA: u32 = f32::MANTISSA_DIGITS - 1;
const BIAS: u32 = 127;

/// The code of NaN in both formats, without the sign.
const NAN: u8 = 0x7f;

impl Format {
    /// The nearest number, the one with an even code for ties.
    fn encode(self, value: f32) -> u8 {
        let bits = value.to_bits();
        let (sign, magnitude) = ((bits >> 24) as u8 & 0x80, bits & 0x7fff_ffff);
        if value.is_nan() {
            return sign | NAN;
        }
        let (dropped, rebias) = (MANTISSA - self.mantissa, BIAS - self.bias);
        let smallest = (rebias + 1) << MANTISSA;
        let code = if magnitude < smallest {
            // Below the smallest normal number, all numbers are multiples of the last bit of a float of that size: the
            // addition rounds.
            let unit = f32::from_bits((rebias + 1 + dropped) << MANTISSA);
            (f32::from_bits(magnitude) + unit).to_bits() - unit.to_bits()
        } else {
            let last = magnitude >> dropped & 1;
            let rounded = magnitude + (1 << (dropped - 1)) - 1 + last;
            (rounded >> dropped) - (rebias << self.mantissa)
        };
        match u8::try_from(code) {
            Ok(code) if u32::from(code) <= self.greatest => sign | code,
            _ => sign | self.beyond,
        }
    }
}

const E4M3: Format = Format {
    mantissa: 3,
    bias: 7,
    greatest: 0x7e,
    beyond: 0x7e,
};

const E5M2: Format = Format {
    mantissa: 2,
    bias: 15,
    greatest: 0x7b,
    beyond: 0x7c,
};

/// An 8-bit floating-point number with 4 bits of exponent and 3 of mantissa: PyTorch's
/// `float8_e4m3fn`, the elements of [`DType::F8E4M3`](crate::DType::F8E4M3).
///
/// It has NaN and no infinities. Numbers beyond ±448, including infinities, become ±448, as in PyTorch.
///
/// # Example
///
/// ```
/// use module_tensor::F8E4M3;
///
/// assert_eq!(F8E4M3::from_f32(0.3).to_f32(), 0.3125);
/// assert_eq!(F8E4M3::from_f32(1e6), F8E4M3::MAX);
/// ```
///
/// ```
/// use module_tensor::F8E4M3;
///
/// // A sign, four bits of exponent with a bias of 7, three bits of fraction: -2² · 1.5.
/// let number = F8E4M3::from_bits(0b1_1001_100);
/// assert_eq!((number.to_f32(), number.to_bits()), (-6.0, 0xcc));
/// ```
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct F8E4M3(u8);

/// An 8-bit floating-point number with 5 bits of exponent and 2 of mantissa, the upper half of an
/// `f16`: PyTorch's `float8_e5m2`, the elements of [`DType::F8E5M2`](crate::DType::F8E5M2).
///
/// A number that rounds beyond ±57344 becomes infinite.
///
/// # Example
///
/// ```
/// use module_tensor::F8E5M2;
///
/// assert_eq!(F8E5M2::from_f32(0.3).to_f32(), 0.3125);
/// assert_eq!(F8E5M2::from_f32(1e6).to_f32(), f32::INFINITY);
/// ```
///
/// ```
/// use module_tensor::F8E5M2;
///
/// // The upper half of the `f16` 1.5, which is 0x3e00.
/// let number = F8E5M2::from_bits(0x3e);
/// assert_eq!((number.to_f32(), number.to_bits()), (1.5, 0x3e));
/// ```
#[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct F8E5M2(u8);

impl F8E4M3 {
    /// The largest number, 448.
    pub const MAX: Self = Self(E4M3.greatest as u8);

    /// The nearest number, ties to even.
    pub fn from_f32(value: f32) -> Self {
        Self(E4M3.encode(value))
    }

    /// The same number.
    pub fn to_f32(self) -> f32 {
        let magnitude = self.0 & 0x7f;
        let value = match magnitude {
            NAN => f32::NAN,
            0..8 => f32::from(magnitude) / 512.0,
            _ => f32::from_bits((u32::from(magnitude) << 20) + ((BIAS - E4M3.bias) << MANTISSA)),
        };
        f32::from_bits(value.to_bits() | u32::from(self.0 & 0x80) << 24)
    }
}

impl F8E5M2 {
    /// The largest finite number, 57344.
    pub const MAX: Self = Self(E5M2.greatest as u8);

    /// The nearest number, ties to even.
    pub fn from_f32(value: f32) -> Self {
        Self(E5M2.encode(value))
    }

    /// The same number.
    pub fn to_f32(self) -> f32 {
        f16::from_bits(u16::from(self.0) << 8).to_f32()
    }
}

/// The code of both formats. Numbers compare and print as the equivalent `f32`.
macro_rules! numbers {
    ($($type:ident),*) => {$(
        impl $type {
            /// The number with these bits.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bits of the number.
            pub const fn to_bits(self) -> u8 {
                self.0
            }
        }

        impl From<$type> for f32 {
            fn from(value: $type) -> Self {
                value.to_f32()
            }
        }

        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    )*};
}

numbers!(F8E4M3, F8E5M2);

#[cfg(test)]
mod tests {
    use super::{F8E4M3, F8E5M2};

    /// The nearest of all numbers by distance, ties to even: an independent way to compute it.
    fn nearest(value: f32, codes: std::ops::RangeInclusive<u8>, of: impl Fn(u8) -> f32) -> u8 {
        let distance = |code: u8| (f64::from(of(code)) - f64::from(value.abs())).abs();
        let better = |a: u8, b: u8| match distance(b).total_cmp(&distance(a)) {
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Equal if b.is_multiple_of(2) => b,
            _ => a,
        };
        let code = codes.reduce(better).unwrap_or_default();
        code | if value.is_sign_negative() { 0x80 } else { 0 }
    }

    #[test]
    fn every_number_is_rounded_to_the_nearest() {
        let four = |code| F8E4M3::from_bits(code).to_f32();
        let five = |code| F8E5M2::from_bits(code).to_f32();
        // Numbers of every exponent, and those on and next to the midpoints between neighbors.
        let mut values: Vec<f32> = (0..=u16::MAX)
            .map(|i| f32::from_bits(u32::from(i) << 16))
            .collect();
        for code in 0..0x7e {
            for of in [&four as &dyn Fn(u8) -> f32, &five] {
                let middle = (of(code) + of(code + 1)) / 2.0;
                let bits = middle.to_bits();
                values.extend([bits.saturating_sub(1), bits, bits + 1].map(f32::from_bits));
            }
        }
        for value in values.into_iter().filter(|v| v.is_finite()) {
            if value.abs() <= 448.0 {
                let got = F8E4M3::from_f32(value).to_bits();
                assert_eq!(got, nearest(value, 0..=0x7e, four), "{value:e}");
            }
            if value.abs() <= 57344.0 {
                let got = F8E5M2::from_f32(value).to_bits();
                assert_eq!(got, nearest(value, 0..=0x7b, five), "{value:e}");
            }
        }
    }

    #[test]
    fn every_code_comes_back() {
        for code in 0..=u8::MAX {
            let (four, five) = (F8E4M3::from_bits(code), F8E5M2::from_bits(code));
            if !four.to_f32().is_nan() {
                assert_eq!(F8E4M3::from_f32(four.to_f32()).to_bits(), code);
            }
            if !five.to_f32().is_nan() {
                assert_eq!(F8E5M2::from_f32(five.to_f32()).to_bits(), code);
            }
        }
        assert!(F8E4M3::from_f32(f32::NAN).to_f32().is_nan());
        assert!(F8E5M2::from_f32(-f32::NAN).to_f32().is_nan());
        assert_eq!(F8E4M3::from_f32(f32::NEG_INFINITY).to_f32(), -448.0);
        assert_eq!(F8E5M2::from_f32(61440.0).to_f32(), f32::INFINITY);
        assert_eq!(format!("{} {:?}", F8E4M3::MAX, F8E5M2::MAX), "448 57344.0");
        assert!(F8E4M3::from_f32(1.0) < F8E4M3::from_f32(1.1));
    }
}
