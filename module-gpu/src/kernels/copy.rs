//! Copies in row-major order.

use module_tensor::Result;
use module_tensor::backend::{Operand, Storage};

use crate::dims::Dims;
use crate::elem::Elem;
use crate::gpu::Gpu;
use crate::map::{FIRST, Map};

impl Gpu {
    /// The same elements in row-major order.
    pub(crate) fn copy_elements(&self, op: &'static str, x: &Operand) -> Result<Storage> {
        let data = self.data(op, x)?;
        let bits = Elem::bits(data.dtype);
        let dims = Dims::new(op, &[&x.layout])?;
        let mut parameters = Vec::new();
        dims.push(&mut parameters);
        let of = bits.computed();
        self.map(Map {
            op,
            key: format!("copy {}", dims.key()),
            reads: &[(data, bits)],
            out: bits,
            dtype: data.dtype,
            numel: x.layout.shape().numel(),
            parameters,
            index_size: None,
            code: &|| {
                let at = dims.code(FIRST, &["at_a"]);
                format!("{at}fn element(i: u32) -> {of} {{ return a(at_a(i)); }}\n")
            },
        })
    }

    /// The operand with its elements in row-major order from the start of its memory.
    pub(crate) fn in_order(&self, op: &'static str, x: Operand) -> Result<Operand> {
        if x.layout.is_contiguous() && x.layout.offset() == 0 {
            return Ok(x);
        }
        let storage = self.copy_elements(op, &x)?;
        let layout = module_tensor::Layout::contiguous(x.layout.shape().clone());
        Ok(Operand { storage, layout })
    }
}
