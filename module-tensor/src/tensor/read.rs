//! Reading the elements of a tensor.

use super::Tensor;
use crate::backend::{Element, HostData, cpu_bytes};
use crate::{DTypeError, Result};

impl Tensor {
    /// The elements in row-major order.
    ///
    /// # Errors
    ///
    /// A dtype other than `T`'s.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.t()?.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    /// assert!(x.to_vec::<f64>().is_err());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let (lhs, rhs) = (self.dtype(), T::DTYPE);
        let mismatch = || DTypeError::Mismatch {
            op: "to_vec",
            lhs,
            rhs,
        };
        if lhs != rhs {
            return Err(mismatch().into());
        }
        Ok(T::from_host(self.to_host()?).ok_or_else(mismatch)?)
    }

    /// The single element of a tensor of any shape.
    ///
    /// # Errors
    ///
    /// A dtype other than `T`'s, more or fewer elements than one.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[2.5_f32]]);
    /// assert_eq!(x.item::<f32>()?, 2.5);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn item<T: Element>(&self) -> Result<T> {
        let fail = || self.shape().error("item", "one element");
        // Nothing is read before the checks.
        if self.numel() != 1 {
            return Err(fail());
        }
        self.to_vec::<T>()?.first().copied().ok_or_else(fail)
    }

    /// The little-endian bytes of the elements in place, if they are in host memory, in row-major order, on a little-endian
    /// machine.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_u8, 2], [3, 4]]);
    /// assert_eq!(x.as_le_bytes(), Some(&[1, 2, 3, 4][..]));
    /// assert_eq!(x.t()?.as_le_bytes(), None);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn as_le_bytes(&self) -> Option<&[u8]> {
        cpu_bytes(&self.storage, &self.layout)
    }

    /// The elements in row-major order, in host memory.
    ///
    /// # Errors
    ///
    /// Packed elements, a device error.
    pub fn to_host(&self) -> Result<HostData> {
        self.device().backend().download(&self.plain("to_host")?)
    }
}
