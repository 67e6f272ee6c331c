//! `cummax`, `cummin` and `logcumsumexp`.

use super::order_keys::OrderKey;
use crate::backend::{cpu_scratch, cpu_storage};
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled, one};
use crate::{DType, Device, Result};

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
        let axis = self.shape().dim(op, dim)?;
        self.shape().checked_numel(op, size_of::<i64>())?;
        self.check_computed(op)?;
        let x = self.detach();
        let (values, indices) = match x.key_dtype() {
            DType::F64 => running::<f64>(&x, axis, max),
            DType::F32 => running::<f32>(&x.to_dtype(DType::F32)?, axis, max),
            _ => running::<i64>(&x.to_dtype(DType::I64)?, axis, max),
        }?;
        let values = match self.requires_grad() && is_grad_enabled() {
            true => self.gather(dim, &indices)?,
            false => values.to_dtype(self.dtype())?,
        };
        Ok((values, indices))
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

/// The running maxima or minima along `dim`, and their indices.
fn running<T: OrderKey>(x: &Tensor, dim: usize, max: bool) -> Result<(Tensor, Tensor)> {
    let size = x.shape().get(dim).copied().unwrap_or(1);
    let inner: usize = x.shape().iter().skip(dim + 1).product();
    let elements = x.host_elements::<T>()?;
    let (mut values, mut indices) = (
        cpu_scratch::<T>(elements.len())?,
        cpu_scratch::<i64>(elements.len())?,
    );
    // With inverted signs, the smallest is the greatest, and NaN comes first in both cases.
    let key = |v: T| match max {
        true => v.order_key(i64::MAX),
        false => !v.order_key(i64::MIN),
    };
    let block = (size * inner).max(1);
    let outs = values.chunks_mut(block).zip(indices.chunks_mut(block));
    for (x, (values, indices)) in elements.chunks(block).zip(outs) {
        for lane in 0..inner {
            let Some(mut best) = x.get(lane).map(|&v| (key(v), v, 0)) else {
                continue;
            };
            let positions = (lane..x.len()).step_by(inner);
            for (i, at) in positions.enumerate() {
                let key = key(x[at]);
                if key >= best.0 {
                    best = (key, x[at], i as i64);
                }
                (values[at], indices[at]) = (best.1, best.2);
            }
        }
    }
    let on_device = |storage| Tensor::fresh(storage, x.shape().clone()).to_device(&x.device());
    Ok((
        on_device(cpu_storage(values))?,
        on_device(cpu_storage(indices))?,
    ))
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
