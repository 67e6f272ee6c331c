//! The template of kernels that compute an element from those at the same place of operands of the same shape.

use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Layout, Result};

use crate::dims::Dims;
use crate::elem::Elem;
use crate::gpu::Gpu;
use crate::map::{FIRST, Map, NAMES};
use crate::storage::GpuStorage;

/// A kernel that computes an element from those at the same place of operands of the same shape.
pub(crate) struct Elementwise<'a> {
    pub(crate) op: &'static str,
    /// Says all that the code depends on, apart from the types of the elements and the layouts.
    pub(crate) key: String,
    /// At most three operands, and what their elements are taken for; the statements call them `x`, `y` and `z`.
    pub(crate) operands: &'a [(&'a Operand, Elem)],
    /// Memory that the code reads by the functions that follow those of the operands, such as `b(i)` after one operand.
    pub(crate) others: &'a [(&'a GpuStorage, Elem)],
    pub(crate) out: Elem,
    pub(crate) dtype: DType,
    /// Parameters from number [`FIRST`] on.
    pub(crate) parameters: Vec<u32>,
    pub(crate) code: &'a dyn Fn() -> Code,
}

/// The part of the source that differs from kernel to kernel.
pub(crate) struct Code {
    /// Functions that the statements call.
    pub(crate) functions: String,
    /// Statements that return element `i` of the result.
    pub(crate) statements: String,
}

impl Code {
    /// One expression.
    pub(crate) fn value(value: &str) -> Self {
        Self {
            functions: String::new(),
            statements: format!("    return {value};\n"),
        }
    }
}

/// The names of the elements, and the functions that give their places.
const ELEMENTS: [(&str, &str); 3] = [("x", "at_a"), ("y", "at_b"), ("z", "at_c")];

impl Gpu {
    /// The result of a kernel, in row-major order.
    pub(crate) fn elementwise(&self, kernel: Elementwise<'_>) -> Result<Storage> {
        let Elementwise { op, operands, .. } = kernel;
        let layouts: Vec<&Layout> = operands.iter().map(|(x, _)| &x.layout).collect();
        let dims = Dims::new(op, &layouts)?;
        let own = operands
            .iter()
            .map(|&(x, elem)| Ok((self.data(op, x)?, elem)));
        let mut reads = own.collect::<Result<Vec<_>>>()?;
        reads.extend(kernel.others);
        let mut parameters = kernel.parameters;
        let first = FIRST + parameters.len();
        dims.push(&mut parameters);
        let code = || {
            let Code {
                functions,
                statements,
            } = (kernel.code)();
            let names = &ELEMENTS[..operands.len()];
            let places: Vec<&str> = names.iter().map(|(_, place)| *place).collect();
            let loads: String = names
                .iter()
                .zip(NAMES)
                .map(|((element, place), read)| {
                    format!("    let {element} = {read}({place}(i));\n")
                })
                .collect();
            let (places, of) = (dims.code(first, &places), kernel.out.computed());
            format!("{functions}{places}fn element(i: u32) -> {of} {{\n{loads}{statements}}}\n")
        };
        self.map(Map {
            op,
            key: format!("{} {}", kernel.key, dims.key()),
            reads: &reads,
            out: kernel.out,
            dtype: kernel.dtype,
            numel: layouts.first().map_or(0, |layout| layout.shape().numel()),
            parameters,
            index_size: None,
            code: &code,
        })
    }
}
