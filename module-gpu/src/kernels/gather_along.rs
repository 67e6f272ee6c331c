//! Elements in another order along each dimension.

use module_tensor::Result;
use module_tensor::backend::{GatherAlongGeometry, GatherDim, LinearOp, Operand, Storage};

use super::table::lists;
use crate::dims::Dims;
use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};

const NAME: &str = "gather_along";

impl Gpu {
    /// Elements in another order along each dimension, or their sums at the indices that they came from.
    pub(crate) fn take_along(
        &self,
        op: LinearOp,
        x: Operand,
        geometry: &GatherAlongGeometry,
    ) -> Result<Storage> {
        let dtype = x.storage.dtype();
        let (from, to, elem) = match op {
            LinearOp::Forward => (&geometry.input, &geometry.output, Some(Elem::bits(dtype))),
            LinearOp::Backward => {
                let elem = self.computes_numbers(&x);
                (&geometry.output, &geometry.input, elem)
            }
        };
        let Some(elem) = elem else {
            return self.through_host(NAME, [x], to.numel(), |cpu, [x]| {
                cpu.gather_along(op, x, geometry)
            });
        };
        let x = self.in_order(NAME, x)?;
        // For each dimension: the sizes of the result and of `x`, and where its part of the table starts.
        let (mut table, mut parameters) = (Vec::new(), Vec::new());
        let mut moves = Vec::new();
        for (d, dim) in geometry.dims.iter().enumerate() {
            parameters.extend([
                word(NAME, to[d])?,
                word(NAME, from[d])?,
                word(NAME, table.len())?,
            ]);
            let is_moved = *dim != GatherDim::Same;
            moves.push(is_moved);
            if !is_moved {
                continue;
            }
            let indices: Vec<usize> = dim.source_indices(geometry.input[d]).collect();
            match op {
                LinearOp::Forward => {
                    for &index in &indices {
                        table.push(word(NAME, index)?);
                    }
                }
                LinearOp::Backward => {
                    let mut sources = vec![Vec::new(); geometry.input[d]];
                    for (i, &index) in indices.iter().enumerate() {
                        if let Some(list) = sources.get_mut(index) {
                            list.push(word(NAME, i)?);
                        }
                    }
                    table.extend(lists(&sources));
                }
            }
        }
        if table.is_empty() {
            table.push(0);
        }
        let table = self.table(&table)?;
        let of = elem.computed();
        let key: String = moves
            .iter()
            .map(|&moved| if moved { 'm' } else { 's' })
            .collect();
        // Only to refuse what kernels cannot count.
        Dims::new(NAME, &[&x.layout])?;
        self.map(Map {
            op: NAME,
            key: format!("{NAME} {op:?} {key}"),
            reads: &[
                (self.data(NAME, &x)?, elem),
                (self.data(NAME, &table)?, Elem::Bits4),
            ],
            out: elem,
            dtype,
            numel: to.numel(),
            parameters,
            index_size: None,
            code: &|| code(op, of, &moves),
        })
    }
}

fn code(op: LinearOp, of: &str, moves: &[bool]) -> String {
    let part = |dim: usize, part: usize| format!("${}", FIRST + 3 * dim + part);
    let mut indices = "    var rest = i;\n".to_owned();
    for dim in (0..moves.len()).rev() {
        let size = part(dim, 0);
        indices.push_str(&format!(
            "    let i{dim} = rest % {size};\n    rest = rest / {size};\n"
        ));
    }
    let (mut open, mut close) = (String::new(), String::new());
    let mut place = "0u".to_owned();
    for (dim, &is_moved) in moves.iter().enumerate() {
        let (size, start) = (part(dim, 1), part(dim, 2));
        let index = match (is_moved, op) {
            (false, _) => format!("i{dim}"),
            (true, LinearOp::Forward) => format!("b({start} + i{dim})"),
            (true, LinearOp::Backward) => {
                open.push_str(&format!(
                    "    for (var s{dim} = b({start} + i{dim}); s{dim} < b({start} + i{dim} + 1u); s{dim}++) {{\n"
                ));
                close.push_str("    }\n");
                format!("b({start} + s{dim})")
            }
        };
        place = format!("({place}) * {size} + {index}");
    }
    match op {
        LinearOp::Forward => {
            format!("fn element(i: u32) -> {of} {{\n{indices}    return a({place});\n}}\n")
        }
        LinearOp::Backward => format!(
            "fn element(i: u32) -> {of} {{
{indices}    var sum = {of}(0);
{open}    sum = sum + a({place});
{close}    return sum;
}}
"
        ),
    }
}
