//! Functions of two elements, or of an element and a number.

use module_tensor::backend::{
    BinaryOp, FillRange, Formula, FormulaOp, FormulaStep, Operand, Storage,
};
use module_tensor::{Layout, Result, Scalar};

use super::number;
use crate::elem::Elem;
use crate::elementwise::{Code, Elementwise};
use crate::gpu::Gpu;
use crate::map::FIRST;

/// The expression for an operation on `x` and `y`; `None` where the CPU computes it.
fn code(op: BinaryOp, of: &str) -> Option<&'static str> {
    let is_float = of.starts_with('f');
    Some(match op {
        BinaryOp::Add => "x + y",
        BinaryOp::Sub => "x - y",
        BinaryOp::Mul => "x * y",
        BinaryOp::Div if of == "f32" => "divided(x, y)",
        BinaryOp::Div if of == "f64" => "x / y",
        BinaryOp::Maximum if of == "f32" => "greater(x, y)",
        BinaryOp::Minimum if of == "f32" => "smaller(x, y)",
        BinaryOp::Maximum if !is_float => "max(x, y)",
        BinaryOp::Minimum if !is_float => "min(x, y)",
        BinaryOp::Pow if of == "f32" => "pow_(x, y)",
        BinaryOp::FloorDivide if of == "f32" => "floor_divided(x, y)",
        BinaryOp::Remainder if of == "f32" => "remainder_(x, y)",
        BinaryOp::Fmod if of == "f32" => "fmod_(x, y)",
        BinaryOp::Pow if !is_float => "int_pow(x, y)",
        BinaryOp::FloorDivide if !is_float => "int_floor_divided(x, y)",
        BinaryOp::Remainder if !is_float => "int_remainder(x, y)",
        BinaryOp::Fmod if !is_float => "int_fmod(x, y)",
        BinaryOp::Atan2 if of == "f32" => "atan2_(x, y)",
        BinaryOp::Hypot if of == "f32" => "hypot_(x, y)",
        BinaryOp::Copysign if of == "f32" => "with_sign(x, y)",
        BinaryOp::Prelu if of == "f32" => "select(x * y, x, !is_nan(x) && x > 0.0)",
        _ => return None,
    })
}

/// Functions of integers, which wrap around.
fn of_integers(of: &str) -> String {
    format!(
        "
fn int_fmod(x: {of}, y: {of}) -> {of} {{
    if y == {of}(0) || y == {of}(-1) {{ return {of}(0); }}
    return x % y;
}}
fn int_remainder(x: {of}, y: {of}) -> {of} {{
    let rest = int_fmod(x, y);
    if rest != {of}(0) && (rest < {of}(0)) != (y < {of}(0)) {{ return rest + y; }}
    return rest;
}}
fn int_floor_divided(x: {of}, y: {of}) -> {of} {{
    if y == {of}(0) {{ return {of}(0); }}
    if y == {of}(-1) {{ return {of}(0) - x; }}
    let below = int_remainder(x, y) != int_fmod(x, y);
    return x / y - select({of}(0), {of}(1), below);
}}
fn int_pow(x: {of}, y: {of}) -> {of} {{
    if y < {of}(0) {{
        if x == {of}(1) {{ return x; }}
        if x == {of}(-1) {{ return select(x, {of}(1), y % {of}(2) == {of}(0)); }}
        return {of}(0);
    }}
    var value = {of}(1);
    var factor = x;
    var left = y;
    while left > {of}(0) {{
        if left % {of}(2) == {of}(1) {{ value = value * factor; }}
        factor = factor * factor;
        left = left / {of}(2);
    }}
    return value;
}}
"
    )
}

/// The functions that the expression for an operation calls.
fn functions(op: BinaryOp, of: &str) -> String {
    let is_whole = matches!(
        op,
        BinaryOp::Pow | BinaryOp::FloorDivide | BinaryOp::Remainder | BinaryOp::Fmod
    );
    if is_whole && !of.starts_with('f') {
        return of_integers(of);
    }
    String::new()
}

impl Gpu {
    /// The elements of a dtype, if the device computes with them.
    pub(crate) fn computes(&self, x: &Operand) -> Option<Elem> {
        let elem = Elem::of(x.storage.dtype())?;
        let about = self.adapter();
        let has = match elem {
            Elem::F64 => about.has_f64 && about.has_i64,
            Elem::I64 => about.has_i64,
            Elem::I8 | Elem::I16 | Elem::U16 | Elem::U32 => false,
            _ => true,
        };
        has.then_some(elem)
    }

    /// The same for numbers: booleans are not computed with.
    pub(crate) fn computes_numbers(&self, x: &Operand) -> Option<Elem> {
        self.computes(x).filter(|&elem| elem != Elem::Bool)
    }

