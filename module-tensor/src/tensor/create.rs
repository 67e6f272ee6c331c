use super::{Tensor, TensorOptions};
use crate::backend::{Element, HostData};
use crate::{DType, Device, Error, Result, Scalar, Shape};

impl Tensor {
    /// A tensor of host elements, in row-major order.
    ///
    /// # Errors
    ///
    /// A shape whose number of elements differs from that of `values`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from_vec(vec![1_i64, 2, 3, 4, 5, 6], [2, 3])?;
    /// assert_eq!(x.shape().to_string(), "[2, 3]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "as_tensor")]
    #[doc(alias = "asarray")]
    pub fn from_vec<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> Result<Self> {
        Self::from_data("from_vec", T::into_host(values), shape.into())
    }

    /// A tensor of host elements of any dtype, in row-major order.
    ///
    /// # Errors
    ///
    /// A shape whose number of elements differs from that of `data`.
    pub fn from_host(data: HostData, shape: impl Into<Shape>) -> Result<Self> {
        Self::from_data("from_host", data, shape.into())
    }

    fn from_data(op: &'static str, data: HostData, shape: Shape) -> Result<Self> {
        let count = data.len();
        if shape.checked_numel(op, data.dtype().size_in_bytes())? != count {
            let problem = format!(
                "holds {} element(s), which is not the number of elements given, {count}",
                shape.numel()
            );
            return Err(Error::argument(op, "shape", shape, problem));
        }
        let storage = Device::cpu().backend().upload(data)?;
        Ok(Self::fresh(storage, shape))
    }

    /// A tensor of one value; the default dtype is that of the value: `I64`, `Bool`, or the default floating-point one.
    ///
    /// # Errors
    ///
    /// A shape that exceeds memory, a value that does not fit `dtype`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::full([2, 2], 0.5, DType::F32)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.5; 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "scalar_tensor")]
    pub fn full(
        shape: impl Into<Shape>,
        value: impl Into<Scalar>,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        let value = value.into();
        let options = options.into();
        let dtype = match value {
            Scalar::Float(_) => options.dtype_or_default(),
            Scalar::Int(_) => options.dtype_or(DType::I64),
            Scalar::Bool(_) => options.dtype_or(DType::Bool),
        };
        fill("full", shape.into(), value, dtype, options)
    }

    /// A tensor of zeros.
    ///
    /// # Errors
    ///
    /// A shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::zeros([2], DType::F32)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn zeros(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Self> {
        let options = options.into();
        let dtype = options.dtype_or_default();
        fill("zeros", shape.into(), 0.into(), dtype, options)
    }

    /// A tensor of ones.
    ///
    /// # Errors
    ///
    /// A shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor};
    ///
    /// let x = Tensor::ones([2], DType::I64)?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn ones(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Self> {
        let options = options.into();
        let dtype = options.dtype_or_default();
        fill("ones", shape.into(), 1.into(), dtype, options)
    }

    /// Zeros with the shape, dtype and device of this tensor.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.zeros_like()?.to_vec::<i64>()?, [0; 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn zeros_like(&self) -> Result<Self> {
        self.fill_like("zeros_like", 0.into())
    }

    /// Ones with the shape, dtype and device of this tensor.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.ones_like()?.to_vec::<i64>()?, [1; 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn ones_like(&self) -> Result<Self> {
        self.fill_like("ones_like", 1.into())
    }

    /// One value with the shape, dtype and device of this tensor.
    ///
    /// # Errors
    ///
    /// Not enough memory, a value that does not fit the dtype.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.full_like(7)?.to_vec::<i64>()?, [7; 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn full_like(&self, value: impl Into<Scalar>) -> Result<Self> {
        self.fill_like("full_like", value.into())
    }

    fn fill_like(&self, op: &'static str, value: Scalar) -> Result<Self> {
        let (shape, dtype, device) = (self.shape().clone(), self.dtype(), self.device());
        fill(op, shape, value, dtype, (dtype, &device).into())
    }
}

/// A tensor of one value; `op` is the function that errors name.
fn fill(
    op: &'static str,
    shape: Shape,
    value: Scalar,
    dtype: DType,
    options: TensorOptions,
) -> Result<Tensor> {
    value.check_fits(op, dtype)?;
    let numel = shape.checked_numel(op, dtype.size_in_bytes())?;
    let backend = options.device_or_default().backend();
    let made = Tensor::fresh(backend.full(numel, dtype, value)?, shape);
    options.track(op, made)
}
