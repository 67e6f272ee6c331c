//! Complex numbers: `view_as_real` and `view_as_complex`.

use super::AutocastPolicy;
use crate::backend::{Element, HostData};
use crate::tensor::Tensor;
use crate::{Complex, DType, DTypeError, Result};

impl Tensor {
    /// The real and the imaginary part of each element, in a new last dimension of size two. They are copied, through host
    /// memory.
    ///
    /// # Errors
    ///
    /// A tensor that is not complex.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Complex, Tensor};
    ///
    /// let x = Tensor::from([Complex::new(1.0_f32, 2.0), Complex::new(3.0, 4.0)]);
    /// let parts = x.view_as_real()?;
    /// assert_eq!(parts.shape().to_string(), "[2, 2]");
    /// assert_eq!(parts.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    /// assert!(parts.view_as_complex()?.equal(&x)?);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn view_as_real(&self) -> Result<Self> {
        let op = "view_as_real";
        let numbers = match self.dtype() {
            DType::Complex64 => Complex::<f32>::from_host(self.to_host()?),
            _ => None,
        };
        let Some(numbers) = numbers else {
            let (dtype, needs) = (self.dtype(), "a complex tensor");
            return Err(DTypeError::Unsupported { op, dtype, needs }.into());
        };
        let mut shape = self.shape().to_vec();
        shape.push(2);
        let parts: &[f32] = bytemuck::cast_slice(&numbers);
        Self::from_vec(parts.to_vec(), shape)?.to_device(&self.device())
    }

    /// Complex numbers whose real and imaginary parts are the two elements of the last dimension. They are copied, through
    /// host memory.
    ///
    /// # Errors
    ///
    /// A dtype other than `F32`, a last dimension of a size other than 2, a tensor whose gradient would be lost.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Complex, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]).view_as_complex()?;
    /// assert_eq!(x.to_vec::<Complex<f32>>()?[1], Complex::new(3.0, 4.0));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn view_as_complex(&self) -> Result<Self> {
        if let Some(out) = AutocastPolicy::Float32.apply([self], [], |[x], []| x.view_as_complex())
        {
            return out;
        }
        let op = "view_as_complex";
        self.check_untracked(op, DType::Complex64)?;
        let Some((2, shape)) = self.shape().split_last() else {
            return Err(self.shape().error(op, "a last dimension of size 2"));
        };
        match self.to_host()? {
            HostData::F32(parts) => {
                let pairs = parts.as_chunks().0.iter();
                let numbers: Vec<_> = pairs.map(|&[re, im]| Complex { re, im }).collect();
                Self::from_vec(numbers, shape)?.to_device(&self.device())
            }
            other => {
                let (dtype, needs) = (other.dtype(), "a float32 tensor");
                Err(DTypeError::Unsupported { op, dtype, needs }.into())
            }
        }
    }
}
