//! Normalization of each row, and the gradient of its elements, in one launch.

use module_tensor::backend::{NormGeometry, NormOver, Normalized, Operand, Saved, Storage};
use module_tensor::{DType, Result};

use super::normalize_code::{NAME, parameters};
use crate::elem::Elem;
use crate::fold::FOLD_FIRST;
use crate::gpu::Gpu;
use crate::lines::{Join, LineCode, Lines, Pass, fit};
use crate::map::NAMES;
use crate::storage::GpuStorage;

/// The numbers of the parameters that [`parameters`] returns.
const GROUPS: usize = FOLD_FIRST;
const CHANNELS: usize = FOLD_FIRST + 1;
const INNER: usize = FOLD_FIRST + 2;
const EPS: usize = FOLD_FIRST + 3;

/// The number of elements with one mean, if they are rows that have a kernel.
fn row_of(geometry: &NormGeometry, out: Elem) -> Option<usize> {
    let lines = geometry.statistics_count();
    let size = geometry.shape().numel() / lines.max(1);
    (geometry.over == NormOver::Row && fit(Some(out), lines, size)).then_some(size)
}

/// The expression for the channel of element `j` of row `o`, and the part of a pipeline's key that it depends on.
fn channel(geometry: &NormGeometry) -> (String, &'static str) {
    match (geometry.groups, geometry.inner) {
        (1, 1) => ("j".to_owned(), "layer"),
        _ => (
            format!("(o % ${GROUPS} * ${CHANNELS} + quotient(j, ${INNER}))"),
            "group",
        ),
    }
}

/// The statement that computes what elements less their mean are multiplied by.
fn scale() -> String {
    format!("    let scale = 1.0 / sqrt_(variance + $f{EPS});\n")
}

/// Statements that name the first element of a row.
const FIRST_ELEMENT: &str = "    let first = a(o * $2);\n";

/// A pass that sums `value`.
fn sum(name: &'static str, value: &'static str, after: String) -> Pass {
    Pass {
        name,
        join: Join::Sum,
        value,
        after,
        kept: None,
    }
}

impl Gpu {
    /// The elements less their mean, divided by their deviation, with the weights and the biases that are given; `None` where
    /// rows have no kernel of their own.
    pub(super) fn normalize_lines(
        &self,
        (x, elem): (&Operand, Elem),
        affine: [(Option<&Operand>, Elem); 2],
        geometry: &NormGeometry,
    ) -> Result<Option<Normalized>> {
        let Some(size) = row_of(geometry, elem) else {
            return Ok(None);
        };
        let NormGeometry {
            centered,
            with_statistics,
            ..
        } = *geometry;
        let (channel, kind) = channel(geometry);
        let mut reads = vec![(self.data(NAME, x)?, elem)];
        let mut value = "x * scale".to_owned();
        let mut key = format!("{NAME} {kind} {centered} ");
        for ((operand, of), sign) in affine.into_iter().zip(['*', '+']) {
            if let Some(operand) = operand {
                value.push_str(&format!(" {sign} {}({channel})", NAMES[reads.len()]));
                reads.push((self.data(NAME, operand)?, of));
                key.push(sign);
            }
        }
        let has_means = centered && with_statistics;
        let squares = "    let variance = squares / f32($2);\n".to_owned() + &scale();
        let code = || {
            let mut numbers = match centered {
                true => vec!["mean", "variance"],
                false => vec!["0.0", "variance"],
            };
            if has_means {
                numbers.push("first + mean");
            }
            let mut passes = vec![sum("squares", "x * x", squares.clone())];
            if centered {
                let mean = "    let mean = all / f32($2);\n".to_owned();
                let kept = Some("x - mean");
                passes.insert(
                    0,
                    Pass {
                        kept,
                        ..sum("all", "x", mean)
                    },
                );
            }
            LineCode {
                functions: String::new(),
                before: FIRST_ELEMENT.to_owned(),
                kept: vec![match centered {
                    true => "a(o * $2 + j) - first".to_owned(),
                    false => "a(o * $2 + j)".to_owned(),
                }],
                passes,
                value: value.clone(),
                numbers,
            }
        };
        let (output, numbers) = self.lines(Lines {
            op: NAME,
            key,
            reads: &reads,
            out: Some((elem, x.storage.dtype())),
            lines: geometry.statistics_count(),
            size,
            numbers: 2 + usize::from(has_means),
            parameters: parameters(geometry)?,
            code: &code,
        })?;
        let (Some(output), [mean, var, ..]) = (output, numbers.as_slice()) else {
            return Ok(None);
        };
        // Where nothing is subtracted, the means are 0 in any case.
        let means = numbers.get(2).unwrap_or(mean);
        Ok(Some(Normalized {
            output,
            statistics: with_statistics.then(|| [means.clone(), var.clone()]),
            saved: Saved::new([mean.clone(), var.clone()]),
        }))
    }

    /// The gradient of the elements, from these, their means less the first of them, their variances, the gradient of the result
    /// and the weights, if there are any; `None` where rows have no kernel of their own.
    pub(super) fn normalize_lines_backward(
        &self,
        reads: &[(&GpuStorage, Elem); 5],
        is_weighted: bool,
        dtype: DType,
        geometry: &NormGeometry,
    ) -> Result<Option<Storage>> {
        let out = reads[0].1;
        let Some(size) = row_of(geometry, out) else {
            return Ok(None);
        };
        let centered = geometry.centered;
        let (channel, kind) = channel(geometry);
        let code = || {
            let factor = match is_weighted {
                true => format!(" * e({channel})"),
                false => String::new(),
            };
            let (normal, value) = match centered {
                true => (
                    "((a(o * $2 + j) - first) - b(o)) * scale",
                    "(x - even - y * along) * scale",
                ),
                false => ("a(o * $2 + j) * scale", "(x - y * along) * scale"),
            };
            let along = "    let along = products / f32($2);\n".to_owned();
            let mut passes = vec![sum("products", "x * y", along)];
            if centered {
                passes.push(sum(
                    "all",
                    "x",
                    "    let even = all / f32($2);\n".to_owned(),
                ));
            }
            LineCode {
                functions: String::new(),
                before: format!("{FIRST_ELEMENT}    let variance = c(o);\n{}", scale()),
                kept: vec![format!("d(o * $2 + j){factor}"), normal.to_owned()],
                passes,
                value: value.to_owned(),
                numbers: Vec::new(),
            }
        };
        let (of_x, _) = self.lines(Lines {
            op: NAME,
            key: format!("{NAME} backward {kind} {centered} {is_weighted}"),
            reads,
            out: Some((out, dtype)),
            lines: geometry.statistics_count(),
            size,
            numbers: 0,
            parameters: parameters(geometry)?,
            code: &code,
        })?;
        Ok(of_x)
    }
}
