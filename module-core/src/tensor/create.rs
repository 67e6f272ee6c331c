use super::Tensor;
use super::distribution::{Distribution, Normal, TruncNormal, Uniform};
use crate::backend::{Element, HostData, host_room, host_scratch};
use crate::rng::{Generator, RandomFloat, with_default};
use crate::{DType, Device, Error, ErrorKind, Result, Scalar, Shape};

impl Tensor {
    /// A tensor of host elements, in row-major order.
    ///
    /// # Errors
    ///
    /// A shape with another number of elements than `values` has.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from_vec(vec![1_i64, 2, 3, 4, 5, 6], [2, 3])?;
    /// assert_eq!(x.shape().to_string(), "[2, 3]");
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn from_vec<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> Result<Self> {
        let shape = shape.into();
        if shape.checked_numel("from_vec", T::DTYPE.size_in_bytes())? != values.len() {
            let problem = "is not the number of elements given";
            return Err(Error::argument(
                "from_vec",
                "shape",
                &shape,
                format!(
                    "holds {} element(s), which {problem}, {}",
                    shape.numel(),
                    values.len()
                ),
            ));
        }
        let storage = Device::cpu().backend().upload(T::into_host(values))?;
        Ok(Self::fresh(storage, shape))
    }

    /// A tensor of host elements of any dtype, in row-major order.
    ///
    /// # Errors
    ///
    /// A shape with another number of elements than `data` has.
    pub fn from_host(data: HostData, shape: impl Into<Shape>) -> Result<Self> {
        match data {
            HostData::F32(values) => Self::from_vec(values, shape),
            HostData::F64(values) => Self::from_vec(values, shape),
            HostData::F16(values) => Self::from_vec(values, shape),
            HostData::BF16(values) => Self::from_vec(values, shape),
            HostData::I64(values) => Self::from_vec(values, shape),
            HostData::I32(values) => Self::from_vec(values, shape),
            HostData::U8(values) => Self::from_vec(values, shape),
            HostData::Bool(values) => Self::from_vec(values, shape),
        }
    }

