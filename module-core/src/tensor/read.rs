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
    pub fn item<T: Element>(&self) -> Result<T> {
        match self.to_vec::<T>()?.as_slice() {
            &[value] => Ok(value),
            _ => Err(self.shape().error("item", "one element")),
        }
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
