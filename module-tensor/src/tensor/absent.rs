//! Tensors whose elements are still to come.

use super::{Tensor, TensorOptions};
use crate::backend::{Absent, Storage};
use crate::{Result, Shape};

impl Tensor {
    /// A tensor whose elements do not exist yet: like PyTorch's tensors on the device `meta`. It can be moved to another
    /// device, and has no elements there either.
    ///
    /// # Errors
    ///
    /// A shape that is too large, reported as an error of `op`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::absent("example", &[2, 3].into(), DType::F32)?;
    /// assert!(!x.has_values());
    /// assert!(x.add(1.0).unwrap_err().to_string().contains("has no values yet"));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn absent(
        op: &'static str,
        shape: &Shape,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        let options = options.into();
        let dtype = options.dtype_or_default();
        shape.checked_numel(op, dtype.size_in_bytes())?;
        let storage = Storage::new(Absent::new(
            dtype,
            shape.clone(),
            options.device_or_default(),
        ));
        options.track(op, Self::fresh(storage, shape.clone()))
    }

    /// Whether the elements exist; those of an [`absent`](Self::absent) tensor do not, nor do those that are released
    /// ([`ReleasableMemory`](crate::ReleasableMemory)).
    pub fn has_values(&self) -> bool {
        self.storage.has_elements()
    }
}
