use module_nn::{DType, Error, Result, Tensor};

use super::ReduceOp;

/// Checks that tensors of `dtype` can be combined by `op`.
pub(super) fn check(call: &'static str, dtype: DType, op: ReduceOp) -> Result<()> {
    if op == ReduceOp::Mean && !dtype.is_differentiable() {
        return Err(dtype.error(call, "a floating-point tensor for a mean; use the sum"));
    }
    match dtype.is_storage_only() {
        true => Err(dtype.error(call, "another dtype")),
        false => Ok(()),
    }
}

/// Combines tensors of one shape in their order.
pub(super) fn reduce(parts: &[Tensor], op: ReduceOp) -> Result<Tensor> {
    let Some((first, rest)) = parts.split_first() else {
        let problem = "must not be empty";
        return Err(Error::argument("reduce", "parts", parts.len(), problem));
    };
    let dtype = first.dtype();
    let sums = matches!(op, ReduceOp::Sum | ReduceOp::Mean);
    let wide = match dtype {
        DType::F16 | DType::BF16 if sums => DType::F32,
        _ => dtype,
    };
    let mut total = first.to_dtype(wide)?;
    for part in rest {
        let part = part.to_dtype(wide)?;
        total = match op {
            ReduceOp::Sum | ReduceOp::Mean => total.add(&part)?,
            ReduceOp::Max => total.maximum(&part)?,
            ReduceOp::Min => total.minimum(&part)?,
        };
    }
    if op == ReduceOp::Mean {
        total = total.div(parts.len() as f64)?;
    }
    total.to_dtype(dtype)
}
