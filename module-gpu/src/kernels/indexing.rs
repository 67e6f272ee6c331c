//! Reading and writing by index.

use module_tensor::backend::{Operand, ReduceOp, Storage};
use module_tensor::{Layout, Result};

use crate::dims::Dims;
use crate::elem::Elem;
use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};

/// How a scattered element is combined with what is there.
#[derive(Clone, Copy)]
pub(crate) enum Scatter {
    Replace,
    Combine(ReduceOp),
}

impl Gpu {
    /// `out[.., i, ..] = x[.., index[.., i, ..], ..]` along `dim`.
    pub(crate) fn gather_elements(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
    ) -> Result<Storage> {
        let (shape, strides) = (index.layout.shape(), index.layout.strides());
        self.read_by_index("gather", &x, dim, &index, shape, strides)
    }

    /// The slices of dimension `dim` that a one-dimensional index selects.
    pub(crate) fn select_slices(&self, x: Operand, dim: usize, index: Operand) -> Result<Storage> {
        let mut shape = x.layout.shape().to_vec();
        shape[dim] = index.layout.shape().numel();
        let mut strides = vec![0; shape.len()];
        strides[dim] = index.layout.strides().first().copied().unwrap_or(0);
        self.read_by_index("index_select", &x, dim, &index, &shape, &strides)
    }

