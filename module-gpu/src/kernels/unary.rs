use module_tensor::backend::{Operand, Storage, UnaryOp};
use module_tensor::{DType, Result};

use super::number;
use super::unary_code::{UnaryCode, unary_code};
use crate::dims::Dims;
use crate::elem::Elem;
use crate::gpu::Gpu;
use crate::map::{FIRST, Map};

/// The part of a pipeline's key for an operation, whose numbers are parameters.
pub(crate) fn name(op: UnaryOp) -> String {
    let text = format!("{op:?}");
    match text.split_once(' ') {
        Some((name, _)) => name.to_owned(),
        None => text,
    }
}

/// Statements that give the numbers of an expression their names.
pub(crate) fn names(code: &UnaryCode, elem: Elem, first: usize) -> String {
    let of = elem.computed();
    let mut text = match of {
        "f32" => String::new(),
        _ => format!("    let ZERO = {of}(0);\n    let ONE = {of}(1);\n"),
    };
    for (i, name) in (0..code.numbers.len()).zip(["p", "q", "r"]) {
        let number = number::code(elem, first + 2 * i);
        text.push_str(&format!("    let {name} = {number};\n"));
    }
    text
}

impl Gpu {
    fn native_unary(&self, op: UnaryOp, x: &Operand) -> Option<(Elem, UnaryCode)> {
        let elem = self.computes_numbers(x)?;
        Some((elem, unary_code(op, elem.computed())?))
    }

    pub(crate) fn of_one(&self, op: UnaryOp, x: Operand) -> Result<Storage> {
        let numel = x.layout.shape().numel();
        let Some((elem, code)) = self.native_unary(op, &x) else {
            let family = match x.storage.dtype() {
                DType::F64 => "unary of float64",
                _ => "unary",
            };
            return self.through_host(family, [x], numel, |cpu, [x]| cpu.unary(op, x));
        };
        let (of, dims) = (elem.computed(), Dims::new(op.name(), &[&x.layout])?);
        let mut parameters = Vec::new();
        for &number in &code.numbers {
            number::push(&mut parameters, elem, number)?;
        }
        let first = FIRST + parameters.len();
        dims.push(&mut parameters);
        self.map(Map {
            op: op.name(),
            key: format!("unary {} {}", name(op), dims.key()),
            reads: &[(self.data(op.name(), &x)?, elem)],
            out: elem,
            dtype: x.storage.dtype(),
            numel,
            parameters,
            index_size: None,
            code: &|| {
                format!(
                    "{ACTIVATIONS}{}fn element(i: u32) -> {of} {{
    let x = a(at_a(i));
{}    return {};
}}
",
                    dims.code(first, &["at_a"]),
                    names(&code, elem, FIRST),
                    code.value
                )
            },
        })
    }

    pub(crate) fn of_one_times(&self, op: UnaryOp, x: Operand, factor: Operand) -> Result<Storage> {
        let Some((elem, code)) = self.native_unary(op, &x) else {
            let layout = x.layout.clone();
            let value = super::binary::whole(self.of_one(op, x)?, &layout);
            return self.of_two(module_tensor::backend::BinaryOp::Mul, value, factor);
        };
        let name_of = op.name();
        let (of, dims) = (
            elem.computed(),
            Dims::new(name_of, &[&x.layout, &factor.layout])?,
        );
        let mut parameters = Vec::new();
        for &number in &code.numbers {
            number::push(&mut parameters, elem, number)?;
        }
        let first = FIRST + parameters.len();
        dims.push(&mut parameters);
        self.map(Map {
            op: name_of,
            key: format!("unary_times {} {}", name(op), dims.key()),
            reads: &[
                (self.data(name_of, &x)?, elem),
                (self.data(name_of, &factor)?, elem),
            ],
            out: elem,
            dtype: x.storage.dtype(),
            numel: x.layout.shape().numel(),
            parameters,
            index_size: None,
            code: &|| {
                format!(
                    "{ACTIVATIONS}{}fn element(i: u32) -> {of} {{
    let x = a(at_a(i));
{}    return b(at_b(i)) * ({});
}}
",
                    dims.code(first, &["at_a", "at_b"]),
                    names(&code, elem, FIRST),
                    code.value
                )
            },
        })
    }
}

/// Activation functions and their derivatives.
const ACTIVATIONS: &str = include_str!("../wgsl/activations.wgsl");
