//! Casts and moves.

use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled, one};
use crate::{DType, DTypeError, Device, Result};

impl Tensor {
    /// The same elements as another dtype, rounded to nearest for floating-point targets and
    /// truncated for integers.
    ///
    /// Integers wrap; beyond its largest number `F8E4M3` saturates and other floating-point types become infinite. A real
    /// number becomes a complex one with imaginary part 0.
    ///
    /// The gradient passes between floating-point types and stops at integers and booleans.
    ///
    /// # Errors
    ///
    /// A complex tensor cast to any real dtype except `Bool`, because its imaginary part would be lost
    /// ([`view_as_real`](Self::view_as_real) has both); a tensor whose gradient would be lost in a dtype that PyTorch
    /// differentiates and that is [storage-only](DType::is_storage_only) here; not enough memory.
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
        self.dtype().check_cast(dtype)?;
        self.check_untracked("to_dtype", dtype)?;
        self.shape()
            .checked_numel("to_dtype", dtype.size_in_bytes())?;
        let backend = self.device().backend();
        let out = self.each("to_dtype", |x| backend.cast(x, dtype))?;
        Ok(out.record([self], |_| Cast { from: self.dtype() }))
    }

    /// Checks that no gradient is lost in a floating-point or complex dtype that carries none.
    pub(super) fn check_untracked(&self, op: &'static str, dtype: DType) -> Result<()> {
        let lost = (dtype.is_floating_point() || dtype.is_complex()) && !dtype.is_differentiable();
        if !lost || !self.requires_grad() || !is_grad_enabled() {
            return Ok(());
        }
        let needs = "a tensor without a gradient, which would be lost; call `detach` first";
        Err(DTypeError::Unsupported { op, dtype, needs }.into())
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
        let copied = backend.copy_from(&self.operand())?;
        if let Some(packed) = self.storage.packed() {
            let storage = copied.map_or_else(|| packed.to_device(device), Ok)?;
            return Ok(Self::from_storage(storage, self.layout.clone()));
        }
        let storage = match copied {
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

    // The cast of a parameter inside `autocast` is part of many graphs.
    fn saves_nothing(&self) -> bool {
        true
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
