//! Tensors of random elements, bit for bit PyTorch's.

use super::{Tensor, TensorOptions};
use crate::layout::Layout;
use crate::rng::{Distribution, Generator, RngError};
use crate::{DType, Device, DeviceError, Result, Shape, default_device};

impl Tensor {
    /// Uniform draws from `[0, 1)` from the default generator, bit for bit PyTorch's `torch.rand`.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point, a shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::rand([2], DType::F32))?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.496_256_6, 0.768_221_8]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn rand(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Self> {
        let (low, high) = (0.0, 1.0);
        Self::drawn_by_default("rand", shape, options, Distribution::Uniform { low, high })
    }

    /// Normal draws with mean 0 and standard deviation 1 from the default generator, bit for bit PyTorch's `torch.randn`.
    ///
    /// # Errors
    ///
    /// Those of [`rand`](Self::rand).
    pub fn randn(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Self> {
        let (mean, std) = (0.0, 1.0);
        Self::drawn_by_default("randn", shape, options, Distribution::Normal { mean, std })
    }

    /// Uniform draws from `[0, 1)` with the shape, dtype and device of this tensor, bit for bit PyTorch's
    /// `torch.rand_like`.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::from([0.0_f32, 0.0]).rand_like())?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.496_256_6, 0.768_221_8]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn rand_like(&self) -> Result<Self> {
        let (low, high) = (0.0, 1.0);
        self.draw_like("rand_like", Distribution::Uniform { low, high })
    }

    /// Normal draws with mean 0 and standard deviation 1, with the shape, dtype and device of this tensor; for a contiguous
    /// one, bit for bit PyTorch's `torch.randn_like`.
    ///
    /// # Errors
    ///
    /// Those of [`rand_like`](Self::rand_like).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, fork_rng};
    ///
    /// let noise = fork_rng(0, || Tensor::from([[0.0_f32; 3]; 2]).randn_like())?;
    /// let same = fork_rng(0, || Tensor::randn([2, 3], DType::F32))?;
    /// assert!(noise.equal(&same)?);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn randn_like(&self) -> Result<Self> {
        let (mean, std) = (0.0, 1.0);
        self.draw_like("randn_like", Distribution::Normal { mean, std })
    }

    /// A random permutation of `0..n`, bit for bit PyTorch's
    /// `torch.randperm`.
    ///
    /// # Errors
    ///
    /// A length that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::randperm(10, ()))?;
    /// assert_eq!(x.to_vec::<i64>()?, [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn randperm(n: usize, options: impl Into<TensorOptions>) -> Result<Self> {
        Self::drawn_integers(
            "randperm",
            n.into(),
            options.into(),
            Distribution::Permutation,
        )
    }

    /// Uniform draws from `[low, high)`, like PyTorch's `uniform_`.
    ///
    /// # Errors
    ///
    /// Those of [`rand`](Self::rand).
    pub fn uniform(
        shape: impl Into<Shape>,
        low: f64,
        high: f64,
        options: impl Into<TensorOptions>,
        generator: &Generator,
    ) -> Result<Self> {
        Self::draw(
            "uniform",
            shape.into(),
            options.into(),
            Distribution::Uniform { low, high },
            generator,
        )
    }

    /// Normal draws, like PyTorch's `normal_`.
    ///
    /// # Errors
    ///
    /// Those of [`rand`](Self::rand).
    pub fn normal(
        shape: impl Into<Shape>,
        mean: f64,
        std: f64,
        options: impl Into<TensorOptions>,
        generator: &Generator,
    ) -> Result<Self> {
        Self::draw(
            "normal",
            shape.into(),
            options.into(),
            Distribution::Normal { mean, std },
            generator,
        )
    }

    /// A tensor of draws, in the dtype in which PyTorch draws them. The generator of a device draws there, and that of the
    /// CPU for every device.
    pub(crate) fn draw(
        op: &'static str,
        shape: Shape,
        options: TensorOptions,
        distribution: Distribution,
        generator: &Generator,
    ) -> Result<Self> {
        let dtype = options.dtype_or_default();
        if !dtype.is_differentiable() {
            return Err(dtype.error(op, "a floating-point dtype"));
        }
        let of_values = generator.device();
        let device = match options.device_if_given() {
            Some(device) => device,
            None if of_values == Device::cpu() => default_device(),
            None => of_values,
        };
        if of_values != device && of_values != Device::cpu() {
            let (lhs, rhs) = (device.to_string(), of_values.to_string());
            return Err(DeviceError::Mismatch { op, lhs, rhs }.into());
        }
        let drawn = match distribution {
            // As bytes, the mask is copied to the device in a quarter of the time.
            Distribution::Dropout { p } if p > 0.0 && p < 1.0 && of_values != device => {
                let kept = Distribution::Bernoulli { p: 1.0 - p };
                let kept = Self::drawn_values(op, shape, kept, DType::Bool, generator)?;
                kept.to_device(&device)?.to_dtype(dtype)?.div(1.0 - p)?
            }
            _ => {
                Self::drawn_values(op, shape, distribution, dtype, generator)?.to_device(&device)?
            }
        };
        options.track(op, drawn)
    }

    fn drawn_by_default(
        op: &'static str,
        shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
        distribution: Distribution,
    ) -> Result<Self> {
        let options = options.into();
        let generator = options.device_or_default().default_generator();
        Self::draw(op, shape.into(), options, distribution, &generator)
    }

    /// Draws of integers or booleans from the default generator, cast to the dtype of the options.
    fn drawn_integers(
        op: &'static str,
        shape: Shape,
        options: TensorOptions,
        distribution: Distribution,
    ) -> Result<Self> {
        let generator = options.device_or_default().default_generator();
        let dtype = match distribution {
            Distribution::Bernoulli { .. } => DType::Bool,
            _ => DType::I64,
        };
        let drawn = Self::drawn_values(op, shape, distribution, dtype, &generator)?;
        options.move_and_track(op, drawn.to_dtype(options.dtype_or(DType::I64))?)
    }

    fn drawn_values(
        op: &'static str,
        shape: Shape,
        distribution: Distribution,
        dtype: DType,
        generator: &Generator,
    ) -> Result<Self> {
        let numel = shape.checked_numel(op, dtype.size_in_bytes())?;
        let storage = generator.draw(distribution, numel, dtype)?;
        Ok(Self::from_storage(storage, Layout::contiguous(shape)))
    }

    /// Draws from the default generator with the shape, dtype, device and memory order of this tensor; they are drawn in
    /// that order, so those of a transposed matrix are the transpose of the matrix's.
    pub(crate) fn draw_like(&self, op: &'static str, distribution: Distribution) -> Result<Self> {
        let (order, back) = self.layout().memory_order();
        let shape = order.iter().map(|&dim| self.shape()[dim]).collect();
        let options = (self.dtype(), self.device()).into();
        let generator = self.device().default_generator();
        let drawn = Self::draw(op, shape, options, distribution, &generator)?;
        Ok(drawn.permute_by(&back))
    }

    /// Integers from `[low, high)` from the default generator, bit for bit PyTorch's `torch.randint`, whose default dtype
    /// is `I64`.
    ///
    /// # Errors
    ///
    /// An empty range, one that the dtype cannot hold exactly, a shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::randint(0, 10, [4], DType::I64))?;
    /// assert_eq!(x.to_vec::<i64>()?, [4, 9, 3, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn randint(
        low: i64,
        high: i64,
        shape: impl Into<Shape>,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        let options = options.into();
        let dtype = options.dtype_or(DType::I64);
        let (min, max) = match dtype {
            DType::I64 => (i64::MIN, i64::MAX),
            DType::I32 => (i32::MIN.into(), i32::MAX.into()),
            DType::I16 => (i16::MIN.into(), i16::MAX.into()),
            DType::I8 => (i8::MIN.into(), i8::MAX.into()),
            DType::U32 => (0, u32::MAX.into()),
            DType::U16 => (0, u16::MAX.into()),
            DType::U8 => (0, u8::MAX.into()),
            DType::Bool => (0, 1),
            // The range in which every integer is representable in floating point.
            DType::F64 => (-1 << 53, 1 << 53),
            DType::F32 => (-1 << 24, 1 << 24),
            DType::F16 => (-1 << 11, 1 << 11),
            DType::BF16 => (-1 << 8, 1 << 8),
            DType::F8E4M3 | DType::F8E5M2 | DType::Complex64 => {
                return Err(dtype.error("randint", "a dtype of numbers"));
            }
        };
        if low < high && (low < min || high - 1 > max) {
            return Err(RngError::IntegerOverflow {
                low,
                high,
                min,
                max,
            }
            .into());
        }
        let shape = shape.into();
        let distribution = Distribution::Integers { low, high };
        Self::drawn_integers("randint", shape, options, distribution)
    }

    /// Ones with probability `p` and zeros otherwise, from the default generator: PyTorch's
    /// `torch.empty(shape).bernoulli_(p)`.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`, a shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::bernoulli_with([5], 0.5, DType::Bool))?;
    /// assert_eq!(x.to_vec::<bool>()?, [false, false, true, false, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn bernoulli_with(
        shape: impl Into<Shape>,
        p: f64,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        let options = options.into();
        let options = options.dtype(options.dtype_or_default());
        let distribution = Distribution::Bernoulli { p };
        Self::drawn_integers("bernoulli", shape.into(), options, distribution)
    }

    /// Draws of the exponential distribution from the default generator: PyTorch's
    /// `torch.empty(shape).exponential_(lambd)`.
    ///
    /// ```text
    /// x = -ln(1 - u) / λ
    /// ```
    ///
    /// # Errors
    ///
    /// A rate that is not above 0, a dtype that is not floating-point, a shape that exceeds memory.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::exponential([2], 1.0, DType::F32))?;
    /// assert_eq!(x.to_vec::<f32>()?, [3.508_326_3, 1.230_384_7]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn exponential(
        shape: impl Into<Shape>,
        lambd: f64,
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        let distribution = Distribution::Exponential { lambda: lambd };
        Self::drawn_by_default("exponential", shape, options, distribution)
    }
}
