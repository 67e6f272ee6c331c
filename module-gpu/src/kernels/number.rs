//! Numbers among the parameters of kernels.

use module_tensor::{DType, Result, Scalar};

use crate::elem::Elem;
use crate::host::words_of;

/// The dtype in which kernels compute with elements.
pub(crate) fn computed(elem: Elem) -> DType {
    match elem.computed() {
        "f32" => DType::F32,
        "f64" => DType::F64,
        "i64" => DType::I64,
        "bool" => DType::Bool,
        _ => DType::I32,
    }
}

/// Appends a number, in the type in which kernels compute with elements: always two words.
pub(crate) fn push(parameters: &mut Vec<u32>, elem: Elem, number: Scalar) -> Result<()> {
    let mut words = words_of(computed(elem), number)?;
    words.resize(2, 0);
    parameters.extend(words);
    Ok(())
}

/// The expression for a number that is parameter `first`.
pub(crate) fn code(elem: Elem, first: usize) -> String {
    let next = first + 1;
    match elem.computed() {
        "f32" => format!("$f{first}"),
        "f64" => format!("bitcast<f64>(u64(${first}) | (u64(${next}) << 32u))"),
        "i64" => format!("i64(u64(${first}) | (u64(${next}) << 32u))"),
        "bool" => format!("(${first} != 0u)"),
        "u32" => format!("${first}"),
        _ => format!("$i{first}"),
    }
}

/// Whether a number is the same in the narrow integers that kernels compute with.
pub(crate) fn is_exact(elem: Elem, number: Scalar) -> bool {
    match (elem.computed(), number) {
        ("i32", Scalar::Int(value)) => i32::try_from(value).is_ok(),
        ("i32", other) => other.to_f64().abs() < 2_147_483_648.0,
        _ => true,
    }
}
