//! Tensors as numbers in host memory.

use module_core::{DType, Error, Result, Tensor};

use super::MetricError;

/// The error for an unexpected dtype.
pub(super) fn wrong_dtype(
    metric: &'static str,
    what: &'static str,
    tensor: &Tensor,
    expected: &'static str,
) -> Error {
    let dtype = tensor.dtype();
    let error = MetricError::DType {
        metric,
        what,
        dtype,
        expected,
    };
    error.into()
}

/// The elements of integers or booleans.
pub(super) fn integers(
    metric: &'static str,
    what: &'static str,
    tensor: &Tensor,
) -> Result<Vec<i64>> {
    let dtype = tensor.dtype();
    if dtype.is_floating_point() || dtype.is_complex() {
        return Err(wrong_dtype(metric, what, tensor, "classes as integers"));
    }
    tensor.to_dtype(DType::I64)?.to_vec()
}

/// The elements of floating-point numbers, or of integers.
pub(super) fn floats(
    metric: &'static str,
    what: &'static str,
    tensor: &Tensor,
) -> Result<Vec<f64>> {
    let dtype = tensor.dtype();
    if dtype.is_complex() {
        return Err(wrong_dtype(metric, what, tensor, "real numbers"));
    }
    tensor.detach().to_dtype(DType::F64)?.to_vec()
}

/// Refuses different shapes.
pub(super) fn check_same_shape(
    metric: &'static str,
    preds: &Tensor,
    target: &Tensor,
) -> Result<(), MetricError> {
    match preds.shape() == target.shape() {
        true => Ok(()),
        false => Err(shapes(metric, preds, target, "give equal shapes")),
    }
}

/// The error for incompatible shapes.
pub(super) fn shapes(
    metric: &'static str,
    preds: &Tensor,
    target: &Tensor,
    expected: impl Into<String>,
) -> MetricError {
    MetricError::Shapes {
        metric,
        preds: preds.shape().clone(),
        target: target.shape().clone(),
        expected: expected.into(),
    }
}

/// Refuses classes that do not exist, except the ignored one.
pub(super) fn check_classes(
    metric: &'static str,
    what: &'static str,
    classes: &[i64],
    num_classes: usize,
    ignore_index: Option<i64>,
) -> Result<(), MetricError> {
    let wrong = |&&class: &&i64| {
        !usize::try_from(class).is_ok_and(|class| class < num_classes)
            && Some(class) != ignore_index
    };
    match classes.iter().find(wrong) {
        None => Ok(()),
        Some(&class) => Err(MetricError::Class {
            metric,
            what,
            class,
            num_classes,
        }),
    }
}

/// Checks that `preds` are `[N, C, …]` for targets `[N, …]`.
pub(super) fn check_scores_shape(
    metric: &'static str,
    preds: &Tensor,
    target: &Tensor,
    num_classes: usize,
) -> Result<(), MetricError> {
    let of = target.shape();
    let fits = of.rank() > 0 && {
        let (first, rest) = of.split_at(1);
        preds.rank() == of.rank() + 1
            && preds.shape()[..1] == *first
            && preds.shape()[1] == num_classes
            && preds.shape()[2..] == *rest
    };
    if fits {
        return Ok(());
    }
    let expected =
        format!("give target [N, …] and preds [N, {num_classes}, …] with the same sizes");
    Err(shapes(metric, preds, target, expected))
}

/// Converts scores to probabilities with `map` if they are logits; each must be in `[0, 1]`.
pub(super) fn probabilities(
    metric: &'static str,
    preds: &Tensor,
    logits: Option<impl FnOnce(&Tensor) -> Result<Tensor>>,
) -> Result<Tensor> {
    let preds = match logits {
        Some(map) => map(preds)?,
        None => preds.clone(),
    };
    let values = floats(metric, "preds", &preds)?;
    match values.into_iter().find(|p| !(0.0..=1.0).contains(p)) {
        None => Ok(preds),
        Some(value) => Err(MetricError::Probability { metric, value }.into()),
    }
}
