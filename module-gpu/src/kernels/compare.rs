use module_tensor::backend::{CompareOp, Operand, Storage};
use module_tensor::{DType, Result, Scalar};

use super::number;
use crate::elem::Elem;
use crate::elementwise::{Code, Elementwise};
use crate::gpu::Gpu;
use crate::map::FIRST;

/// The expression for a comparison of `x` and `y`. A comparison with NaN is false, except for `≠`.
fn code(op: CompareOp, of: &str) -> Option<String> {
    let sign = match op {
        CompareOp::Eq => "==",
        CompareOp::Ne => "!=",
        CompareOp::Lt => "<",
        CompareOp::Le => "<=",
        CompareOp::Gt => ">",
        CompareOp::Ge => ">=",
        _ => return None,
    };
    let (x, y) = match of {
        "bool" => ("select(0u, 1u, x)", "select(0u, 1u, y)"),
        "f32" => ("in_order(x)", "in_order(y)"),
        _ => ("x", "y"),
    };
    let compared = format!("({x} {sign} {y})");
    let either = match of {
        "f32" => "is_nan(x) || is_nan(y)",
        "f64" => "is_nan64(x) || is_nan64(y)",
        _ => return Some(compared),
    };
    Some(match op {
        CompareOp::Ne => format!("({either}) || {compared}"),
        _ => format!("!({either}) && {compared}"),
    })
}

/// Functions that the comparisons call.
fn functions(of: &str) -> &'static str {
    match of {
        // Drivers may take subnormal numbers for 0.
        "f32" => {
            "
fn in_order(x: f32) -> i32 {
    let bits = bitcast<i32>(x);
    return select(bits, -(bits & 0x7fffffff), bits < 0);
}
"
        }
        "f64" => {
            "
fn is_nan64(x: f64) -> bool {
    return (bitcast<u64>(x) & 0x7fffffffffffffffu64) > 0x7ff0000000000000u64;
}
"
        }
        _ => "",
    }
    .trim_start()
}

impl Gpu {
    pub(crate) fn apply_compare(&self, op: CompareOp, a: Operand, b: Operand) -> Result<Storage> {
        let (name, numel) = ("comparison", a.layout.shape().numel());
        let elem = self.computes(&a).filter(|&elem| elem != Elem::F64);
        let native = elem.and_then(|elem| Some((elem, code(op, elem.computed())?)));
        let Some((elem, value)) = native else {
            return self.through_host("compare", [a, b], numel, |cpu, [a, b]| {
                cpu.compare(op, a, b)
            });
        };
        self.elementwise(Elementwise {
            op: name,
            key: format!("compare {op:?}"),
            operands: &[(&a, elem), (&b, elem)],
            others: &[],
            out: Elem::Bool,
            dtype: DType::Bool,
            parameters: Vec::new(),
            code: &|| Code {
                functions: functions(elem.computed()).to_owned(),
                ..Code::value(&value)
            },
        })
    }

    pub(crate) fn apply_compare_scalar(
        &self,
        op: CompareOp,
        x: Operand,
        number: Scalar,
    ) -> Result<Storage> {
        let (name, numel) = ("comparison", x.layout.shape().numel());
        let elem = self.computes(&x).filter(|&elem| elem != Elem::F64);
        let elem = elem.filter(|&elem| number::is_exact(elem, number));
        let native = elem.and_then(|elem| Some((elem, code(op, elem.computed())?)));
        let Some((elem, value)) = native else {
            return self.through_host("compare_scalar", [x], numel, |cpu, [x]| {
                cpu.compare_scalar(op, x, number)
            });
        };
        let mut parameters = Vec::new();
        number::push(&mut parameters, elem, number)?;
        self.elementwise(Elementwise {
            op: name,
            key: format!("compare_scalar {op:?}"),
            operands: &[(&x, elem)],
            others: &[],
            out: Elem::Bool,
            dtype: DType::Bool,
            parameters,
            code: &|| Code {
                functions: functions(elem.computed()).to_owned(),
                statements: format!(
                    "    let y = {};\n    return {value};\n",
                    number::code(elem, FIRST)
                ),
            },
        })
    }
}
