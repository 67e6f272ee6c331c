//! `cummax`, `cummin` and `logcumsumexp`.

use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result, Shape};

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
        let dim = self.shape().dim(NAME, dim)?;
        let dtype = self.dtype();
        if !dtype.is_floating_point() {
            let (op, needs) = (NAME, "a floating-point tensor");
            return Err(dtype.error(op, needs));
        }
        let mut values = self.detach().to_dtype(DType::F64)?.to_vec::<f64>()?;
        for_each_lane(self.shape(), dim, |lane| {
            let mut sum = f64::NEG_INFINITY;
            for at in lane {
                sum = log_add_exp(values[at], sum);
                values[at] = sum;
            }
        });
        let out = Self::from_vec(values, self.shape())?.to_dtype(dtype)?;
        Ok(out.to_device(&self.device())?.record([self], |y| {
            let (x, y) = (self.clone(), y.clone());
            LogCumSumExp {
                x,
                y,
                dim: dim as isize,
            }
        }))
    }
}

fn log_add_exp(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b || a.is_nan() { (a, b) } else { (b, a) };
    if low == high && low.is_infinite() {
        return low;
    }
    (low - high).exp().ln_1p() + high
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
    dim: isize,
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
            let sums = log.flip(self.dim)?.logcumsumexp(self.dim)?.flip(self.dim)?;
            sums.add(&x)?.exp()
        };
        let out = part(grad.gt(0)?)?.sub(&part(grad.lt(0)?)?)?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}
