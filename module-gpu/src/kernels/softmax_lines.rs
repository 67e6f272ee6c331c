//! Softmax along the last dimension, its gradient, and the sums that it is computed from, in one launch each.

use module_tensor::backend::{Operand, SoftmaxOp, Storage};
use module_tensor::{DType, Layout, Result};

use super::reduce::Split;
use super::softmax::{LineFunction, Sums};
use crate::elem::Elem;
use crate::gpu::Gpu;
use crate::lines::{Join, LineCode, Lines, Pass, fit};

/// The lines of an operand, if they are along its last dimension, their values lie side by side, and a kernel has place for
/// them.
fn lines_of(op: &'static str, x: &Operand, out: Option<Elem>, dim: usize) -> Result<Option<Split>> {
    let split = Split::new(op, &x.layout, &[dim])?;
    let is_last = x.layout.shape()[dim + 1..].iter().all(|&size| size == 1);
    let fits = split.has_adjacent_values() && fit(out, split.numel, split.count);
    Ok((is_last && fits).then_some(split))
}

/// Code that keeps the elements of one operand.
fn of_elements(split: &Split, firsts: [usize; 2]) -> LineCode {
    LineCode {
        functions: split.code("a", firsts),
        kept: vec!["a(at_a(o, j))".to_owned()],
        ..LineCode::default()
    }
}

impl Gpu {
    /// A function of each line; `None` where lines have no kernel of their own.
    pub(super) fn softmax_of_lines(
        &self,
        function: LineFunction,
        x: &Operand,
        elem: Elem,
        dim: usize,
        out: (Elem, DType),
    ) -> Result<Option<Storage>> {
        let name = function.name();
        let Some(split) = lines_of(name, x, Some(out.0), dim)? else {
            return Ok(None);
        };
        let mut parameters = Vec::new();
        let firsts = split.push(&mut parameters);
        let [kept, exponential, after, value] = match function {
            LineFunction::Softmax(SoftmaxOp::LogSoftmax) => {
                ["x - most", "exp_(x)", "let log = log_(total);", "x - log"]
            }
            LineFunction::Softmax(_) => ["exp_(x - most)", "x", "", "x / total"],
            LineFunction::Shares(_) => [
                "exp_(x - select(most, 0.0, is_inf(most)))",
                "x",
                "",
                "select(x / total, 0.0, total == 0.0)",
            ],
        };
        let (out, _) = self.lines(Lines {
            op: name,
            key: format!("{name} {}", split.key()),
            reads: &[(self.data(name, x)?, elem)],
            out: Some(out),
            lines: split.numel,
            size: split.count,
            numbers: 0,
            parameters,
            code: &|| LineCode {
                passes: vec![
                    Pass {
                        name: "most",
                        join: Join::Greatest,
                        value: "x",
                        after: String::new(),
                        kept: Some(kept),
                    },
                    Pass {
                        name: "total",
                        join: Join::Sum,
                        value: exponential,
                        after: format!("    {after}\n"),
                        kept: None,
                    },
                ],
                value: value.to_owned(),
                ..of_elements(&split, firsts)
            },
        })?;
        Ok(out)
    }

    /// The gradient, from that of the result and the result; `None` where lines have no kernel of their own.
    pub(super) fn softmax_backward_of_lines(
        &self,
        op: SoftmaxOp,
        [(grad, of_grad), (y, of_y)]: [(&Operand, Elem); 2],
        dim: usize,
    ) -> Result<Option<Storage>> {
        let name = op.name();
        let out = Some(of_y);
        let splits = lines_of(name, grad, out, dim)?.zip(lines_of(name, y, out, dim)?);
        let Some((grads, ys)) = splits else {
            return Ok(None);
        };
        let mut parameters = Vec::new();
        let firsts = [grads.push(&mut parameters), ys.push(&mut parameters)];
        let (term, value) = match op {
            SoftmaxOp::LogSoftmax => ("x", "x - exp_(y) * total"),
            _ => ("x * y", "y * (x - total)"),
        };
        let (out, _) = self.lines(Lines {
            op: name,
            key: format!("{name} backward {} {}", grads.key(), ys.key()),
            reads: &[
                (self.data(name, grad)?, of_grad),
                (self.data(name, y)?, of_y),
            ],
            out: Some((of_y, y.storage.dtype())),
            lines: grads.numel,
            size: grads.count,
            numbers: 0,
            parameters,
            code: &|| LineCode {
                functions: grads.code("a", firsts[0]) + &ys.code("b", firsts[1]),
                kept: vec!["a(at_a(o, j))".to_owned(), "b(at_b(o, j))".to_owned()],
                passes: vec![Pass {
                    name: "total",
                    join: Join::Sum,
                    value: term,
                    after: String::new(),
                    kept: None,
                }],
                value: value.to_owned(),
                ..LineCode::default()
            },
        })?;
        Ok(out)
    }

    /// The sums of lines as [`exponential_sums`](Self::exponential_sums) returns them; `None` where lines have no kernel of
    /// their own.
    pub(super) fn exponential_sums_of_lines(
        &self,
        op: &'static str,
        x: &Operand,
        elem: Elem,
        dim: usize,
    ) -> Result<Option<Sums>> {
        let Some(split) = lines_of(op, x, None, dim)? else {
            return Ok(None);
        };
        let mut parameters = Vec::new();
        let firsts = split.push(&mut parameters);
        let (_, numbers) = self.lines(Lines {
            op,
            key: format!("exponentials {}", split.key()),
            reads: &[(self.data(op, x)?, elem)],
            out: None,
            lines: split.numel,
            size: split.count,
            numbers: 2,
            parameters,
            code: &|| LineCode {
                passes: vec![
                    Pass {
                        name: "greatest",
                        join: Join::Greatest,
                        value: "x",
                        after: "    let most = select(greatest, 0.0, is_inf(greatest));\n"
                            .to_owned(),
                        kept: None,
                    },
                    Pass {
                        name: "total",
                        join: Join::Sum,
                        value: "exp_(x - most)",
                        after: String::new(),
                        kept: None,
                    },
                ],
                numbers: vec!["most", "total"],
                ..of_elements(&split, firsts)
            },
        })?;
        let layout = Layout::contiguous(split.numel.into());
        let sums = numbers.into_iter().map(|storage| Operand {
            storage,
            layout: layout.clone(),
        });
        let sums: Option<[Operand; 2]> = sums.collect::<Vec<_>>().try_into().ok();
        Ok(sums.map(|[most, total]| Sums { most, total }))
    }
}
