use module_tensor::backend::{Operand, Storage};
use module_tensor::{Layout, Result, Scalar};

use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::host::words_of;
use crate::map::{FIRST, Map};

impl Gpu {
    /// `numel` elements `fill`, with those of `x` written at the positions of `layout`.
    pub(crate) fn write_through(
        &self,
        x: Operand,
        layout: &Layout,
        numel: usize,
        fill: Scalar,
    ) -> Result<Storage> {
        let (op, dtype) = ("as_strided_scatter", x.storage.dtype());
        let Some(dims) = nested(layout) else {
            return self.through_host(op, [x], numel, |cpu, [x]| {
                cpu.as_strided_scatter(x, layout, numel, fill)
            });
        };
        let bits = Elem::bits(dtype);
        let mut words = words_of(dtype, fill)?;
        words.resize(2, 0);
        let mut parameters = words;
        parameters.extend([word(op, layout.offset())?, word(op, x.layout.offset())?]);
        for &dim in &dims {
            for number in [
                layout.shape()[dim],
                layout.strides()[dim],
                x.layout.strides()[dim],
            ] {
                parameters.push(word(op, number)?);
            }
        }
        let (rank, of) = (dims.len(), bits.computed());
        let is_empty = layout.shape().numel() == 0;
        self.map(Map {
            op,
            key: format!("{op} {rank} {is_empty}"),
            reads: &[(self.data(op, &x)?, bits)],
            out: bits,
            dtype,
            numel,
            parameters,
            index_size: None,
            code: &|| {
                let fill = match bits {
                    Elem::Bits8 => "vec2<u32>($2, $3)",
                    _ => "$2",
                };
                let mut code = String::new();
                for i in 0..rank {
                    let [size, step, of_x] = [0, 1, 2].map(|part| FIRST + 4 + 3 * i + part);
                    code.push_str(&format!(
                        "    let at_{i} = rest / ${step};
    if at_{i} >= ${size} {{ return {fill}; }}
    rest = rest - at_{i} * ${step};
    from_place += at_{i} * ${of_x};\n"
                    ));
                }
                let inside = if is_empty { "false" } else { "rest == 0u" };
                format!(
                    "fn element(i: u32) -> {of} {{
    if i < $4 {{ return {fill}; }}
    var rest = i - $4;
    var from_place = $5;
{code}    if {inside} {{ return a(from_place); }}
    return {fill};
}}
"
                )
            },
        })
    }
}

/// The dimensions of a layout from the widest stride to the narrowest, if each stride exceeds all that the dimensions after it
/// reach: then a place belongs to one index, which division finds.
fn nested(layout: &Layout) -> Option<Vec<usize>> {
    let (shape, strides) = (layout.shape(), layout.strides());
    if shape.contains(&0) {
        return Some(Vec::new());
    }
    let mut dims: Vec<usize> = (0..layout.rank()).filter(|&dim| shape[dim] > 1).collect();
    dims.sort_by_key(|&dim| std::cmp::Reverse(strides[dim]));
    let mut reach = 0;
    for &dim in dims.iter().rev() {
        if strides[dim] <= reach {
            return None;
        }
        reach += strides[dim] * (shape[dim] - 1);
    }
    Some(dims)
}
