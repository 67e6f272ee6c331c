//! Copies in row-major order.

use module_tensor::backend::{Operand, Storage};
use module_tensor::{Layout, Result};

use crate::elem::Elem;
use crate::elementwise::{Code, Elementwise};
use crate::gpu::Gpu;

impl Gpu {
    /// The same elements in row-major order.
    pub(crate) fn copy_elements(&self, op: &'static str, x: &Operand) -> Result<Storage> {
        let dtype = x.storage.dtype();
        let bits = Elem::bits(dtype);
        self.elementwise(Elementwise {
            op,
            key: "copy".to_owned(),
            operands: &[(x, bits)],
            others: &[],
            out: bits,
            dtype,
            parameters: Vec::new(),
            code: &|| Code::value("x"),
        })
    }

    /// The operand with its elements in row-major order from the start of its memory.
    pub(crate) fn in_order(&self, op: &'static str, x: Operand) -> Result<Operand> {
        if x.layout.is_contiguous() && x.layout.offset() == 0 {
            return Ok(x);
        }
        let storage = self.copy_elements(op, &x)?;
        let layout = Layout::contiguous(x.layout.shape().clone());
        Ok(Operand { storage, layout })
    }
}
