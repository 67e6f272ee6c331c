use module_tensor::backend::{CompareOp, Operand, Storage};
use module_tensor::{DType, Result, Scalar};

use super::number;
use crate::dims::Dims;
use crate::elem::Elem;
use crate::gpu::Gpu;
use crate::map::{FIRST, Map};

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

/// Functions of numbers of 64 bits.
fn functions(of: &str) -> &'static str {
    match of {
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
    pub(crate) fn comparison(&self, op: CompareOp, a: Operand, b: Operand) -> Result<Storage> {
        let (name, numel) = ("comparison", a.layout.shape().numel());
        let elem = self.computes(&a).filter(|&elem| elem != Elem::F64);
        let native = elem.and_then(|elem| Some((elem, code(op, elem.computed())?)));
        let Some((elem, value)) = native else {
            return self.through_host("compare", [a, b], numel, |cpu, [a, b]| {
                cpu.compare(op, a, b)
            });
        };
        let (of, dims) = (elem.computed(), Dims::new(name, &[&a.layout, &b.layout])?);
        let mut parameters = Vec::new();
        dims.push(&mut parameters);
        self.map(Map {
            op: name,
            key: format!("compare {op:?} {}", dims.key()),
            reads: &[(self.data(name, &a)?, elem), (self.data(name, &b)?, elem)],
            out: Elem::Bool,
            dtype: DType::Bool,
            numel,
            parameters,
            index_size: None,
            code: &|| {
                format!(
                    "{}{}fn element(i: u32) -> bool {{
    let x = a(at_a(i));
    let y = b(at_b(i));
    return {value};
}}
",
                    functions(of),
                    dims.code(FIRST, &["at_a", "at_b"]),
                )
            },
        })
    }

    pub(crate) fn comparison_with(
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
        let (of, dims) = (elem.computed(), Dims::new(name, &[&x.layout])?);
        let mut parameters = Vec::new();
        number::push(&mut parameters, elem, number)?;
        dims.push(&mut parameters);
        self.map(Map {
            op: name,
            key: format!("compare_scalar {op:?} {}", dims.key()),
            reads: &[(self.data(name, &x)?, elem)],
            out: Elem::Bool,
            dtype: DType::Bool,
            numel,
            parameters,
            index_size: None,
            code: &|| {
                format!(
                    "{}{}fn element(i: u32) -> bool {{
    let x = a(at_a(i));
    let y = {};
    return {value};
}}
",
                    functions(of),
                    dims.code(FIRST + 2, &["at_a"]),
                    number::code(elem, FIRST)
                )
            },
        })
    }
}
