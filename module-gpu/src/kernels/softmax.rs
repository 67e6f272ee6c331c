use module_tensor::backend::{Operand, Saved, SoftmaxKernels, SoftmaxOp, Storage};
use module_tensor::{DType, Layout, Result};

use super::binary::whole;
use super::reduce::Split;
use crate::elem::Elem;
use crate::elementwise::{Code, Elementwise};
use crate::fold::Fold;
use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};

/// The greatest of each line of elements, and the sum of the exponentials of the differences to it; both as `F32`.
pub(crate) struct Sums {
    pub(crate) most: Operand,
    pub(crate) total: Operand,
}

/// A function of each line, whose elements are exponentials divided by their sum.
#[derive(Clone, Copy)]
pub(crate) enum LineFunction {
    Softmax(SoftmaxOp),
    /// Softmax for the op of this name, where all elements may be −∞: they then become 0.
    Shares(&'static str),
}

impl LineFunction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Softmax(op) => op.name(),
            Self::Shares(name) => name,
        }
    }

    /// The number that is subtracted from the elements, from the greatest of them, `x`.
    fn subtracted(self) -> &'static str {
        match self {
            Self::Softmax(_) => "x",
            Self::Shares(_) => FINITE,
        }
    }

    /// The element of the result from that of the operand, `x`, what is subtracted from it, `b(o)`, and the sum, `c(o)`.
    fn value(self) -> &'static str {
        match self {
            Self::Softmax(SoftmaxOp::LogSoftmax) => "(x - b(o)) - log_(c(o))",
            Self::Softmax(_) => "exp_(x - b(o)) / c(o)",
            Self::Shares(_) => "select(exp_(x - b(o)) / c(o), 0.0, c(o) == 0.0)",
        }
    }
}

/// The greatest element of a line, `x`, or 0 if that is infinite.
const FINITE: &str = "select(x, 0.0, is_inf(x))";

/// The parameters of [`value_of_line`]: the number of elements of a line, and of those after its dimension.
fn line_parameters(op: &'static str, layout: &Layout, dim: usize) -> Result<Vec<u32>> {
    let inner: usize = layout.shape()[dim + 1..].iter().product();
    Ok(vec![word(op, layout.shape()[dim])?, word(op, inner)?])
}

/// An expression of the element `x` and of the number `o` of its line.
fn value_of_line(value: &str) -> Code {
    let (size, inner) = (FIRST, FIRST + 1);
    Code {
        functions: format!(
            "fn line(i: u32) -> u32 {{
    let row = quotient(i, ${inner});
    return quotient(row, ${size}) * ${inner} + i - row * ${inner};
}}\n"
        ),
        statements: format!("    let o = line(i);\n    return {value};\n"),
    }
}

impl Gpu {
    /// Elements that are computed with in `F32`.
    pub(crate) fn computes_in_f32(&self, x: &Operand) -> Option<Elem> {
        self.computes(x).filter(|elem| elem.computed() == "f32")
    }

    /// The sums of lines, without NaN where the greatest element is infinite: 0 takes its place.
    pub(crate) fn exponential_sums(
        &self,
        op: &'static str,
        x: &Operand,
        elem: Elem,
        dim: usize,
    ) -> Result<Sums> {
        if let Some(sums) = self.exponential_sums_of_lines(op, x, elem, dim)? {
            return Ok(sums);
        }
        self.sums_of_lines(op, x, elem, dim, FINITE)
    }

