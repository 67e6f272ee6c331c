use module_tensor::backend::{Operand, Storage};
use module_tensor::{DType, Result};

use crate::elem::Elem;
use crate::elementwise::{Code, Elementwise};
use crate::gpu::Gpu;

/// The expression that converts `x` from one type of computation to the elements `to`; `None` where the CPU converts.
fn code(from: Elem, to: Elem) -> Option<String> {
    let (of, into) = (from.computed(), to.computed());
    if to == Elem::Bool {
        return Some(match of {
            "bool" => "x".to_owned(),
            // NaN is true.
            "f32" => "(bitcast<u32>(x) & 0x7fffffffu) != 0u".to_owned(),
            _ => format!("!(x == {of}(0))"),
        });
    }
    Some(match (of, into) {
        _ if of == into => "x".to_owned(),
        ("bool", _) => format!("select({into}(0), {into}(1), x)"),
        ("i32", "f32" | "i64" | "f64") => format!("{into}(x)"),
        // What is out of range is decided by the CPU's rules.
        ("i64", "f32" | "f64") => format!("{into}(x)"),
        // The lower half: integers wrap.
        ("i64", "i32") => "i32(u32(u64(x) & 0xfffffffflu))".to_owned(),
        ("f32", "i32" | "i64") => format!("{of}_to_{into}(x)"),
        ("f32", "f64") => "f64(x)".to_owned(),
        ("f64", "f32") => "f32(x)".to_owned(),
        _ => return None,
    })
}

/// Conversions of numbers to integers, truncated as on the CPU: through 64 bits, where NaN is 0 and the ends are the least and
/// the greatest.
const TO_INTEGERS: &str = "
fn f32_to_i64(x: f32) -> i64 {
    if is_nan(x) { return 0li; }
    if x >= 9223372036854775808.0 { return 0x7fffffffffffffffli; }
    if x <= -9223372036854775808.0 { return -0x7fffffffffffffffli - 1li; }
    return i64(x);
}
fn f32_to_i32(x: f32) -> i32 { return i32(u32(u64(f32_to_i64(x)) & 0xfffffffflu)); }
";

impl Gpu {
    pub(crate) fn convert(&self, x: Operand, dtype: DType) -> Result<Storage> {
        let (op, numel) = ("cast", x.layout.shape().numel());
        if x.storage.dtype() == dtype {
            return self.copy_elements(op, &x);
        }
        let about = self.adapter();
        let has = |elem: &Elem| match elem {
            Elem::F64 => about.has_f64 && about.has_i64,
            Elem::I64 => about.has_i64,
            Elem::U32 => false,
            _ => true,
        };
        let from = Elem::of(x.storage.dtype()).filter(has);
        let to = Elem::of(dtype).filter(has);
        let native = from
            .zip(to)
            .and_then(|(from, to)| Some((from, to, code(from, to)?)));
        // Numbers become integers through 64 bits.
        let is_narrowed = |from: Elem, to: Elem| from.is_float() && to.computed() == "i32";
        let native = native.filter(|&(from, to, _)| about.has_i64 || !is_narrowed(from, to));
        let Some((from, to, value)) = native else {
            return self.through_host(op, [x], numel, |cpu, [x]| cpu.cast(x, dtype));
        };
        let functions = if value.contains("_to_") {
            TO_INTEGERS
        } else {
            ""
        };
        self.elementwise(Elementwise {
            op,
            key: op.to_owned(),
            operands: &[(&x, from)],
            others: &[],
            out: to,
            dtype,
            parameters: Vec::new(),
            code: &|| Code {
                functions: functions.to_owned(),
                ..Code::value(&value)
            },
        })
    }
}
