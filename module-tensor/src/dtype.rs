//! Element types.

use std::cell::Cell;
use std::fmt;

/// The type of a tensor's elements.
///
/// # Example
///
/// ```
/// use module_tensor::DType;
///
/// assert_eq!(DType::BF16.to_string(), "bfloat16");
/// assert_eq!(DType::F64.size_in_bytes(), 8);
/// assert!(!DType::I64.is_floating_point());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit floating point, the default.
    F32,
    /// 64-bit floating point.
    F64,
    /// 16-bit floating point, IEEE 754 half precision.
    F16,
    /// 16-bit floating point with the exponent of `F32`.
    BF16,
    /// 64-bit signed integer, the type of indices and counters.
    I64,
    /// 32-bit signed integer.
    I32,
    /// 8-bit unsigned integer.
    U8,
    /// Truth value, one byte each.
    Bool,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [Self; 8] = [
        Self::F32,
        Self::F64,
        Self::F16,
        Self::BF16,
        Self::I64,
        Self::I32,
        Self::U8,
        Self::Bool,
    ];

    /// Whether this is one of the floating-point types, which alone carry gradients.
    pub const fn is_floating_point(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::BF16)
    }

    /// A number with the precision of this dtype, as far as `f64` is not what is computed in.
    pub(crate) fn rounded(self, number: f64) -> f64 {
        match self {
            Self::F32 => (number as f32).into(),
            Self::F16 => half::f16::from_f64(number).into(),
            Self::BF16 => half::bf16::from_f64(number).into(),
            _ => number,
        }
    }

    /// The size of one element.
    pub const fn size_in_bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::BF16 => 2,
            Self::U8 | Self::Bool => 1,
        }
    }

    /// PyTorch's name, without the `torch.`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::F16 => "float16",
            Self::BF16 => "bfloat16",
            Self::I64 => "int64",
            Self::I32 => "int32",
            Self::U8 => "uint8",
            Self::Bool => "bool",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

thread_local! {
    static DEFAULT: Cell<DType> = const { Cell::new(DType::F32) };
}

/// The dtype of new parameters on this thread: `F32` unless [`with_default_dtype`] says otherwise.
pub fn default_dtype() -> DType {
    DEFAULT.with(Cell::get)
}

/// Runs `f` with another dtype for new parameters on this thread.
///
/// Draws happen in that dtype, as under PyTorch's `torch.set_default_dtype`.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, default_dtype, with_default_dtype};
///
/// assert_eq!(with_default_dtype(DType::F64, default_dtype), DType::F64);
/// assert_eq!(default_dtype(), DType::F32);
/// ```
pub fn with_default_dtype<R>(dtype: DType, f: impl FnOnce() -> R) -> R {
    struct Restore(DType);

    impl Drop for Restore {
        fn drop(&mut self) {
            DEFAULT.set(self.0);
        }
    }

    let _restore = Restore(DEFAULT.replace(dtype));
    f()
}

/// A number that takes the dtype of the tensor it meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A floating-point number.
    Float(f64),
    /// An integer.
    Int(i64),
    /// A truth value.
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

    /// Whether the value has a fraction in its type, so that no integer tensor can hold it.
    pub fn is_float(self) -> bool {
        matches!(self, Self::Float(_))
    }

    /// The value that a tensor of `dtype` holds for this one: rounded, or of an integer what is left
    /// when it wraps.
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
        }
    }

    /// Checks that a tensor of `dtype` can hold the value, whose fraction integers cut: that it neither
    /// wraps nor becomes infinite. A negative number that a byte holds as its complement does fit, as in
    /// PyTorch.
    pub(crate) fn check_fits(self, op: &'static str, dtype: DType) -> crate::Result<()> {
        let value = self.to_f64();
        let within = |low: f64, high: f64| (low..high).contains(&value);
        let fits = match (dtype, self) {
            (DType::Bool | DType::F64, _) | (DType::I64, Self::Int(_)) => true,
            _ if value.is_infinite() && dtype.is_floating_point() => true,
            (DType::F32, _) => !(value as f32).is_infinite(),
            (DType::F16, _) => !half::f16::from_f64(value).is_infinite(),
            (DType::BF16, _) => !half::bf16::from_f64(value).is_infinite(),
            (DType::I64, _) => within(-(2.0_f64.powi(63)), 2.0_f64.powi(63)),
            (DType::I32, _) => within(-(2.0_f64.powi(31)), 2.0_f64.powi(31)),
            (DType::U8, Self::Int(_)) => within(-255.0, 256.0),
            (DType::U8, _) => within(0.0, 256.0),
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

scalar_from!(f32 => Float, f64 => Float, half::f16 => Float, half::bf16 => Float, i64 => Int, i32 => Int, u8 => Int, u32 => Int, bool => Bool);

/// An integer, or beyond those of `i64`, which no tensor holds exactly, the nearest floating-point
/// number.
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
