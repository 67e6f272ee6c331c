use module_tensor::backend::{Operand, Storage, UnaryOp};
use module_tensor::{DType, Result};

use super::number;
use super::unary_code::{UnaryCode, unary_code};
use crate::elem::Elem;
use crate::elementwise::{Code, Elementwise};
use crate::gpu::Gpu;
use crate::map::FIRST;

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

    pub(crate) fn apply_unary(&self, op: UnaryOp, x: Operand) -> Result<Storage> {
        let numel = x.layout.shape().numel();
        let Some((elem, code)) = self.native_unary(op, &x) else {
            let family = match x.storage.dtype() {
                DType::F64 => "unary of float64",
                _ => "unary",
            };
            return self.through_host(family, [x], numel, |cpu, [x]| cpu.unary(op, x));
        };
        self.compute_unary("unary", op, (elem, &code), &[(&x, elem)], code.value)
    }

    pub(crate) fn apply_unary_times(
        &self,
        op: UnaryOp,
        x: Operand,
        factor: Operand,
    ) -> Result<Storage> {
        let Some((elem, code)) = self.native_unary(op, &x) else {
            let layout = x.layout.clone();
            let value = super::binary::whole(self.apply_unary(op, x)?, &layout);
            return self.apply_binary(module_tensor::backend::BinaryOp::Mul, value, factor);
        };
        let operands = [(&x, elem), (&factor, elem)];
        let value = format!("y * ({})", code.value);
        self.compute_unary("unary_times", op, (elem, &code), &operands, &value)
    }

    /// An expression that contains that of an operation on the first operand.
    fn compute_unary(
        &self,
        kind: &str,
        op: UnaryOp,
        (elem, code): (Elem, &UnaryCode),
        operands: &[(&Operand, Elem)],
        value: &str,
    ) -> Result<Storage> {
        let mut parameters = Vec::new();
        for &number in &code.numbers {
            number::push(&mut parameters, elem, number)?;
        }
        self.elementwise(Elementwise {
            op: op.name(),
            key: format!("{kind} {}", name(op)),
            operands,
            others: &[],
            out: elem,
            dtype: operands[0].0.storage.dtype(),
            parameters,
            code: &|| Code {
                functions: ACTIVATIONS.to_owned(),
                statements: format!("{}    return {value};\n", names(code, elem, FIRST)),
            },
        })
    }
}

/// Activation functions and their derivatives.
const ACTIVATIONS: &str = include_str!("../wgsl/activations.wgsl");
