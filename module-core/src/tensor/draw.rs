//! Random integers, choices and truncated normals, bit for bit PyTorch's.

use super::Tensor;
use super::distribution::{Distribution, TruncNormal};
use crate::backend::{Element, HostData, host_room};
use crate::rng::{Generator, RandomFloat, RngError, with_default};
use crate::tensor::NoGradient;
use crate::{DType, ErrorKind, Result, Shape};

impl Tensor {
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
    /// use module_core::{DType, Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::randint(0, 10, [4], DType::I64))?;
    /// assert_eq!(x.to_vec::<i64>()?, [4, 9, 3, 0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn randint(low: i64, high: i64, shape: impl Into<Shape>, dtype: DType) -> Result<Self> {
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
        Self::from_vec(values, shape)?.to_dtype(dtype)
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
    /// use module_core::{DType, Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::bernoulli_with([5], 0.5, DType::Bool))?;
    /// assert_eq!(x.to_vec::<bool>()?, [false, false, true, false, false]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn bernoulli_with(shape: impl Into<Shape>, p: f64, dtype: DType) -> Result<Self> {
        let shape = shape.into();
        let numel = shape.checked_numel("bernoulli", dtype.size_in_bytes())?;
        host_room::<bool>(numel)?;
        let mut mask = vec![false; numel];
        with_default(|generator| generator.fill_mask(&mut mask, p))?;
        Self::from_vec(mask, shape)?.to_dtype(dtype)
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
    /// use module_core::{DType, Tensor, fork_rng};
    ///
    /// let x = fork_rng(0, || Tensor::exponential([2], 1.0, DType::F32))?;
    /// assert_eq!(x.to_vec::<f32>()?, [3.508_326_3, 1.230_384_7]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn exponential(shape: impl Into<Shape>, lambd: f64, dtype: DType) -> Result<Self> {
        with_default(|generator| {
            Self::drawn(
                "exponential",
                shape.into(),
                dtype,
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
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 1.0]).bernoulli()?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 1.0]);
    /// # Ok::<(), module_core::Error>(())
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
        dtype: DType,
        generator: &mut Generator,
    ) -> Result<Self> {
        let distribution = TruncNormal {
            mean,
            std,
            interval,
            by_inverse: true,
        };
        Self::drawn("trunc_normal", shape.into(), dtype, distribution, generator)
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