    /// Elements of `x` of a shape, along `dim` those that the index names, which is visited with these strides.
    fn read_by_index(
        &self,
        op: &'static str,
        x: &Operand,
        dim: usize,
        index: &Operand,
        shape: &[usize],
        of_index: &[usize],
    ) -> Result<Storage> {
        let dtype = x.storage.dtype();
        let (bits, size) = (Elem::bits(dtype), x.layout.shape()[dim]);
        let mut strides = x.layout.strides().to_vec();
        let step = std::mem::take(&mut strides[dim]);
        let offsets = [x.layout.offset(), index.layout.offset()];
        let dims = Dims::of(op, shape, &[&strides, of_index], &offsets)?;
        let mut parameters = vec![word(op, size)?, word(op, step)?];
        dims.push(&mut parameters);
        let of = bits.computed();
        self.map(Map {
            op,
            key: format!("{op} {}", dims.key()),
            reads: &[
                (self.data(op, x)?, bits),
                (self.data(op, index)?, Elem::Bits8),
            ],
            out: bits,
            dtype,
            numel: shape.iter().product(),
            parameters,
            index_size: Some(size),
            code: &|| {
                format!(
                    "{}fn element(i: u32) -> {of} {{
    return a(at_a(i) + checked(b(at_b(i)), $2) * $3);
}}
",
                    dims.code(FIRST + 2, &["at_a", "at_b"])
                )
            },
        })
    }

    /// A copy of `x` in which the elements that an index names are combined with those of a source, in the order of the
    /// source. Each element of the result looks for its sources, so that no two invocations write to one place.
    pub(crate) fn scatter_elements(
        &self,
        op: &'static str,
        how: Scatter,
        x: Operand,
        dim: usize,
        [index, source]: [Operand; 2],
    ) -> Result<Storage> {
        let numel = x.layout.shape().numel();
        let elem = match how {
            Scatter::Replace => Some(Elem::bits(x.storage.dtype())),
            Scatter::Combine(_) => self.computes_numbers(&x).filter(|&elem| elem != Elem::F64),
        };
        let Some(elem) = elem else {
            return self.through_host(op, [x, index, source], numel, |cpu, [x, index, source]| {
                match how {
                    Scatter::Replace => cpu.scatter(x, dim, index, source),
                    Scatter::Combine(ReduceOp::Sum) => cpu.scatter_add(x, dim, index, source),
                    Scatter::Combine(op) => cpu.scatter_reduce(op, x, dim, index, source),
                }
            });
        };
        let joined = match (how, elem.is_float()) {
            (Scatter::Replace, _) => "y",
            (Scatter::Combine(ReduceOp::Sum), _) => "x + y",
            (Scatter::Combine(ReduceOp::Prod), _) => "x * y",
            (Scatter::Combine(ReduceOp::Max), true) => "greater(x, y)",
            (Scatter::Combine(ReduceOp::Min), true) => "smaller(x, y)",
            (Scatter::Combine(ReduceOp::Max), false) => "max(x, y)",
            (Scatter::Combine(_), _) => "min(x, y)",
        };
        let (size, dtype) = (x.layout.shape()[dim], x.storage.dtype());
        let index = self.in_order(op, index)?;
        let source = self.in_order(op, source)?;
        let (shape, rank) = (x.layout.shape().clone(), x.layout.rank());
        let sizes = index.layout.shape().clone();
        let own = Dims::new(op, &[&x.layout])?;
        // The size of the dimension, and that of the index; then of each dimension the size in the result and in the index.
        let mut parameters = vec![word(op, size)?, word(op, sizes[dim])?];
        for sizes in [&shape, &sizes] {
            for size in sizes.iter() {
                parameters.push(word(op, *size)?);
            }
        }
        let first = FIRST + parameters.len();
        own.push(&mut parameters);
        let of = elem.computed();
        let code = || {
            let mut places = "    var rest = i;\n    var is_inside = true;\n".to_owned();
            let mut step = "1u".to_owned();
            for d in (0..rank).rev() {
                let (all, inside) = (FIRST + 2 + d, FIRST + 2 + rank + d);
                places.push_str(&format!(
                    "    let at_{d} = rest % ${all};\n    rest = rest / ${all};\n"
                ));
                places.push_str(&format!("    let step_{d} = {step};\n"));
                if d != dim {
                    places.push_str(&format!(
                        "    if at_{d} >= ${inside} {{ is_inside = false; }}\n"
                    ));
                }
                step = format!("step_{d} * ${inside}");
            }
            let others = (0..rank).filter(|&d| d != dim);
            let start = others.fold("0u".to_owned(), |sum, d| {
                format!("{sum} + at_{d} * step_{d}")
            });
            format!(
                "{}fn element(i: u32) -> {of} {{
{places}    var x = a(at_x(i));
    if is_inside {{
        let start = {start};
        for (var j = 0u; j < $3; j++) {{
            let from_place = start + j * step_{dim};
            if checked(b(from_place), $2) == at_{dim} && is_valid(b(from_place)) {{
                let y = c(from_place);
                x = {joined};
            }}
        }}
    }}
    return x;
}}
fn is_valid(index: vec2<u32>) -> bool {{ return index.y == 0u && index.x < $2; }}
",
                own.code(first, &["at_x"])
            )
        };
        let name = match how {
            Scatter::Replace => "replace".to_owned(),
            Scatter::Combine(op) => format!("{op:?}"),
        };
        self.map(Map {
            op,
            key: format!("scatter {name} {rank} {dim} {}", own.key()),
            reads: &[
                (self.data(op, &x)?, elem),
                (self.data(op, &index)?, Elem::Bits8),
                (self.data(op, &source)?, elem),
            ],
            out: elem,
            dtype,
            numel,
            parameters,
            index_size: Some(size),
            code: &code,
        })
    }

    /// A copy of `x` with the slices of `source` added to those of dimension `dim` that a one-dimensional index selects.
    pub(crate) fn add_slices(
        &self,
        x: Operand,
        dim: usize,
        index: Operand,
        source: Operand,
    ) -> Result<Storage> {
        let (op, numel) = ("index_add", x.layout.shape().numel());
        let elem = self.computes_numbers(&x).filter(|&elem| elem != Elem::F64);
        let Some(elem) = elem else {
            return self.through_host(op, [x, index, source], numel, |cpu, [x, index, source]| {
                cpu.index_add(x, dim, index, source)
            });
        };
        let (dtype, size) = (x.storage.dtype(), x.layout.shape()[dim]);
        let index = self.in_order(op, index)?;
        let source = self.in_order(op, source)?;
        let count = index.layout.shape().numel();
        let links = self.links(op, &index, size)?;
        let links = links.map(|(storage, numel)| Operand {
            storage,
            layout: Layout::contiguous(numel.into()),
        });
        let own = Dims::new(op, &[&x.layout])?;
        let inner: usize = x.layout.shape()[dim + 1..].iter().product();
        let mut parameters = vec![word(op, size)?, word(op, inner)?, word(op, count)?];
        let first = FIRST + parameters.len();
        own.push(&mut parameters);
        let of = elem.computed();
        self.map(Map {
            op,
            key: format!("{op} {}", own.key()),
            reads: &[
                (self.data(op, &x)?, elem),
                (self.data(op, &source)?, elem),
                (self.data(op, &links[0])?, Elem::Bits4),
                (self.data(op, &links[1])?, Elem::Bits4),
            ],
            out: elem,
            dtype,
            numel,
            parameters,
            index_size: None,
            code: &|| {
                format!(
                    "{}fn element(i: u32) -> {of} {{
    let outer = i / ($2 * $3);
    let row = i / $3 % $2;
    var x = a(at_x(i));
    for (var j = c(row); j < $4; j = d(j)) {{ x = x + b((outer * $4 + j) * $3 + i % $3); }}
    return x;
}}
",
                    own.code(first, &["at_x"])
                )
            },
        })
    }
}
