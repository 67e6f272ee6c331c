use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Result};

use crate::elem::Elem;
use crate::gpu::{Gpu, Launch, word};
use crate::map::declarations;
use crate::spread::Spread;

/// The kernel compares every two elements of a line, so the CPU sorts longer lines.
const LONGEST: usize = 16384;

impl Gpu {
    /// The indices of the first `count` elements along the last dimension in stable order; NaN is the greatest.
    pub(crate) fn sort_indices(
        &self,
        x: Operand,
        count: usize,
        descending: bool,
    ) -> Result<Storage> {
        let op = "argsort";
        let shape = x.layout.shape();
        let size = shape.last().copied().unwrap_or(1);
        let lines = shape.numel() / size.max(1);
        let elem = self
            .computes(&x)
            .filter(|&elem| elem != Elem::F64 && elem != Elem::Bool);
        let Some(elem) = elem.filter(|_| size <= LONGEST) else {
            return self.through_host(op, [x], lines * count, |cpu, [x]| {
                cpu.argsort(x, count, descending)
            });
        };
        let to = self.allocate(lines * count, DType::I64)?;
        if lines * count == 0 {
            return Ok(Storage::new(to));
        }
        let x = self.in_order(op, x)?;
        let less = match elem.computed() {
            "f32" => "!is_nan(x) && (is_nan(y) || x < y)",
            _ => "x < y",
        };
        let of = elem.computed();
        let before = if descending {
            "less(own, y)"
        } else {
            "less(y, own)"
        };
        let after = if descending {
            "less(y, own)"
        } else {
            "less(own, y)"
        };
        let numel = x.layout.shape().numel();
        let spread = Spread::new(numel);
        let parameters = [word(op, numel)?, 0, word(op, size)?, word(op, count)?];
        let source = || {
            declarations(&[elem], Elem::Bits8, false, false)
                + &format!(
                    "
fn less(x: {of}, y: {of}) -> bool {{ return {less}; }}

fn visit(i: u32) {{
    if i >= $0 {{ return; }}
    let first = i / $2 * $2;
    let own = a(i);
    // The elements that come before this one.
    var rank = 0u;
    for (var j = first; j < first + $2; j++) {{
        let y = a(j);
        if {before} || (j < i && !({after})) {{ rank++; }}
    }}
    if rank < $3 {{ out_memory[i / $2 * $3 + rank] = vec2<u32>(i - first, 0u); }}
}}
"
                )
                + &spread.entry()
        };
        self.launch(Launch {
            op,
            key: format!("{op} {descending} {}{}", elem.name(), spread.key()),
            reads: &[&self.data(op, &x)?.memory],
            writes: &[&to.memory],
            parameters: &parameters,
            groups: spread.groups(numel),
            source: &source,
        })?;
        Ok(Storage::new(to))
    }
}