    pub(crate) fn apply_binary(&self, op: BinaryOp, a: Operand, b: Operand) -> Result<Storage> {
        let numel = a.layout.shape().numel();
        let native = self
            .computes_numbers(&a)
            .and_then(|elem| Some((elem, code(op, elem.computed())?)));
        let Some((elem, value)) = native else {
            return self.through_host("binary", [a, b], numel, |cpu, [a, b]| cpu.binary(op, a, b));
        };
        self.elementwise(Elementwise {
            op: op.name(),
            key: format!("binary {op:?}"),
            operands: &[(&a, elem), (&b, elem)],
            others: &[],
            out: elem,
            dtype: a.storage.dtype(),
            parameters: Vec::new(),
            code: &|| Code {
                functions: functions(op, elem.computed()),
                ..Code::value(value)
            },
        })
    }

    pub(crate) fn apply_binary_scalar(
        &self,
        op: BinaryOp,
        x: Operand,
        number: Scalar,
    ) -> Result<Storage> {
        let numel = x.layout.shape().numel();
        let native = self
            .computes_numbers(&x)
            .filter(|&elem| number::is_exact(elem, number));
        let native = native.and_then(|elem| Some((elem, code(op, elem.computed())?)));
        let Some((elem, value)) = native else {
            return self.through_host("binary_scalar", [x], numel, |cpu, [x]| {
                cpu.binary_scalar(op, x, number)
            });
        };
        let mut parameters = Vec::new();
        number::push(&mut parameters, elem, number)?;
        self.elementwise(Elementwise {
            op: op.name(),
            key: format!("binary_scalar {op:?}"),
            operands: &[(&x, elem)],
            others: &[],
            out: elem,
            dtype: x.storage.dtype(),
            parameters,
            code: &|| Code {
                functions: functions(op, elem.computed()),
                statements: format!(
                    "    let y = {};\n    return {value};\n",
                    number::code(elem, FIRST)
                ),
            },
        })
    }

    pub(crate) fn apply_add_scaled(
        &self,
        a: Operand,
        b: Operand,
        alpha: Scalar,
    ) -> Result<Storage> {
        let (op, numel) = ("add_scaled", a.layout.shape().numel());
        let native = self
            .computes_numbers(&a)
            .filter(|&elem| number::is_exact(elem, alpha));
        let Some(elem) = native else {
            return self.through_host(op, [a, b], numel, |cpu, [a, b]| cpu.add_scaled(a, b, alpha));
        };
        let is_whole = |x: &Operand| x.layout.is_contiguous() && x.layout.offset() == 0;
        let in_place = elem == Elem::F32
            && is_whole(&a)
            && is_whole(&b)
            && a.storage.is_unshared()
            && self.data(op, &a)?.numel == numel;
        if in_place {
            let step = FormulaStep {
                op: FormulaOp::AddScaled(alpha.to_f64()),
                inputs: [0, 1, 0],
            };
            let formula = Formula {
                written: 1,
                read: 1,
                steps: vec![step],
                results: vec![2],
            };
            let mut storage = a.storage;
            self.apply_formula(op, &mut [&mut storage], &[b], &formula)?;
            return Ok(storage);
        }
        let mut parameters = Vec::new();
        number::push(&mut parameters, elem, alpha)?;
        self.elementwise(Elementwise {
            op,
            key: op.to_owned(),
            operands: &[(&a, elem), (&b, elem)],
            others: &[],
            out: elem,
            dtype: a.storage.dtype(),
            parameters,
            code: &|| Code::value(&format!("x + {} * y", number::code(elem, FIRST))),
        })
    }

    pub(crate) fn apply_fill_in_range(
        &self,
        region: FillRange,
        value: Scalar,
        x: Operand,
        other: Operand,
    ) -> Result<Storage> {
        let (op, numel) = ("fill_in_range", x.layout.shape().numel());
        let bounds = match region {
            FillRange::Within(low, high) => {
                Some((low, high, "!is_nan(x) && x >= low && x <= high"))
            }
            FillRange::Outside(low, high) => {
                Some((low, high, "!is_nan(x) && (x <= low || x >= high)"))
            }
            FillRange::NotBetween(low, high) => {
                Some((low, high, "is_nan(x) || !(x > low && x < high)"))
            }
            _ => None,
        };
        let elem = self
            .computes_numbers(&x)
            .filter(|elem| elem.computed() == "f32");
        let (Some((low, high, condition)), Some(elem)) = (bounds, elem) else {
            return self.through_host(op, [x, other], numel, |cpu, [x, other]| {
                cpu.fill_in_range(region, value, x, other)
            });
        };
        let mut parameters = Vec::new();
        for number in [low, high, value] {
            number::push(&mut parameters, elem, number)?;
        }
        self.elementwise(Elementwise {
            op,
            key: format!("{op} {condition}"),
            operands: &[(&x, elem), (&other, elem)],
            others: &[],
            out: elem,
            dtype: x.storage.dtype(),
            parameters,
            code: &|| {
                let [low, high, value] = [0, 2, 4].map(|i| number::code(elem, FIRST + i));
                Code {
                    functions: String::new(),
                    statements: format!(
                        "    let low = {low};
    let high = {high};
    if {condition} {{ return {value}; }}
    return y;\n"
                    ),
                }
            },
        })
    }
}

/// The operand of a result of this shape.
pub(crate) fn whole(storage: Storage, like: &Layout) -> Operand {
    let layout = Layout::contiguous(like.shape().clone());
    Operand { storage, layout }
}