    /// A tensor of one value.
    ///
    /// # Errors
    ///
    /// A shape that exceeds memory, a value that does not fit `dtype`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{DType, Device, Tensor};
    ///
    /// let x = Tensor::full([2, 2], 0.5, DType::F32, &Device::cpu())?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.5; 4]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn full(
        shape: impl Into<Shape>,
        value: impl Into<Scalar>,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let (shape, value) = (shape.into(), value.into());
        value.check_fits("full", dtype)?;
        let numel = shape.checked_numel("full", dtype.size_in_bytes())?;
        let storage = device.backend().full(numel, dtype, value)?;
        Ok(Self::fresh(storage, shape))
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
    /// use module_core::{DType, Device, Tensor};
    ///
    /// let x = Tensor::zeros([2], DType::F32, &Device::cpu())?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn zeros(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Self> {
        Self::full(shape, 0, dtype, device)
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
    /// use module_core::{DType, Device, Tensor};
    ///
    /// let x = Tensor::ones([2], DType::I64, &Device::cpu())?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 1]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn ones(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Self> {
        Self::full(shape, 1, dtype, device)
    }

    /// Zeros like this tensor in shape, dtype and device.
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.zeros_like()?.to_vec::<i64>()?, [0; 4]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn zeros_like(&self) -> Result<Self> {
        self.full_like(0)
    }

    /// Ones like this tensor in shape, dtype and device.
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.ones_like()?.to_vec::<i64>()?, [1; 4]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn ones_like(&self) -> Result<Self> {
        self.full_like(1)
    }

    /// One value like this tensor in shape, dtype and device.
    ///
    /// # Errors
    ///
    /// Memory that is not to be had, a value that does not fit the dtype.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.full_like(7)?.to_vec::<i64>()?, [7; 4]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn full_like(&self, value: impl Into<Scalar>) -> Result<Self> {
        Self::full(self.shape(), value, self.dtype(), &self.device())
    }

    /// The integers from `start` up to and without `end`, as `I64`.
    ///
    /// # Errors
    ///
    /// A range that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// assert_eq!(Tensor::arange(2, 5)?.to_vec::<i64>()?, [2, 3, 4]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn arange(start: i64, end: i64) -> Result<Self> {
        let length = usize::try_from(end.saturating_sub(start).max(0)).unwrap_or(usize::MAX);
        Shape::from(length).checked_numel("arange", DType::I64.size_in_bytes())?;
        host_room::<i64>(length)?;
        Self::from_vec((start..end).collect(), length)
    }

    /// Uniform draws from `[0, 1)` by the default generator, bit for bit PyTorch's `torch.rand`.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point, a shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{DType, Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::rand([2], DType::F32))?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.496_256_6, 0.768_221_8]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn rand(shape: impl Into<Shape>, dtype: DType) -> Result<Self> {
        with_default(|generator| Self::uniform(shape, 0.0, 1.0, dtype, generator))
    }

    /// Normal draws of mean 0 and standard deviation 1 by the default generator, bit for bit
    /// PyTorch's `torch.randn`.
    ///
    /// # Errors
    ///
    /// As [`rand`](Self::rand).
    pub fn randn(shape: impl Into<Shape>, dtype: DType) -> Result<Self> {
        with_default(|generator| Self::normal(shape, 0.0, 1.0, dtype, generator))
    }

    /// Uniform draws from `[0, 1)` like this tensor in shape, dtype and device, bit for bit PyTorch's
    /// `torch.rand_like`.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::from([0.0_f32, 0.0]).rand_like())?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.496_256_6, 0.768_221_8]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn rand_like(&self) -> Result<Self> {
        let (low, high) = (0.0, 1.0);
        self.drawn_like("rand_like", Uniform { low, high })
    }

    /// Normal draws of mean 0 and standard deviation 1 like this tensor in shape, dtype and device;
    /// like a contiguous one, bit for bit PyTorch's `torch.randn_like`.
    ///
    /// # Errors
    ///
    /// As [`rand_like`](Self::rand_like).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{DType, Tensor, fork_rng};
    ///
    /// let noise = fork_rng(0, || Tensor::from([[0.0_f32; 3]; 2]).randn_like())?;
    /// let same = fork_rng(0, || Tensor::randn([2, 3], DType::F32))?;
    /// assert!(noise.equal(&same)?);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn randn_like(&self) -> Result<Self> {
        let (mean, std) = (0.0, 1.0);
        self.drawn_like("randn_like", Normal { mean, std })
    }

    /// A random order of the integers from 0 up to and without `n`, bit for bit PyTorch's
    /// `torch.randperm`.
    ///
    /// # Errors
    ///
    /// A length that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::randperm(10))?;
    /// assert_eq!(x.to_vec::<i64>()?, [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn randperm(n: usize) -> Result<Self> {
        Shape::from(n).checked_numel("randperm", DType::I64.size_in_bytes())?;
        Self::from_vec(with_default(|generator| generator.randperm(n))?, n)
    }

    /// Uniform draws from `[low, high)`, as PyTorch's `uniform_`.
    ///
    /// # Errors
    ///
    /// As [`rand`](Self::rand).
    pub fn uniform(
        shape: impl Into<Shape>,
        low: f64,
        high: f64,
        dtype: DType,
        generator: &mut Generator,
    ) -> Result<Self> {
        Self::drawn(
            "uniform",
            shape.into(),
            dtype,
            Uniform { low, high },
            generator,
        )
    }

    /// Normal draws, as PyTorch's `normal_`.
    ///
    /// # Errors
    ///
    /// As [`rand`](Self::rand).
    pub fn normal(
        shape: impl Into<Shape>,
        mean: f64,
        std: f64,
        dtype: DType,
        generator: &mut Generator,
    ) -> Result<Self> {
        Self::drawn(
            "normal",
            shape.into(),
            dtype,
            Normal { mean, std },
            generator,
        )
    }

    /// Normal draws of which those outside the interval are drawn again, as PyTorch's
    /// `nn.init.trunc_normal_`.
    ///
    /// # Errors
    ///
    /// As [`rand`](Self::rand); a standard deviation that is not above 0, an empty interval.
    pub fn trunc_normal(
        shape: impl Into<Shape>,
        mean: f64,
        std: f64,
        interval: [f64; 2],
        dtype: DType,
        generator: &mut Generator,
    ) -> Result<Self> {
        let distribution = TruncNormal {
            mean,
            std,
            interval,
            by_inverse: false,
        };
        Self::drawn("trunc_normal", shape.into(), dtype, distribution, generator)
    }

    /// A tensor of draws, in the dtype in which PyTorch draws them.
    pub(crate) fn drawn(
        op: &'static str,
        shape: Shape,
        dtype: DType,
        distribution: impl Distribution,
        generator: &mut Generator,
    ) -> Result<Self> {
        match dtype {
            DType::F32 => Self::fill_with::<f32>(op, shape, distribution, generator),
            DType::F64 => Self::fill_with::<f64>(op, shape, distribution, generator),
            DType::F16 => Self::fill_with::<half::f16>(op, shape, distribution, generator),
            DType::BF16 => Self::fill_with::<half::bf16>(op, shape, distribution, generator),
            _ => {
                let needs = "a floating-point dtype";
                Err(ErrorKind::UnsupportedDType { op, dtype, needs }.into())
            }
        }
    }

    /// Draws by the default generator like this tensor in shape, dtype, device and order in memory, in
    /// which they are drawn: those of the transpose of a matrix are the transpose of the matrix's.
    pub(crate) fn drawn_like(
        &self,
        op: &'static str,
        distribution: impl Distribution,
    ) -> Result<Self> {
        let (order, back) = self.layout().memory_order();
        let shape = order.iter().map(|&dim| self.shape()[dim]).collect();
        with_default(|generator| Self::drawn(op, shape, self.dtype(), distribution, generator))?
            .permute(back)?
            .to_device(&self.device())
    }

    fn fill_with<T: Element + RandomFloat>(
        op: &'static str,
        shape: Shape,
        distribution: impl Distribution,
        generator: &mut Generator,
    ) -> Result<Self> {
        let numel = shape.checked_numel(op, size_of::<T>())?;
        let mut values = host_scratch::<T>(numel)?;
        distribution.fill(&mut values, generator)?;
        Self::from_vec(values, shape)
    }
}
