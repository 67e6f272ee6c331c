//! Code that the losses share: checks of shapes and dtypes, and the reduction of per-element losses.

use module_core::{AutocastPolicy, DType, DTypeError, LossCall, Result, ShapeError, Tensor};

use super::Reduction;

/// The per-element losses, reduced.
pub(super) fn reduce(losses: &Tensor, reduction: Reduction) -> Result<Tensor> {
    match reduction {
        Reduction::None => Ok(losses.clone()),
        Reduction::Mean => losses.mean(..),
        Reduction::Sum => losses.sum(..),
    }
}

/// A loss of each element of `input` and its counterpart in `target`, reduced; half precision is computed in `F32` and
/// rounded at the end.
pub(super) fn reduce_elementwise(
    op: &'static str,
    [input, target]: [&Tensor; 2],
    reduction: Reduction,
    losses: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    reduce_by_policy(
        op,
        AutocastPolicy::Float32,
        [input, target],
        reduction,
        losses,
    )
}

/// [`reduce_elementwise`] with its own `autocast` policy.
pub(super) fn reduce_by_policy(
    op: &'static str,
    policy: AutocastPolicy,
    [input, target]: [&Tensor; 2],
    reduction: Reduction,
    losses: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let inner = |[x, y]: [&Tensor; 2], []: [Option<&Tensor>; 0]| {
        reduce_by_policy(
            op,
            policy,
            [x, y],
            reduction,
            &losses as &dyn Fn(&Tensor, &Tensor) -> _,
        )
    };
    if let Some(out) = policy.apply([input, target], [], inner) {
        return out;
    }
    LossCall {
        name: op,
        input,
        target,
        ignore_index: None,
    }
    .show();
    check_floating(op, input)?;
    check_same_shape(op, input, target)?;
    check_same_dtype(op, input, target)?;
    let losses = losses(&widen(input)?, &widen(target)?)?;
    reduce(&losses, reduction)?.to_dtype(input.dtype())
}

/// Refuses a tensor of another shape, even if it would broadcast.
pub(super) fn check_same_shape(op: &'static str, input: &Tensor, other: &Tensor) -> Result<()> {
    if input.shape() == other.shape() {
        return Ok(());
    }
    refuse_shapes(
        op,
        input,
        other,
        "a loss takes equal shapes and never broadcasts",
    )
}

/// The error for two incompatible shapes.
pub(super) fn refuse_shapes<T>(
    op: &'static str,
    input: &Tensor,
    other: &Tensor,
    rule: impl Into<String>,
) -> Result<T> {
    let (lhs, rhs) = (input.shape().clone(), other.shape().clone());
    let rule = rule.into();
    Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into())
}

fn check_same_dtype(op: &'static str, input: &Tensor, other: &Tensor) -> Result<()> {
    let (lhs, rhs) = (input.dtype(), other.dtype());
    match lhs == rhs {
        true => Ok(()),
        false => Err(DTypeError::Mismatch { op, lhs, rhs }.into()),
    }
}

/// Refuses an input that is not floating-point.
pub(super) fn check_floating(op: &'static str, input: &Tensor) -> Result<()> {
    let dtype = input.dtype();
    if dtype.is_floating_point() {
        return Ok(());
    }
    let needs = "a floating-point input; cast with `to_dtype`";
    Err(DTypeError::Unsupported { op, dtype, needs }.into())
}

/// The dtype to compute in: `F32` for half precision.
pub(super) fn compute_dtype(x: &Tensor) -> DType {
    match x.dtype() {
        DType::F16 | DType::BF16 => DType::F32,
        dtype => dtype,
    }
}

/// Half precision widened to `F32`; other dtypes as they are.
pub(super) fn widen(x: &Tensor) -> Result<Tensor> {
    x.to_dtype(compute_dtype(x))
}

/// A target of signs, 1 and -1, in the dtype of the input that it multiplies.
pub(super) fn to_signs(target: &Tensor, input: &Tensor) -> Result<Tensor> {
    match target.dtype().is_floating_point() {
        true => widen(target),
        false => target.to_dtype(widen(input)?.dtype()),
    }
}

/// `ln(1 + eˣ)` without overflow.
pub(super) fn softplus(x: &Tensor) -> Result<Tensor> {
    // Beyond 40, e⁻ˣ is below the last bit of x even in F64.
    x.softplus(1.0, 40.0)
}
