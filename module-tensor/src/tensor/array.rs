//! Conversions from and to ndarray's arrays.

use ndarray::{Array, ArrayD, ArrayView, ArrayViewD, Dimension, IxDyn};

use super::Tensor;
use crate::backend::{Element, cpu_view};
use crate::{DTypeError, Device, DeviceError, Error, Result, Shape};

/// The array's elements, which are not copied if they are in row-major order.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, ndarray};
///
/// let x = Tensor::try_from(ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]])?;
/// assert_eq!(x.shape().to_string(), "[2, 2]");
/// let back = ndarray::ArrayD::<f32>::try_from(&x.t()?)?;
/// assert_eq!(back[[0, 1]], 3.0);
/// # Ok::<(), module_tensor::Error>(())
/// ```
impl<T: Element, D: Dimension> TryFrom<Array<T, D>> for Tensor {
    type Error = Error;

    fn try_from(array: Array<T, D>) -> Result<Self> {
        let shape = Shape::from(array.shape());
        if !array.is_standard_layout() {
            return Self::try_from(array.view());
        }
        let numel = array.len();
        match array.into_raw_vec_and_offset() {
            (values, None | Some(0)) if values.len() == numel => Self::from_vec(values, shape),
            // A sliced array holds more than its elements.
            (values, start) => {
                let start = start.unwrap_or(0);
                let kept = values.get(start..).and_then(|rest| rest.get(..numel));
                Self::from_vec(kept.unwrap_or_default().to_vec(), shape)
            }
        }
    }
}

/// A copy of the view's elements.
impl<T: Element, D: Dimension> TryFrom<ArrayView<'_, T, D>> for Tensor {
    type Error = Error;

    fn try_from(array: ArrayView<'_, T, D>) -> Result<Self> {
        let shape = Shape::from(array.shape());
        shape.checked_numel("try_from", size_of::<T>())?;
        crate::backend::check_host_allocatable::<T>(array.len())?;
        Self::from_vec(array.iter().copied().collect(), shape)
    }
}

/// A copy of the tensor's elements, which must be of type `T`.
impl<T: Element> TryFrom<&Tensor> for ArrayD<T> {
    type Error = Error;

    fn try_from(x: &Tensor) -> Result<Self> {
        Self::from_shape_vec(IxDyn(x.shape()), x.to_vec()?).map_err(|error| {
            let problem = "has no array";
            Error::argument(
                "to an array",
                "shape",
                x.shape(),
                format!("{problem}: {error}"),
            )
        })
    }
}

/// The tensor's own memory, for a CPU tensor with elements of type `T`.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, ndarray::ArrayViewD};
///
/// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).t()?;
/// let view = ArrayViewD::<f32>::try_from(&x)?;
/// assert_eq!(view[[0, 1]], 3.0);
/// # Ok::<(), module_tensor::Error>(())
/// ```
impl<'a, T: Element> TryFrom<&'a Tensor> for ArrayViewD<'a, T> {
    type Error = Error;

    fn try_from(x: &'a Tensor) -> Result<Self> {
        const NAME: &str = "view as an array";
        let (lhs, rhs) = (x.dtype(), T::DTYPE);
        if lhs != rhs {
            let op = NAME;
            return Err(DTypeError::Mismatch { op, lhs, rhs }.into());
        }
        x.storage.check_plain(NAME)?;
        if x.device() != Device::cpu() {
            let (lhs, rhs) = (x.device().to_string(), Device::cpu().to_string());
            let op = NAME;
            return Err(DeviceError::Mismatch { op, lhs, rhs }.into());
        }
        cpu_view(&x.storage, &x.layout)
    }
}
