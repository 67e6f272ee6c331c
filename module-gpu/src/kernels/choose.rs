//! Elements chosen by a condition.

use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Result, Scalar};

use crate::dims::Dims;
use crate::elem::Elem;
use crate::gpu::Gpu;
use crate::host::words_of;
use crate::map::{FIRST, Map};

impl Gpu {
    /// The element of `a` where `condition` is true, otherwise that of `b`.
    pub(crate) fn selected(&self, condition: Operand, a: Operand, b: Operand) -> Result<Storage> {
        let op = "where";
        if condition.storage.dtype() != DType::Bool {
            return Err(condition.storage.dtype().error(op, "a bool condition"));
        }
        let bits = Elem::bits(a.storage.dtype());
        let dims = Dims::new(op, &[&condition.layout, &a.layout, &b.layout])?;
        let mut parameters = Vec::new();
        dims.push(&mut parameters);
        let of = bits.computed();
        self.map(Map {
            op,
            key: format!("select {}", dims.key()),
            reads: &[
                (self.data(op, &condition)?, Elem::Bool),
                (self.data(op, &a)?, bits),
                (self.data(op, &b)?, bits),
            ],
            out: bits,
            dtype: a.storage.dtype(),
            numel: a.layout.shape().numel(),
            parameters,
            index_size: None,
            code: &|| {
                format!(
                    "{}fn element(i: u32) -> {of} {{
    if a(at_a(i)) {{ return b(at_b(i)); }}
    return c(at_c(i));
}}
",
                    dims.code(FIRST, &["at_a", "at_b", "at_c"])
                )
            },
        })
    }

    /// The number where `mask` is `on`, otherwise the element of `x`.
    pub(crate) fn masked(
        &self,
        x: Operand,
        mask: Operand,
        on: bool,
        number: Scalar,
    ) -> Result<Storage> {
        let (op, dtype) = ("masked_fill", x.storage.dtype());
        let bits = Elem::bits(dtype);
        let dims = Dims::new(op, &[&x.layout, &mask.layout])?;
        let mut parameters = words_of(dtype, number)?;
        parameters.resize(2, 0);
        dims.push(&mut parameters);
        let of = bits.computed();
        let (second, value) = match bits {
            Elem::Bits8 => (FIRST + 1, "vec2<u32>"),
            _ => (FIRST, "u32"),
        };
        self.map(Map {
            op,
            key: format!("{op} {on} {}", dims.key()),
            reads: &[
                (self.data(op, &x)?, bits),
                (self.data(op, &mask)?, Elem::Bool),
            ],
            out: bits,
            dtype,
            numel: x.layout.shape().numel(),
            parameters,
            index_size: None,
            code: &|| {
                let number = match second {
                    FIRST => format!("${FIRST}"),
                    _ => format!("{value}(${FIRST}, ${second})"),
                };
                format!(
                    "{}fn element(i: u32) -> {of} {{
    if b(at_b(i)) == {on} {{ return {number}; }}
    return a(at_a(i));
}}
",
                    dims.code(FIRST + 2, &["at_a", "at_b"])
                )
            },
        })
    }
}
