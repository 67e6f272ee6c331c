//! The rules for integer tensors that represent indices, classes or lengths.

use std::borrow::Cow;

use crate::tensor::Tensor;
use crate::{DType, DTypeError, Error, Result};

/// The meaning of a tensor's integers, which determines the allowed dtypes.
///
/// `I64` and `I32` are always allowed. `U8` is allowed for classes or lengths, but not for indices: by PyTorch's older
/// convention, a byte tensor is a mask there, and would select other elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// Indices of elements: `I64` or `I32`.
    Indices,
    /// Classes or labels: `I64`, `I32` or `U8`.
    Classes,
    /// Lengths: `I64`, `I32` or `U8`.
    Lengths,
}

impl Integers {
    const fn needs(self) -> &'static str {
        match self {
            Self::Indices => "indices of int64 or int32; cast with `to_dtype(DType::I64)`",
            Self::Classes => "classes of int64, int32 or uint8; cast with `to_dtype(DType::I64)`",
            Self::Lengths => "lengths of int64, int32 or uint8; cast with `to_dtype(DType::I64)`",
        }
    }
}

impl Tensor {
    /// These integers as `I64`, in which operations read indices, classes and lengths. A tensor that is already `I64` is
    /// not copied.
    ///
    /// # Errors
    ///
    /// A dtype that [`Integers`] does not allow; `op` is the operation that the error names.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Integers, Tensor};
    ///
    /// let classes = Tensor::from([2_u8, 0]).to_integers("my_loss", Integers::Classes)?;
    /// assert_eq!(classes.dtype(), DType::I64);
    /// let error = Tensor::from([2.0_f32]).to_integers("my_loss", Integers::Classes).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "my_loss: not available for float32; it needs classes of int64, int32 or uint8; cast with \
    ///      `to_dtype(DType::I64)`"
    /// );
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn to_integers(&self, op: &'static str, of: Integers) -> Result<Self> {
        match (self.dtype(), of) {
            (DType::I64, _) => Ok(self.clone()),
            (DType::I32, _) | (DType::U8, Integers::Classes | Integers::Lengths) => {
                self.to_dtype(DType::I64)
            }
            (dtype, _) => {
                let needs = of.needs();
                Err(DTypeError::Unsupported { op, dtype, needs }.into())
            }
        }
    }

    /// The indices for an operation on this tensor, on its device.
    pub(super) fn indices(&self, op: &'static str, index: &Self) -> Result<Self> {
        self.check_device(op, index)?;
        index.to_integers(op, Integers::Indices)
    }
}

/// The length of each sequence: an integer tensor (`I64`, `I32` or `U8`) with at most one dimension, or a list.
///
/// Functions take `impl Into<Lengths>`, so `[3, 2]`, a `Vec`, a slice and a tensor are all accepted.
///
/// # Example
///
/// ```
/// use module_tensor::{Lengths, Tensor};
///
/// let of_tensor = Lengths::from(Tensor::from([3_i32, 2])).get("pack", "lengths")?;
/// let of_list = Lengths::from([3, 2]).get("pack", "lengths")?;
/// assert_eq!((&*of_tensor, &*of_list), (&[3, 2][..], &[3, 2][..]));
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lengths<'a>(Given<'a>);

#[derive(Clone, Debug)]
enum Given<'a> {
    Tensor(Cow<'a, Tensor>),
    List(Cow<'a, [usize]>),
}

impl<'a> Lengths<'a> {
    /// The lengths as a list.
    ///
    /// # Errors
    ///
    /// A tensor of another dtype or with more dimensions, a negative length; the error names the operation `op` and the
    /// argument `name`.
    pub fn get(self, op: &'static str, name: &'static str) -> Result<Cow<'a, [usize]>> {
        let tensor = match self.0 {
            Given::List(list) => return Ok(list),
            Given::Tensor(tensor) => tensor,
        };
        if tensor.rank() > 1 {
            return Err(tensor
                .shape()
                .error(op, format!("a one-dimensional tensor of {name}")));
        }
        let numbers = tensor.to_integers(op, Integers::Lengths)?.to_vec::<i64>()?;
        let length = |length: i64| {
            let negative = |_| Error::argument(op, name, length, "must not be negative");
            usize::try_from(length).map_err(negative)
        };
        let lengths: Result<Vec<usize>> = numbers.into_iter().map(length).collect();
        lengths.map(Cow::Owned)
    }
}

impl<'a> From<&'a Tensor> for Lengths<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self(Given::Tensor(Cow::Borrowed(tensor)))
    }
}

impl From<Tensor> for Lengths<'_> {
    fn from(tensor: Tensor) -> Self {
        Self(Given::Tensor(Cow::Owned(tensor)))
    }
}

impl<'a> From<&'a [usize]> for Lengths<'a> {
    fn from(list: &'a [usize]) -> Self {
        Self(Given::List(Cow::Borrowed(list)))
    }
}

impl<'a, const N: usize> From<&'a [usize; N]> for Lengths<'a> {
    fn from(list: &'a [usize; N]) -> Self {
        Self::from(list.as_slice())
    }
}

impl<const N: usize> From<[usize; N]> for Lengths<'_> {
    fn from(list: [usize; N]) -> Self {
        Self::from(list.to_vec())
    }
}

impl<'a> From<&'a Vec<usize>> for Lengths<'a> {
    fn from(list: &'a Vec<usize>) -> Self {
        Self::from(list.as_slice())
    }
}

impl From<Vec<usize>> for Lengths<'_> {
    fn from(list: Vec<usize>) -> Self {
        Self(Given::List(Cow::Owned(list)))
    }
}
