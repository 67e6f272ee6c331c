//! Casts and moves.

use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Device, Result};

impl Tensor {
    /// The same elements as another dtype, rounded to nearest for floating-point targets and
    /// truncated for integers.
    ///
    /// The gradient passes between floating-point types and stops at the others.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::from([1.7_f32, -1.7]);
    /// assert_eq!(x.to_dtype(DType::I64)?.to_vec::<i64>()?, [1, -1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn to_dtype(&self, dtype: DType) -> Result<Self> {
        if self.dtype() == dtype {
            return Ok(self.clone());
        }
        self.shape()
            .checked_numel("to_dtype", dtype.size_in_bytes())?;
        let storage = self.device().backend().cast(self.operand(), dtype)?;
        Ok(self
            .like_shape(storage)
            .record([self], |_| Cast { from: self.dtype() }))
    }

    /// The same elements on another device.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        if self.device() == *device {
            return Ok(self.clone());
        }
        if !self.has_values() {
            return Self::absent("to_device", self.shape(), (self.dtype(), device));
        }
        let backend = device.backend();
        let storage = match backend.copy_from(&self.operand())? {
            Some(storage) => storage,
            None => backend.upload(self.to_host()?)?,
        };
        Ok(self.like_shape(storage).record([self], |_| Move {
            from: self.device(),
        }))
    }
}

struct Cast {
    from: DType,
}

impl Function for Cast {
    fn name(&self) -> &'static str {
        "to_dtype"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().to_dtype(self.from)?)
    }
}

struct Move {
    from: Device,
}

impl Function for Move {
    fn name(&self) -> &'static str {
        "to_device"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().to_device(&self.from)?)
    }
}
