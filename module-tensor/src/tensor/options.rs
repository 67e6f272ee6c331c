//! Options for creating tensors: dtype, device, gradient tracking.

use super::Tensor;
use crate::backend::default_device;
use crate::{DType, Device, Result, default_dtype};

/// The dtype and the device of a new tensor, and whether it accumulates a gradient: the arguments `dtype=`, `device=` and
/// `requires_grad=` of PyTorch's functions.
///
/// A dtype, a device, both in a tuple, or `()` convert to options with only these set. Options that are not set are the
/// [default device](crate::default_device) and, if the dtype does not follow from values, the
/// [default dtype](crate::default_dtype).
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Device, Tensor, TensorOptions};
///
/// let x = Tensor::zeros([2, 3], ())?;
/// assert_eq!(x.dtype(), DType::F32);
/// assert_eq!(Tensor::zeros([2, 3], DType::F64)?.dtype(), DType::F64);
/// assert_eq!(Tensor::ones([2, 3], (DType::I64, Device::cpu()))?.dtype(), DType::I64);
/// let weight = Tensor::randn([2, 3], TensorOptions::new().dtype(DType::F64).requires_grad(true))?;
/// assert!(weight.requires_grad());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorOptions {
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
}

impl TensorOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the dtype.
    #[must_use]
    pub fn dtype(mut self, dtype: DType) -> Self {
        self.dtype = Some(dtype);
        self
    }

    /// Sets the device.
    #[must_use]
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Sets whether the tensor is a leaf that accumulates a gradient, like [`Tensor::with_grad`].
    #[must_use]
    pub fn requires_grad(mut self, requires_grad: bool) -> Self {
        self.requires_grad = requires_grad;
        self
    }

    /// The dtype, or the default one.
    pub(crate) fn dtype_or_default(&self) -> DType {
        self.dtype.unwrap_or_else(default_dtype)
    }

    /// The dtype, or the one of the values.
    pub(crate) fn dtype_or(&self, of_values: DType) -> DType {
        self.dtype.unwrap_or(of_values)
    }

    /// The device, if one was named.
    pub(crate) fn device_if_given(&self) -> Option<Device> {
        self.device
    }

    /// The device, or the default one.
    pub(crate) fn device_or_default(&self) -> Device {
        self.device.unwrap_or_else(default_device)
    }

    /// Moves a tensor made on the host to the device of the options, and tracks it if requested.
    pub(crate) fn move_and_track(&self, op: &'static str, made: Tensor) -> Result<Tensor> {
        self.track(op, made.to_device(&self.device_or_default())?)
    }

    /// Makes a tensor on its device a leaf that accumulates a gradient, if requested.
    pub(crate) fn track(&self, op: &'static str, made: Tensor) -> Result<Tensor> {
        match self.requires_grad {
            true => made.as_leaf(op),
            false => Ok(made),
        }
    }
}

impl From<()> for TensorOptions {
    fn from((): ()) -> Self {
        Self::new()
    }
}

impl From<DType> for TensorOptions {
    fn from(dtype: DType) -> Self {
        Self::new().dtype(dtype)
    }
}

impl From<Device> for TensorOptions {
    fn from(device: Device) -> Self {
        Self::new().device(device)
    }
}

impl From<&Device> for TensorOptions {
    fn from(device: &Device) -> Self {
        Self::new().device(*device)
    }
}

impl From<(DType, Device)> for TensorOptions {
    fn from((dtype, device): (DType, Device)) -> Self {
        Self::new().dtype(dtype).device(device)
    }
}

impl From<(DType, &Device)> for TensorOptions {
    fn from((dtype, device): (DType, &Device)) -> Self {
        Self::new().dtype(dtype).device(*device)
    }
}