    fn sums_of_lines(
        &self,
        op: &'static str,
        x: &Operand,
        elem: Elem,
        dim: usize,
        greatest: &str,
    ) -> Result<Sums> {
        let split = Split::new(op, &x.layout, &[dim])?;
        let (numel, count) = (split.numel, split.count);
        let line = |storage| Operand {
            storage,
            layout: Layout::contiguous(numel.into()),
        };
        let mut parameters = Vec::new();
        let firsts = split.push(&mut parameters);
        let data = (self.data(op, x)?, elem);
        let most = self.fold(Fold {
            op,
            key: format!("{greatest} {}", split.key()),
            reads: &[data],
            out: Elem::F32,
            dtype: DType::F32,
            numel,
            count,
            adjacent_values: split.has_adjacent_values(),
            parameters: parameters.clone(),
            value: "f32",
            kept: DType::F32,
            code: &|| {
                format!(
                    "{}fn value(o: u32, j: u32) -> f32 {{ return a(at_a(o, j)); }}
fn start() -> f32 {{ return -inf(); }}
fn join(x: f32, y: f32) -> f32 {{ return greater(x, y); }}
fn finish(o: u32, x: f32) -> f32 {{ return {greatest}; }}
",
                    split.code("a", firsts)
                )
            },
        })?;
        let most = line(most);
        let total = self.fold(Fold {
            op,
            key: format!("exponentials {}", split.key()),
            reads: &[data, (self.data(op, &most)?, Elem::F32)],
            out: Elem::F32,
            dtype: DType::F32,
            numel,
            count,
            adjacent_values: split.has_adjacent_values(),
            parameters,
            value: "f32",
            kept: DType::F32,
            code: &|| {
                format!(
                    "{}fn value(o: u32, j: u32) -> f32 {{ return exp_(a(at_a(o, j)) - b(o)); }}
fn start() -> f32 {{ return 0.0; }}
fn join(x: f32, y: f32) -> f32 {{ return x + y; }}
fn finish(o: u32, x: f32) -> f32 {{ return x; }}
",
                    split.code("a", firsts)
                )
            },
        })?;
        let total = line(total);
        Ok(Sums { most, total })
    }

    pub(crate) fn compute_softmax(&self, op: SoftmaxOp, x: Operand, dim: usize) -> Result<Storage> {
        let numel = x.layout.shape().numel();
        let Some(elem) = self.computes_in_f32(&x) else {
            return self.through_host("softmax", [x], numel, |cpu, [x]| cpu.softmax(op, x, dim));
        };
        let dtype = x.storage.dtype();
        self.function_of_lines(LineFunction::Softmax(op), &x, elem, dim, (elem, dtype))
    }

    /// A function of each line along a dimension, as elements of another type.
    pub(crate) fn function_of_lines(
        &self,
        function: LineFunction,
        x: &Operand,
        elem: Elem,
        dim: usize,
        out: (Elem, DType),
    ) -> Result<Storage> {
        if let Some(out) = self.softmax_of_lines(function, x, elem, dim, out)? {
            return Ok(out);
        }
        let name = function.name();
        let sums = self.sums_of_lines(name, x, elem, dim, function.subtracted())?;
        self.elementwise(Elementwise {
            op: name,
            key: format!("{name} {}", function.value()),
            operands: &[(x, elem)],
            others: &[
                (self.data(name, &sums.most)?, Elem::F32),
                (self.data(name, &sums.total)?, Elem::F32),
            ],
            out: out.0,
            dtype: out.1,
            parameters: line_parameters(name, &x.layout, dim)?,
            code: &|| value_of_line(function.value()),
        })
    }
}

