//! Sums and products along a dimension, and the indices of extremes.

use module_tensor::backend::{ArgReduceOp, BinaryOp, Operand, Storage};
use module_tensor::{DType, Layout, Result};

use super::number::computed;
use super::reduce::Split;
use crate::elem::Elem;
use crate::fold::Fold;
use crate::gpu::{Gpu, Launch, word};
use crate::map::declarations;
use crate::spread::Spread;

impl Gpu {
    /// The sums or products along `dim` up to each element, or from each on if `reverse`.
    pub(crate) fn scan(
        &self,
        op: BinaryOp,
        x: Operand,
        dim: usize,
        reverse: bool,
    ) -> Result<Storage> {
        let name = match op {
            BinaryOp::Add => "cumsum",
            _ => "cumprod",
        };
        let (numel, dtype) = (x.layout.shape().numel(), x.storage.dtype());
        let Some(elem) = self.computes_numbers(&x) else {
            return self.through_host(name, [x], numel, |cpu, [x]| match op {
                BinaryOp::Add => cpu.cumsum(x, dim, reverse),
                _ => cpu.cumprod(x, dim),
            });
        };
        if elem.per_word() > 1 {
            // An invocation writes a line, and elements that share words are of several lines.
            let layout = Layout::contiguous(x.layout.shape().clone());
            let kept = computed(elem);
            let storage = self.convert(x, kept)?;
            let wide = Operand {
                storage,
                layout: layout.clone(),
            };
            let storage = self.scan(op, wide, dim, reverse)?;
            return self.convert(Operand { storage, layout }, dtype);
        }
        let x = self.in_order(name, x)?;
        let shape = x.layout.shape();
        let inner: usize = shape[dim + 1..].iter().product();
        let to = self.allocate(numel, dtype)?;
        if numel == 0 {
            return Ok(Storage::new(to));
        }
        let lines = numel / shape[dim];
        let spread = Spread::new(lines);
        let parameters = [
            word(name, lines)?,
            0,
            word(name, shape[dim])?,
            word(name, inner)?,
            u32::from(reverse),
        ];
        let of = elem.computed();
        let (start, sign) = match op {
            BinaryOp::Add => (0, '+'),
            _ => (1, '*'),
        };
        let source = || {
            declarations(&[elem], elem, false, false)
                + &format!(
                    "
fn visit(line: u32) {{
    if line >= $0 {{ return; }}
    let first = line / $3 * $2 * $3 + line % $3;
    var sum = {of}({start});
    for (var j = 0u; j < $2; j++) {{
        let place = first + select(j, $2 - 1u - j, $4 == 1u) * $3;
        sum = sum {sign} a(place);
        out_memory[place] = {};
    }}
}}
",
                    elem.encoded("sum")
                )
                + &spread.entry()
        };
        self.launch(Launch {
            op: name,
            key: format!("{name} {}{}", elem.name(), spread.key()),
            reads: &[&self.data(name, &x)?.memory],
            writes: &[&to.memory],
            parameters: &parameters,
            groups: spread.groups(lines),
            source: &source,
        })?;
        Ok(Storage::new(to))
    }

    /// The index of an extreme element along `dim`.
    pub(crate) fn find_extremes(&self, op: ArgReduceOp, x: Operand, dim: usize) -> Result<Storage> {
        let split = Split::new(op.name(), &x.layout, &[dim])?;
        let elem = self
            .computes(&x)
            .filter(|&elem| elem != Elem::F64 && elem != Elem::Bool);
        let Some(elem) = elem else {
            return self.through_host(op.name(), [x], split.numel, |cpu, [x]| {
                cpu.arg_reduce(op, x, dim)
            });
        };
        let is_max = op == ArgReduceOp::Max;
        let beats = match (elem.computed(), is_max) {
            ("f32", true) => "!is_nan(y.x) && (is_nan(x.x) || x.x > y.x)",
            ("f32", false) => "!is_nan(y.x) && (is_nan(x.x) || x.x < y.x)",
            (_, true) => "x.x > y.x",
            (_, false) => "x.x < y.x",
        };
        let mut parameters = Vec::new();
        let firsts = split.push(&mut parameters);
        let of = elem.computed();
        self.fold(Fold {
            op: op.name(),
            key: format!("{} {}", op.name(), split.key()),
            reads: &[(self.data(op.name(), &x)?, elem)],
            out: Elem::Bits8,
            dtype: DType::I64,
            numel: split.numel,
            count: split.count,
            adjacent_values: split.has_adjacent_values(),
            parameters,
            value: "Best",
            // Which is not a number, so that there are no parts.
            kept: DType::Complex64,
            code: &|| {
                // `at` is one more than the index, and 0 before there is an element.
                format!(
                    "struct Best {{ x: {of}, at: u32 }}
{}fn value(o: u32, j: u32) -> Best {{ return Best(a(at_a(o, j)), j + 1u); }}
fn start() -> Best {{ return Best({of}(0), 0u); }}
fn beats(x: Best, y: Best) -> bool {{ return {beats}; }}
fn join(x: Best, y: Best) -> Best {{
    if x.at == 0u {{ return y; }}
    if y.at == 0u {{ return x; }}
    if beats(x, y) {{ return x; }}
    if beats(y, x) || y.at < x.at {{ return y; }}
    return x;
}}
fn finish(o: u32, x: Best) -> vec2<u32> {{ return vec2<u32>(x.at - 1u, 0u); }}
",
                    split.code("a", firsts)
                )
            },
        })
    }
}
