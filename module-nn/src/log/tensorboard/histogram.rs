//! Counts of values in the bins of PyTorch and TensorFlow.

use module_core::error::quote;
use module_core::{DType, Error, Result, Tensor};

use super::proto::Message;

/// The edges of the bins: 0, and powers of 1.1 from 10⁻¹² to 10²⁰ in both directions.
fn edges() -> Vec<f64> {
    let mut positive = Vec::new();
    let mut edge = 1e-12;
    while edge < 1e20 {
        positive.push(edge);
        edge *= 1.1;
    }
    let negative = positive.iter().rev().map(|edge| -edge);
    negative
        .chain([0.0])
        .chain(positive.iter().copied())
        .collect()
}

/// The message `HistogramProto` of the elements of a tensor.
pub(super) fn histogram(tag: &str, values: &Tensor) -> Result<Message> {
    let refuse = |value: &dyn std::fmt::Display, problem: &str| {
        let problem = format!("{problem}, in the histogram `{}`", quote(tag));
        Err(Error::argument("add_histogram", "values", value, problem))
    };
    if values.dtype().is_complex() {
        return refuse(&values.dtype(), "must be real numbers");
    }
    let values: Vec<f64> = values.detach().to_dtype(DType::F64)?.to_vec()?;
    if let Some(wrong) = values.iter().find(|value| !value.is_finite()) {
        return refuse(wrong, "must be finite; log how many are not as a scalar");
    }
    let edges = edges();
    let last = edges.len() - 2;
    let mut counts = vec![0.0; last + 1];
    for value in &values {
        // A bin includes its left edge, the last one both edges.
        match edges.partition_point(|edge| edge <= value).checked_sub(1) {
            Some(bin) if bin <= last => counts[bin] += 1.0,
            Some(_) if edges.last() == Some(value) => counts[last] += 1.0,
            _ => {}
        }
    }
    let first = counts.iter().position(|count| *count > 0.0);
    let end = counts.iter().rposition(|count| *count > 0.0);
    let Some((first, end)) = first.zip(end) else {
        let problem = "must have an element between -10²⁰ and 10²⁰";
        return refuse(&format_args!("{} elements", values.len()), problem);
    };
    // Only right edges are written: an empty bin before the first one supplies its left edge.
    let buckets: Vec<f64> = [0.0]
        .into_iter()
        .chain(counts[first..=end].iter().copied())
        .collect();
    let extreme = |of: fn(f64, f64) -> f64| values.iter().copied().reduce(of).unwrap_or_default();
    Ok(Message::new()
        .double(1, extreme(f64::min))
        .double(2, extreme(f64::max))
        .double(3, values.len() as f64)
        .double(4, values.iter().sum())
        .double(5, values.iter().map(|value| value * value).sum())
        .doubles(6, &edges[first..end + 2])
        .doubles(7, &buckets))
}
