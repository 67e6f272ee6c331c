//! Parameters with packed values.

use super::{Parameter, check_shape};
use crate::{DTypeError, Error, Result, Tensor};

impl Parameter {
    /// Replaces the value by one with packed elements, and drops the gradient. The identity and every tie stay.
    ///
    /// A packed value is not trained, whatever was passed to [`set_requires_grad`](Self::set_requires_grad); after
    /// [`unpack`](Self::unpack) that setting applies again. Layers can compute with it if the operation that they call
    /// supports it, as [`Tensor::linear`] does.
    ///
    /// # Errors
    ///
    /// A value of a different shape, dtype or device, or whose elements are not packed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::backend::{Int8Parts, Int8Storage, Storage};
    /// use module_core::{DType, Layout, Parameter, Tensor};
    ///
    /// let weight = Parameter::new(Tensor::from([[0.5_f32, -1.0], [2.0, 0.0]]))?;
    /// let parts = Int8Parts::quantize(&weight.detach().to_vec()?, 2, false, DType::F32)?;
    /// let storage = Storage::new(Int8Storage::new(parts)?);
    /// weight.set_packed(Tensor::from_storage(storage, Layout::contiguous([2, 2].into())))?;
    /// assert!(weight.detach().is_packed() && !weight.requires_grad());
    /// weight.unpack()?;
    /// assert!(weight.requires_grad());
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn set_packed(&self, value: Tensor) -> Result<()> {
        const NAME: &str = "set_packed";
        let current = self.detach();
        check_shape(NAME, current.shape(), &value)?;
        if !value.is_packed() {
            let problem = "must be packed; plain elements are set by `set`";
            return Err(Error::argument(NAME, "value", value.shape(), problem));
        }
        if value.dtype() != current.dtype() {
            let (op, lhs, rhs) = (NAME, current.dtype(), value.dtype());
            return Err(DTypeError::Mismatch { op, lhs, rhs }.into());
        }
        self.replace(value.to_device(&current.device())?, None);
        Ok(())
    }

    /// Replaces a packed value by its unpacked elements; a plain one stays.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub fn unpack(&self) -> Result<()> {
        let value = self.detach();
        if value.is_packed() {
            self.replace(value.unpack()?, None);
        }
        Ok(())
    }
}
