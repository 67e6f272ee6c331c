use super::Tensor;
use crate::backend::{Element, HostData};
use crate::{ErrorKind, Result};

impl Tensor {
    /// The elements in row-major order.
    ///
    /// # Errors
    ///
    /// Another dtype than `T`'s.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.t()?.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    /// assert!(x.to_vec::<f64>().is_err());
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let (lhs, rhs) = (self.dtype(), T::DTYPE);
        let mismatch = || ErrorKind::DTypeMismatch {
            op: "to_vec",
            lhs,
            rhs,
        };
        if lhs != rhs {
            return Err(mismatch().into());
        }
        Ok(T::from_host(self.to_host()?).ok_or_else(mismatch)?)
    }

    /// The one element of a tensor of any shape.
    ///
    /// # Errors
    ///
    /// Another dtype than `T`'s, more or fewer elements than one.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[2.5_f32]]);
    /// assert_eq!(x.item::<f32>()?, 2.5);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn item<T: Element>(&self) -> Result<T> {
        let fail = || self.shape().error("item", "one element");
        // What is refused need not be read.
        if self.numel() != 1 {
            return Err(fail());
        }
        self.to_vec::<T>()?.first().copied().ok_or_else(fail)
    }

    /// The elements in row-major order, in host memory.
    ///
    /// # Errors
    ///
    /// A device that fails.
    pub fn to_host(&self) -> Result<HostData> {
        self.device().backend().download(&self.operand())
    }
}
