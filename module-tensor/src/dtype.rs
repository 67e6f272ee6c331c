//! Element types.

mod scalar;

pub use scalar::Scalar;

use std::cell::Cell;
use std::fmt;
use std::str::FromStr;

use crate::{Error, F8E4M3, F8E5M2, Result};

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
///
/// ```
/// use module_tensor::DType;
///
/// assert_eq!((DType::F8E5M2.name(), DType::F8E5M2.is_floating_point()), ("float8_e5m2", true));
/// // Nothing computes with 8-bit numbers and complex numbers, so they carry no gradients.
/// assert!(!DType::F8E5M2.is_differentiable() && !DType::Complex64.is_differentiable());
/// assert!(DType::Complex64.is_complex() && !DType::Complex64.is_floating_point());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DType {
    /// 32-bit floating point, the default.
    #[doc(alias = "float")]
    #[doc(alias = "float32")]
    F32,
    /// 64-bit floating point.
    #[doc(alias = "double")]
    #[doc(alias = "float64")]
    F64,
    /// 16-bit floating point, IEEE 754 half precision.
    #[doc(alias = "half")]
    #[doc(alias = "float16")]
    F16,
    /// 16-bit floating point with the exponent of `F32`.
    #[doc(alias = "bfloat16")]
    BF16,
    /// 64-bit signed integer, the type of indices and counters.
    #[doc(alias = "long")]
    #[doc(alias = "int64")]
    I64,
    /// 32-bit signed integer.
    #[doc(alias = "int")]
    #[doc(alias = "int32")]
    I32,
    /// 8-bit unsigned integer.
    #[doc(alias = "uint8")]
    U8,
    /// Boolean, one byte each.
    Bool,
    /// 8-bit signed integer; [only stored](DType::is_storage_only).
    #[doc(alias = "int8")]
    I8,
    /// 16-bit signed integer; [only stored](DType::is_storage_only).
    #[doc(alias = "short")]
    #[doc(alias = "int16")]
    I16,
    /// 16-bit unsigned integer; [only stored](DType::is_storage_only).
    #[doc(alias = "uint16")]
    U16,
    /// 32-bit unsigned integer; [only stored](DType::is_storage_only).
    #[doc(alias = "uint32")]
    U32,
    /// 8-bit floating point with 3 bits of mantissa, [`F8E4M3`](crate::F8E4M3); [only stored](DType::is_storage_only).
    #[doc(alias = "float8_e4m3fn")]
    F8E4M3,
    /// 8-bit floating point with 2 bits of mantissa, [`F8E5M2`](crate::F8E5M2); [only stored](DType::is_storage_only).
    #[doc(alias = "float8_e5m2")]
    F8E5M2,
    /// Complex number of two `F32`, [`Complex<f32>`](crate::Complex); [only stored](DType::is_storage_only).
    #[doc(alias = "cfloat")]
    Complex64,
}

impl DType {
    /// Every dtype, in declaration order.
    pub const ALL: [Self; 15] = [
        Self::F32,
        Self::F64,
        Self::F16,
        Self::BF16,
        Self::I64,
        Self::I32,
        Self::U8,
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::U16,
        Self::U32,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::Complex64,
    ];

    /// Whether this is one of the floating-point types, including the 8-bit ones.
    pub const fn is_floating_point(self) -> bool {
        self.is_differentiable() || matches!(self, Self::F8E4M3 | Self::F8E5M2)
    }