impl SoftmaxKernels for Gpu {
    fn softmax_backward(
        &self,
        op: SoftmaxOp,
        grad: Operand,
        y: Operand,
        dim: usize,
    ) -> Result<Storage> {
        let (name, numel) = (op.name(), y.layout.shape().numel());
        let elems = self.computes_in_f32(&grad).zip(self.computes_in_f32(&y));
        let Some((of_grad, of_y)) = elems else {
            return self.through_host("softmax_backward", [grad, y], numel, |cpu, [grad, y]| {
                let family = cpu
                    .softmax_family()
                    .ok_or_else(|| self.device().unavailable(name))?;
                family.softmax_backward(op, grad, y, dim)
            });
        };
        let operands = [(&grad, of_grad), (&y, of_y)];
        if let Some(out) = self.softmax_backward_of_lines(op, operands, dim)? {
            return Ok(out);
        }
        let (factor, value) = match op {
            SoftmaxOp::LogSoftmax => ("1.0", "x - exp_(y) * c(o)"),
            _ => ("b(at_b(o, j))", "y * (x - c(o))"),
        };
        let reads = [
            (self.data(name, &grad)?, of_grad),
            (self.data(name, &y)?, of_y),
        ];
        let splits = [&grad, &y].map(|x| Split::new(name, &x.layout, &[dim]));
        let [grads, ys] = splits;
        let (grads, ys) = (grads?, ys?);
        let mut parameters = Vec::new();
        let firsts = [grads.push(&mut parameters), ys.push(&mut parameters)];
        let total = self.fold(Fold {
            op: name,
            key: format!("{name} sums {} {}", grads.key(), ys.key()),
            reads: &reads,
            out: Elem::F32,
            dtype: DType::F32,
            numel: grads.numel,
            count: grads.count,
            adjacent_values: grads.has_adjacent_values(),
            parameters,
            value: "f32",
            kept: DType::F32,
            code: &|| {
                format!(
                    "{}{}fn value(o: u32, j: u32) -> f32 {{ return a(at_a(o, j)) * {factor}; }}
fn start() -> f32 {{ return 0.0; }}
fn join(x: f32, y: f32) -> f32 {{ return x + y; }}
fn finish(o: u32, x: f32) -> f32 {{ return x; }}
",
                    grads.code("a", firsts[0]),
                    ys.code("b", firsts[1])
                )
            },
        })?;
        let total = Operand {
            storage: total,
            layout: Layout::contiguous(grads.numel.into()),
        };
        self.elementwise(Elementwise {
            op: name,
            key: format!("{name} backward"),
            operands: &operands,
            others: &[(self.data(name, &total)?, Elem::F32)],
            out: of_y,
            dtype: y.storage.dtype(),
            parameters: line_parameters(name, &y.layout, dim)?,
            code: &|| value_of_line(value),
        })
    }

    fn logsumexp(&self, x: Operand, dim: usize) -> Result<(Storage, Saved)> {
        let name = "logsumexp";
        let Some(elem) = self.computes_in_f32(&x) else {
            return self.logsumexp_on_host(x, dim);
        };
        let sums = self.exponential_sums(name, &x, elem, dim)?;
        let numel = sums.most.layout.shape().numel();
        let reads = [
            (self.data(name, &sums.most)?, Elem::F32),
            (self.data(name, &sums.total)?, Elem::F32),
        ];
        let logs = self.map(Map {
            op: name,
            key: name.to_owned(),
            reads: &reads,
            out: Elem::F32,
            dtype: DType::F32,
            numel,
            parameters: Vec::new(),
            index_size: None,
            code: &|| "fn element(i: u32) -> f32 { return a(i) + log_(b(i)); }\n".to_owned(),
        })?;
        let saved = Saved::new([logs.clone()]);
        let out = match elem {
            Elem::F32 => logs,
            _ => self.convert(whole(logs, &sums.most.layout), x.storage.dtype())?,
        };
        Ok((out, saved))
    }

    fn logsumexp_backward(
        &self,
        grad: Operand,
        x: Operand,
        saved: &Saved,
        dim: usize,
    ) -> Result<Storage> {
        let name = "logsumexp";
        let elems = self.computes_in_f32(&grad).zip(self.computes_in_f32(&x));
        let Some((of_grad, of_x)) = elems else {
            return self.logsumexp_backward_on_host(grad, x, saved, dim);
        };
        let [logs] = saved.storages(name)?;
        let grad = self.in_order(name, grad)?;
        let logs = whole(logs.clone(), &grad.layout);
        self.elementwise(Elementwise {
            op: name,
            key: format!("{name} backward"),
            operands: &[(&x, of_x)],
            others: &[
                (self.data(name, &grad)?, of_grad),
                (self.data(name, &logs)?, Elem::F32),
            ],
            out: of_x,
            dtype: x.storage.dtype(),
            parameters: line_parameters(name, &x.layout, dim)?,
            code: &|| value_of_line("b(o) * exp_(x - c(o))"),
        })
    }
}
