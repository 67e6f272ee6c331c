use module_tensor::backend::{Operand, ReduceOp, Storage};
use module_tensor::{Layout, Result};

use super::number::computed;
use crate::dims::Dims;
use crate::elem::Elem;
use crate::fold::{FOLD_FIRST, Fold};
use crate::gpu::Gpu;

/// How values are combined: the value that changes nothing, and the expression in `x` and `y`.
fn code(op: ReduceOp, of: &str) -> Option<(String, &'static str)> {
    let is_float = of == "f32";
    Some(match op {
        ReduceOp::Sum => (format!("{of}(0)"), "x + y"),
        ReduceOp::Prod => (format!("{of}(1)"), "x * y"),
        ReduceOp::Max if is_float => ("-inf()".to_owned(), "greater(x, y)"),
        ReduceOp::Min if is_float => ("inf()".to_owned(), "smaller(x, y)"),
        ReduceOp::Max if of == "i32" => ("(-2147483647 - 1)".to_owned(), "max(x, y)"),
        ReduceOp::Min if of == "i32" => ("2147483647".to_owned(), "min(x, y)"),
        ReduceOp::Max if of == "i64" => ("(-0x7fffffffffffffffli - 1li)".to_owned(), "max(x, y)"),
        ReduceOp::Min if of == "i64" => ("0x7fffffffffffffffli".to_owned(), "min(x, y)"),
        _ => return None,
    })
}

/// The dimensions that a reduction keeps, and those that it combines.
pub(crate) struct Split {
    kept: Dims,
    combined: Dims,
    pub(crate) numel: usize,
    pub(crate) count: usize,
}

impl Split {
    pub(crate) fn new(op: &'static str, layout: &Layout, dims: &[usize]) -> Result<Self> {
        let all = 0..layout.rank();
        let (combined, kept): (Vec<usize>, Vec<usize>) = all.partition(|dim| dims.contains(dim));
        let sizes = |dims: &[usize]| dims.iter().map(|&d| layout.shape()[d]).collect::<Vec<_>>();
        let steps = |dims: &[usize]| {
            dims.iter()
                .map(|&d| layout.strides()[d])
                .collect::<Vec<_>>()
        };
        let of = |dims: &[usize], offset| Dims::of(op, &sizes(dims), &[&steps(dims)], &[offset]);
        Ok(Self {
            kept: of(&kept, layout.offset())?,
            combined: of(&combined, 0)?,
            numel: sizes(&kept).iter().product(),
            count: sizes(&combined).iter().product(),
        })
    }

    /// Whether the values of an element lie side by side.
    pub(crate) fn has_adjacent_values(&self) -> bool {
        self.combined.is_contiguous(0)
    }

    pub(crate) fn key(&self) -> String {
        format!("{} {}", self.kept.key(), self.combined.key())
    }

    /// Appends the parameters, and returns the numbers of the first for each part.
    pub(crate) fn push(&self, parameters: &mut Vec<u32>) -> [usize; 2] {
        let first = FOLD_FIRST + parameters.len();
        self.kept.push(parameters);
        let second = FOLD_FIRST + parameters.len();
        self.combined.push(parameters);
        [first, second]
    }

    /// A function `at_{name}(o, j)`, the place in memory of value `j` of element `o`.
    pub(crate) fn code(&self, name: &str, [first, second]: [usize; 2]) -> String {
        let (kept, combined) = (format!("kept_{name}"), format!("combined_{name}"));
        format!(
            "{}{}fn at_{name}(o: u32, j: u32) -> u32 {{ return {kept}(o) + {combined}(j); }}\n",
            self.kept.code(first, &[&kept]),
            self.combined.code(second, &[&combined])
        )
    }
}

impl Gpu {
    pub(crate) fn reduce_dims(&self, op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
        let split = Split::new(op.name(), &x.layout, dims)?;
        let elem = self.computes_numbers(&x);
        let native = elem.and_then(|elem| Some((elem, code(op, elem.computed())?)));
        let Some((elem, (start, join))) = native else {
            return self.through_host("reduce", [x], split.numel, |cpu, [x]| {
                cpu.reduce(op, x, dims)
            });
        };
        self.combine(
            op.name(),
            &format!("reduce {op:?}"),
            &x,
            elem,
            &split,
            &|| {
                let of = elem.computed();
                format!(
                    "fn prepared(x: {of}) -> {of} {{ return x; }}
fn start() -> {of} {{ return {start}; }}
fn join(x: {of}, y: {of}) -> {of} {{ return {join}; }}
"
                )
            },
        )
    }

    pub(crate) fn sum_squared_elements(&self, x: Operand, dims: &[usize]) -> Result<Storage> {
        let op = "sum_squares";
        let split = Split::new(op, &x.layout, dims)?;
        let Some(elem) = self.computes_numbers(&x) else {
            return self.through_host(op, [x], split.numel, |cpu, [x]| cpu.sum_squares(x, dims));
        };
        self.combine(op, op, &x, elem, &split, &|| {
            let of = elem.computed();
            format!(
                "fn prepared(x: {of}) -> {of} {{ return x * x; }}
fn start() -> {of} {{ return {of}(0); }}
fn join(x: {of}, y: {of}) -> {of} {{ return x + y; }}
"
            )
        })
    }

    /// Elements that functions `prepared`, `start` and `join` make of those along some dimensions.
    fn combine(
        &self,
        op: &'static str,
        key: &str,
        x: &Operand,
        elem: Elem,
        split: &Split,
        functions: &dyn Fn() -> String,
    ) -> Result<Storage> {
        let mut parameters = Vec::new();
        let firsts = split.push(&mut parameters);
        let of = elem.computed();
        self.fold(Fold {
            op,
            key: format!("{key} {}", split.key()),
            reads: &[(self.data(op, x)?, elem)],
            out: elem,
            dtype: x.storage.dtype(),
            numel: split.numel,
            count: split.count,
            adjacent_values: split.has_adjacent_values(),
            parameters,
            value: of,
            kept: computed(elem),
            code: &|| {
                format!(
                    "{}{}fn value(o: u32, j: u32) -> {of} {{ return prepared(a(at_a(o, j))); }}
fn finish(o: u32, x: {of}) -> {of} {{ return x; }}
",
                    split.code("a", firsts),
                    functions()
                )
            },
        })
    }
}