    /// Whether this is the complex type, which is not one of the floating-point types.
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::Complex64)
    }

    /// Whether tensors of this dtype can carry gradients: whether it is a floating-point type with arithmetic.
    pub const fn is_differentiable(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::F16 | Self::BF16)
    }

    /// Whether tensors of this dtype can only be loaded, saved, created, printed, moved, rearranged and cast: computing
    /// with them returns [`DTypeError::Unsupported`](crate::DTypeError::Unsupported) until they are cast.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::from([100_i8, 100]);
    /// assert!(x.dtype().is_storage_only());
    /// assert_eq!(
    ///     x.add(&x).unwrap_err().to_string(),
    ///     "add: not available for int8; it needs a dtype that is computed with; cast it with `to_dtype`"
    /// );
    /// let x = x.to_dtype(DType::I64)?;
    /// assert_eq!(x.add(&x)?.to_vec::<i64>()?, [200, 200]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub const fn is_storage_only(self) -> bool {
        matches!(
            self,
            Self::I8
                | Self::I16
                | Self::U16
                | Self::U32
                | Self::F8E4M3
                | Self::F8E5M2
                | Self::Complex64
        )
    }

    /// `number` rounded to the precision of this dtype if it is a floating-point one narrower than `f64`.
    pub(crate) fn rounded(self, number: f64) -> f64 {
        match self {
            Self::F32 => (number as f32).into(),
            Self::F16 => half::f16::from_f64(number).into(),
            Self::BF16 => half::bf16::from_f64(number).into(),
            Self::F8E4M3 => F8E4M3::from_f32(number as f32).to_f32().into(),
            Self::F8E5M2 => F8E5M2::from_f32(number as f32).to_f32().into(),
            _ => number,
        }
    }

    /// The size of one element.
    pub const fn size_in_bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 | Self::Complex64 => 8,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::BF16 | Self::I16 | Self::U16 => 2,
            Self::U8 | Self::Bool | Self::I8 | Self::F8E4M3 | Self::F8E5M2 => 1,
        }
    }

    /// The error of an operation that does not support this dtype and `needs` something else: a cast, if nothing computes
    /// with the dtype.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::DType;
    ///
    /// assert_eq!(
    ///     DType::Bool.error("exp", "a floating-point tensor").to_string(),
    ///     "exp: not available for bool; it needs a floating-point tensor"
    /// );
    /// ```
    pub fn error(self, op: &'static str, needs: &'static str) -> Error {
        let needs = match self.is_storage_only() {
            true => "a dtype that is computed with; cast it with `to_dtype`",
            false => needs,
        };
        let dtype = self;
        crate::DTypeError::Unsupported { op, dtype, needs }.into()
    }

    /// Checks that a cast drops no imaginary part: a complex dtype casts only to itself or to `Bool`.
    pub(crate) fn check_cast(self, to: Self) -> Result<()> {
        if !self.is_complex() || matches!(to, Self::Complex64 | Self::Bool) {
            return Ok(());
        }
        let (op, dtype) = ("to_dtype", self);
        let needs = "real numbers, because the imaginary parts would be lost; take both parts with `view_as_real`";
        Err(crate::DTypeError::Unsupported { op, dtype, needs }.into())
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
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::F8E4M3 => "float8_e4m3fn",
            Self::F8E5M2 => "float8_e5m2",
            Self::Complex64 => "complex64",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A dtype from PyTorch's name of it, with or without `torch.`, as configuration files have it.
///
/// # Errors
///
/// Any other text.
///
/// # Example
///
/// ```
/// use module_tensor::DType;
///
/// assert_eq!("bfloat16".parse::<DType>()?, DType::BF16);
/// assert_eq!("torch.float32".parse::<DType>()?, DType::F32);
/// assert!("float33".parse::<DType>().is_err());
/// # Ok::<(), module_tensor::Error>(())
/// ```
impl FromStr for DType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let name = text.strip_prefix("torch.").unwrap_or(text);
        let found = Self::ALL.into_iter().find(|dtype| dtype.name() == name);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            let problem = format!("must be one of {known}");
            Error::argument("dtype", "name", text, problem)
        })
    }
}

thread_local! {
    static DEFAULT: Cell<DType> = const { Cell::new(DType::F32) };
}

/// The default dtype of new tensors and parameters on this thread: `F32` unless
/// [`with_default_dtype`] sets another.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, default_dtype};
///
/// assert_eq!(default_dtype(), DType::F32);
/// ```
#[doc(alias = "get_default_dtype")]
pub fn default_dtype() -> DType {
    DEFAULT.with(Cell::get)
}

/// Runs `f` with `dtype` as the default for new tensors and parameters on this thread.
///
/// Random draws use that dtype, as under PyTorch's `torch.set_default_dtype`.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, default_dtype, with_default_dtype};
///
/// assert_eq!(with_default_dtype(DType::F64, default_dtype), DType::F64);
/// assert_eq!(default_dtype(), DType::F32);
/// ```
#[doc(alias = "set_default_dtype")]
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
