//! Elements chosen by a condition.

use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Result, Scalar};

use crate::elem::Elem;
use crate::elementwise::{Code, Elementwise};
use crate::gpu::Gpu;
use crate::host::words_of;
use crate::map::FIRST;

impl Gpu {
    /// The element of `a` where `condition` is true, otherwise that of `b`.
    pub(crate) fn choose(&self, condition: Operand, a: Operand, b: Operand) -> Result<Storage> {
        let op = "where";
        if condition.storage.dtype() != DType::Bool {
            return Err(condition.storage.dtype().error(op, "a bool condition"));
        }
        let bits = Elem::bits(a.storage.dtype());
        self.elementwise(Elementwise {
            op,
            key: "select".to_owned(),
            operands: &[(&condition, Elem::Bool), (&a, bits), (&b, bits)],
            others: &[],
            out: bits,
            dtype: a.storage.dtype(),
            parameters: Vec::new(),
            code: &|| Code {
                functions: String::new(),
                statements: "    if x { return y; }\n    return z;\n".to_owned(),
            },
        })
    }

    /// The number where `mask` is `on`, otherwise the element of `x`.
    pub(crate) fn fill_masked(
        &self,
        x: Operand,
        mask: Operand,
        on: bool,
        number: Scalar,
    ) -> Result<Storage> {
        let (op, dtype) = ("masked_fill", x.storage.dtype());
        let bits = Elem::bits(dtype);
        let mut parameters = words_of(dtype, number)?;
        parameters.resize(2, 0);
        let second = FIRST + 1;
        let value = match bits {
            Elem::Bits8 => format!("vec2<u32>(${FIRST}, ${second})"),
            _ => format!("${FIRST}"),
        };
        self.elementwise(Elementwise {
            op,
            key: format!("{op} {on}"),
            operands: &[(&x, bits), (&mask, Elem::Bool)],
            others: &[],
            out: bits,
            dtype,
            parameters,
            code: &|| Code {
                functions: String::new(),
                statements: format!("    if y == {on} {{ return {value}; }}\n    return x;\n"),
            },
        })
    }
}
