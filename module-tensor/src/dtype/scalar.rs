//! Numbers without a dtype of their own.

use std::fmt;

use super::DType;
use crate::F8E5M2;

/// A number that takes the dtype of the tensor it meets.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Scalar, Tensor};
///
/// let number: Scalar = 2.5.into();
/// assert_eq!(Tensor::full([2], number, DType::F32)?.to_vec::<f32>()?, [2.5, 2.5]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::Scalar;
///
/// // Only a number with fractions cannot be added to integers.
/// let [half, three, yes] = [Scalar::from(0.5), Scalar::from(3_u8), Scalar::from(true)];
/// assert_eq!((half.is_float(), three.is_float(), yes.is_float()), (true, false, false));
/// assert_eq!((half.to_f64(), three.to_f64(), yes.to_f64()), (0.5, 3.0, 1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A floating-point number.
    Float(f64),
    /// An integer.
    Int(i64),
    /// A boolean.
    Bool(bool),
}

impl Scalar {
    /// The value as a floating-point number.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Float(value) => value,
            Self::Int(value) => value as f64,
            Self::Bool(value) => f64::from(u8::from(value)),
        }
    }

    /// Whether the type of the value has fractions, so that no integer tensor can hold it.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float(_))
    }

    /// The value that a tensor of `dtype` holds for this one: rounded, or wrapped for integers.
    pub(crate) fn rounded_to(self, dtype: DType) -> Self {
        let value = self.to_f64();
        let integer = match self {
            Self::Int(value) => value,
            _ => value as i64,
        };
        match dtype {
            DType::F64 => Self::Float(value),
            DType::F32 => Self::Float(f64::from(value as f32)),
            DType::F16 => Self::Float(half::f16::from_f32(value as f32).to_f64()),
            DType::BF16 => Self::Float(half::bf16::from_f32(value as f32).to_f64()),
            DType::I64 => Self::Int(integer),
            DType::I32 => Self::Int(i64::from(integer as i32)),
            DType::U8 => Self::Int(i64::from(integer as u8)),
            DType::Bool => Self::Bool(value != 0.0),
            // These have no arithmetic, and creating them rounds.
            _ => self,
        }
    }

    /// Checks that a tensor of `dtype` can hold the value, apart from a fraction that integers truncate: that it neither
    /// wraps nor becomes infinite. A negative number that an unsigned integer holds as its complement is allowed, as in
    /// PyTorch.
    pub(crate) fn check_fits(self, op: &'static str, dtype: DType) -> crate::Result<()> {
        let value = self.to_f64();
        let within = |low: f64, high: f64| (low..high).contains(&value);
        let fits = match (dtype, self) {
            (DType::Bool | DType::F64, _) | (DType::I64, Self::Int(_)) => true,
            _ if value.is_infinite() && dtype == DType::F8E4M3 => false,
            _ if value.is_infinite() && (dtype.is_floating_point() || dtype.is_complex()) => true,
            (DType::F32 | DType::Complex64, _) => !(value as f32).is_infinite(),
            (DType::F16, _) => !half::f16::from_f64(value).is_infinite(),
            (DType::BF16, _) => !half::bf16::from_f64(value).is_infinite(),
            (DType::I64, _) => within(-(2.0_f64.powi(63)), 2.0_f64.powi(63)),
            (DType::I32, _) => within(-(2.0_f64.powi(31)), 2.0_f64.powi(31)),
            (DType::I8, _) => within(-128.0, 128.0),
            (DType::I16, _) => within(-32768.0, 32768.0),
            (DType::U8, Self::Int(_)) => within(-255.0, 256.0),
            (DType::U8, _) => within(0.0, 256.0),
            (DType::U16, Self::Int(_)) => within(-65535.0, 65536.0),
            (DType::U16, _) => within(0.0, 65536.0),
            (DType::U32, Self::Int(_)) => within(-(2.0_f64.powi(32)) + 1.0, 2.0_f64.powi(32)),
            (DType::U32, _) => within(0.0, 2.0_f64.powi(32)),
            // Halfway to the next number, whose code is taken by NaN.
            (DType::F8E4M3, _) => value.is_nan() || value.abs() <= 464.0,
            (DType::F8E5M2, _) => !F8E5M2::from_f32(value as f32).to_f32().is_infinite(),
        };
        if fits {
            return Ok(());
        }
        let problem = format!("does not fit {dtype}; choose a wider dtype");
        Err(crate::Error::argument(op, "value", self, problem))
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}

macro_rules! scalar_from {
    ($($type:ty => $variant:ident),*) => {$(
        impl From<$type> for Scalar {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

scalar_from!(f32 => Float, f64 => Float, half::f16 => Float, half::bf16 => Float, i64 => Int, i32 => Int, i16 => Int, i8 => Int, u8 => Int, u16 => Int, u32 => Int, bool => Bool);

/// An integer or, beyond the range of `i64`, which no tensor holds exactly, the nearest floating-point number.
macro_rules! scalar_from_wide {
    ($($type:ty),*) => {$(
        impl From<$type> for Scalar {
            fn from(value: $type) -> Self {
                i64::try_from(value).map_or(Self::Float(value as f64), Self::Int)
            }
        }
    )*};
}

scalar_from_wide!(usize, isize, u64);
