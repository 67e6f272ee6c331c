//! `cummax`, `cummin` and `logcumsumexp`.

use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Device, Result, Shape};

impl Tensor {
    /// The cumulative maximum along `dim`, and its index as `I64`, the last one of equal elements; NaN is greater than any
    /// number.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (values, indices) = Tensor::from([1_i64, 3, 2, 3]).cummax(0)?;
    /// assert_eq!(values.to_vec::<i64>()?, [1, 3, 3, 3]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 1, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn cummax(&self, dim: isize) -> Result<(Self, Self)> {
        self.running_extreme("cummax", dim, true)
    }

    /// The cumulative minimum along `dim`, and its index as `I64`, the last one of equal elements; NaN is smaller than any
    /// number.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (values, indices) = Tensor::from([3_i64, 1, 2]).cummin(0)?;
    /// assert_eq!(values.to_vec::<i64>()?, [3, 1, 1]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn cummin(&self, dim: isize) -> Result<(Self, Self)> {
        self.running_extreme("cummin", dim, false)
    }

    fn running_extreme(&self, op: &'static str, dim: isize, max: bool) -> Result<(Self, Self)> {
        let dim = self.shape().dim(op, dim)?;
        self.shape().checked_numel(op, size_of::<i64>())?;
        // With inverted signs, the smallest is the greatest, and NaN comes first in both cases.
        let mut keys = self
            .detach()
            .order_keys(op, if max { i64::MAX } else { i64::MIN })?;
        if !max {
            keys.iter_mut().for_each(|key| *key = !*key);
        }
        let mut indices = vec![0_i64; keys.len()];
        for_each_lane(self.shape(), dim, |lane| {
            let (mut best, mut index) = (i64::MIN, 0);
            for (i, at) in lane.enumerate() {
                if keys[at] >= best {
                    (best, index) = (keys[at], i as i64);
                }
                indices[at] = index;
            }
        });
        let indices = Self::from_vec(indices, self.shape())?.to_device(&self.device())?;
        Ok((self.gather(dim as isize, &indices)?, indices))
    }

    /// `outᵢ = ln Σ exp(xⱼ) for j ≤ i` along `dim`, without overflow.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1000.0_f64, 1000.0]).logcumsumexp(0)?;
    /// assert_eq!(x.to_vec::<f64>()?, [1000.0, 1000.0 + std::f64::consts::LN_2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn logcumsumexp(&self, dim: isize) -> Result<Self> {
        const NAME: &str = "logcumsumexp";
        self.check_computed(NAME)?;
        let dim = self.shape().dim(NAME, dim)?;
        let dtype = self.dtype();
        if !dtype.is_floating_point() {
            let (op, needs) = (NAME, "a floating-point tensor");
            return Err(dtype.error(op, needs));
        }
        self.log_running_sum(dim, false)
    }

    fn log_running_sum(&self, dim: usize, reverse: bool) -> Result<Self> {
        if self.rank() == 0 {
            return Ok(self.alias());
        }
        let compute = |x: &Self| {
            let kernels = x.device().backend().softmax_family();
            kernels.map_or(Ok(None), |kernels| {
                kernels.logcumsumexp(x.operand(), dim, reverse)
            })
        };
        let out = match compute(self)? {
            Some(storage) => self.like_shape(storage),
            None => {
                let x = self.detach().to_device(&Device::cpu())?;
                let out = x.log_running_sum(dim, reverse)?;
                out.to_device(&self.device())?
            }
        };
        Ok(out.record([self], |y| LogCumSumExp {
            x: self.clone(),
            y: y.clone(),
            dim,
            reverse,
        }))
    }
}

/// Calls `f` with the indices of the elements along `dim`, for each index of the other dimensions.
fn for_each_lane(shape: &Shape, dim: usize, mut f: impl FnMut(&mut dyn Iterator<Item = usize>)) {
    if shape.numel() == 0 {
        return;
    }
    let size = shape.get(dim).copied().unwrap_or(1);
    let inner: usize = shape.iter().skip(dim + 1).product();
    let width = size * inner;
    for start in (0..shape.numel()).step_by(width) {
        for first in start..start + inner {
            f(&mut (first..start + width).step_by(inner));
        }
    }
}

struct LogCumSumExp {
    x: Tensor,
    y: Tensor,
    dim: usize,
    reverse: bool,
}

impl Function for LogCumSumExp {
    fn name(&self) -> &'static str {
        "logcumsumexp"
    }

    /// `Σ gᵢ exp(xₖ - yᵢ)` over `i ≥ k`, in logarithms, which have no sign: positive and negative gradients are processed
    /// separately.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (x, y) = (self.x.widened()?, ctx.output(&self.y).widened()?);
        let grad = ctx.grad().widened()?;
        let log = grad.abs()?.log()?;
        // Not an infinity, for which differences would be lost.
        let nothing = match grad.dtype() {
            DType::F64 => f64::MIN,
            _ => f32::MIN.into(),
        };
        let part = |chosen: Tensor| {
            let log = chosen.where_(&log, nothing)?.sub(&y)?;
            let sums = log.log_running_sum(self.dim, !self.reverse)?;
            sums.add(&x)?.exp()
        };
        let out = part(grad.gt(0)?)?.sub(&part(grad.lt(0)?)?)?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}
