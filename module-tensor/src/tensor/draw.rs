//! Tensors of random elements, bit for bit PyTorch's.

use super::distribution::{Distribution, Normal, TruncNormal, Uniform};
use super::{Tensor, TensorOptions};
use crate::backend::{Element, HostData, host_room, host_scratch};
use crate::rng::{Generator, RandomFloat, RngError, with_default};
use crate::tensor::NoGradient;
use crate::{DType, ErrorKind, Result, Shape};

impl Tensor {
    /// Uniform draws from `[0, 1)` by the default generator, bit for bit PyTorch's `torch.rand`.
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
        with_default(|generator| Self::uniform(shape, 0.0, 1.0, options, generator))
    }

    /// Normal draws of mean 0 and standard deviation 1 by the default generator, bit for bit
    /// PyTorch's `torch.randn`.
    ///
    /// # Errors
    ///
    /// As [`rand`](Self::rand).
    pub fn randn(shape: impl Into<Shape>, options: impl Into<TensorOptions>) -> Result<Self> {
        with_default(|generator| Self::normal(shape, 0.0, 1.0, options, generator))
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
    /// use module_tensor::{Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::from([0.0_f32, 0.0]).rand_like())?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.496_256_6, 0.768_221_8]);
    /// # Ok::<(), module_tensor::Error>(())
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
    /// use module_tensor::{DType, Tensor, fork_rng};
    ///
    /// let noise = fork_rng(0, || Tensor::from([[0.0_f32; 3]; 2]).randn_like())?;
    /// let same = fork_rng(0, || Tensor::randn([2, 3], DType::F32))?;
    /// assert!(noise.equal(&same)?);
    /// # Ok::<(), module_tensor::Error>(())
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
    /// use module_tensor::{Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::randperm(10, ()))?;
    /// assert_eq!(x.to_vec::<i64>()?, [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn randperm(n: usize, options: impl Into<TensorOptions>) -> Result<Self> {
        let options = options.into();
        Shape::from(n).checked_numel("randperm", DType::I64.size_in_bytes())?;
        let order = Self::from_vec(with_default(|generator| generator.randperm(n))?, n)?;
        options.place("randperm", order.to_dtype(options.dtype_or(DType::I64))?)
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
        options: impl Into<TensorOptions>,
        generator: &mut Generator,
    ) -> Result<Self> {
        Self::drawn(
            "uniform",
            shape.into(),
            options.into(),
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
        options: impl Into<TensorOptions>,
        generator: &mut Generator,
    ) -> Result<Self> {
        Self::drawn(
            "normal",
            shape.into(),
            options.into(),
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
        options: impl Into<TensorOptions>,
        generator: &mut Generator,
    ) -> Result<Self> {
        let distribution = TruncNormal {
            mean,
            std,
            interval,
            by_inverse: false,
        };
        let options = options.into();
        Self::drawn(
            "trunc_normal",
            shape.into(),
            options,
            distribution,
            generator,
        )
    }

    /// A tensor of draws, in the dtype in which PyTorch draws them.
    pub(crate) fn drawn(
        op: &'static str,
        shape: Shape,
        options: TensorOptions,
        distribution: impl Distribution,
        generator: &mut Generator,
    ) -> Result<Self> {
        let drawn = match options.dtype_or_default() {
            DType::F32 => Self::fill_with::<f32>(op, shape, distribution, generator)?,
            DType::F64 => Self::fill_with::<f64>(op, shape, distribution, generator)?,
            DType::F16 => Self::fill_with::<half::f16>(op, shape, distribution, generator)?,
            DType::BF16 => Self::fill_with::<half::bf16>(op, shape, distribution, generator)?,
            dtype => {
                let needs = "a floating-point dtype";
                return Err(ErrorKind::UnsupportedDType { op, dtype, needs }.into());
            }
        };
        options.place(op, drawn)
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
        let options = (self.dtype(), self.device()).into();
        with_default(|generator| Self::drawn(op, shape, options, distribution, generator))?
            .permute(back)
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

    /// Integers from `[low, high)` by the default generator, bit for bit PyTorch's `torch.randint`,
    /// whose default dtype is `I64`.
    ///
    /// # Errors
    ///
    /// An empty range, one that the dtype does not hold exactly, a shape that exceeds memory.
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
            DType::U8 => (0, 255),
            DType::Bool => (0, 1),
            // As far as every integer is one of the floating-point numbers.
            DType::F64 => (-1 << 53, 1 << 53),
            DType::F32 => (-1 << 24, 1 << 24),
            DType::F16 => (-1 << 11, 1 << 11),
            DType::BF16 => (-1 << 8, 1 << 8),
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
        let numel = shape.checked_numel("randint", size_of::<i64>())?;
        host_room::<i64>(numel)?;
        let mut values = vec![0_i64; numel];
        with_default(|generator| generator.fill_randint(&mut values, low, high))?;
        options.place("randint", Self::from_vec(values, shape)?.to_dtype(dtype)?)
    }

    /// Ones with probability `p` and zeros otherwise, by the default generator: PyTorch's
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
        let dtype = options.dtype_or_default();
        let shape = shape.into();
        let numel = shape.checked_numel("bernoulli", dtype.size_in_bytes())?;
        host_room::<bool>(numel)?;
        let mut mask = vec![false; numel];
        with_default(|generator| generator.fill_mask(&mut mask, p))?;
        options.place("bernoulli", Self::from_vec(mask, shape)?.to_dtype(dtype)?)
    }

    /// Draws from the exponential distribution by the default generator: PyTorch's
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
        let options = options.into();
        with_default(|generator| {
            Self::drawn(
                "exponential",
                shape.into(),
                options,
                Exponential(lambd),
                generator,
            )
        })
    }

    /// A one with the probability that each element is, else a zero, by the default generator: PyTorch's
    /// `torch.bernoulli(probabilities)`.
    ///
    /// A draw has no gradient: `backward` through it is an error, where PyTorch gives zeros.
    ///
    /// # Errors
    ///
    /// An element outside `[0, 1]`, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 1.0]).bernoulli()?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn bernoulli(&self) -> Result<Self> {
        const NAME: &str = "bernoulli";
        let drawn = with_default(|generator| match self.to_host()? {
            HostData::F32(values) => chosen(values, generator),
            HostData::F64(values) => chosen(values, generator),
            HostData::F16(values) => chosen(values, generator),
            HostData::BF16(values) => chosen(values, generator),
            _ => {
                let (op, dtype, needs) = (NAME, self.dtype(), "floating-point probabilities");
                Err(ErrorKind::UnsupportedDType { op, dtype, needs }.into())
            }
        })?;
        let drawn = Self::from_host(drawn, self.shape())?.to_device(&self.device())?;
        Ok(drawn.record([self], |_| NoGradient(NAME)))
    }

    /// Normal draws within an interval by inverting the distribution function, as timm's
    /// `trunc_normal_` and PyTorch's before 2.15.
    ///
    /// # Errors
    ///
    /// As [`trunc_normal`](Self::trunc_normal).
    pub fn trunc_normal_by_inverse(
        shape: impl Into<Shape>,
        mean: f64,
        std: f64,
        interval: [f64; 2],
        options: impl Into<TensorOptions>,
        generator: &mut Generator,
    ) -> Result<Self> {
        let distribution = TruncNormal {
            mean,
            std,
            interval,
            by_inverse: true,
        };
        let options = options.into();
        Self::drawn(
            "trunc_normal",
            shape.into(),
            options,
            distribution,
            generator,
        )
    }
}

/// By its rate.
struct Exponential(f64);

impl Distribution for Exponential {
    fn fill<T: RandomFloat>(
        self,
        out: &mut [T],
        generator: &mut Generator,
    ) -> std::result::Result<(), RngError> {
        generator.fill_exponential(out, self.0)
    }
}

fn chosen<T: Element + RandomFloat>(
    mut values: Vec<T>,
    generator: &mut Generator,
) -> Result<HostData> {
    generator.replace_by_bernoulli(&mut values)?;
    Ok(T::into_host(values))
}
