//! Conversion of options and numbers between PyTorch's objects and JSON.

use module_core::{DType, Result, Tensor, TorchObject};
use serde_json::{Number, Value};

/// An option as JSON, or what is wrong with it.
pub(super) fn to_json(object: &TorchObject) -> Result<Value, String> {
    match object {
        TorchObject::None => Ok(Value::Null),
        TorchObject::Bool(value) => Ok(Value::Bool(*value)),
        TorchObject::Int(number) => Ok(Value::from(*number)),
        TorchObject::Text(text) => Ok(Value::from(text.as_str())),
        TorchObject::List(items) | TorchObject::Tuple(items) => items
            .iter()
            .map(to_json)
            .collect::<Result<_, _>>()
            .map(Value::Array),
        // A rate may be a tensor, which PyTorch changes in place.
        TorchObject::Float(_) | TorchObject::Tensor(_) => {
            let number = number(object)?;
            let json = Number::from_f64(number).map(Value::Number);
            json.ok_or_else(|| format!("{number} is not finite, and cannot be kept"))
        }
        other => Err(format!("{other} is not an option")),
    }
}

/// An option in PyTorch's form; several numbers are a tuple.
pub(super) fn from_json(value: &Value) -> TorchObject {
    match value {
        Value::Bool(value) => TorchObject::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(number) => TorchObject::Int(number),
            None => TorchObject::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => TorchObject::from(text.as_str()),
        Value::Array(items) => TorchObject::Tuple(items.iter().map(from_json).collect()),
        Value::Null | Value::Object(_) => TorchObject::None,
    }
}

/// A number, which may be a tensor of one element.
pub(super) fn number(object: &TorchObject) -> Result<f64, String> {
    match object {
        TorchObject::Int(number) => Ok(*number as f64),
        TorchObject::Float(number) => Ok(*number),
        TorchObject::Tensor(tensor) if tensor.numel() == 1 => {
            let number = tensor.to_dtype(DType::F64).and_then(|x| x.reshape([1]));
            let number = number.and_then(|x| x.item());
            number.map_err(|error| error.to_string())
        }
        other => Err(format!("it is {other}, not a number")),
    }
}

/// A number of steps, of any dtype.
pub(super) fn steps(object: &TorchObject) -> Result<i64, String> {
    let number = number(object)?;
    // Above 2⁵³ `f64` cannot represent every integer.
    match number.fract() == 0.0 && (0.0..=9.007_199_254_740_992e15).contains(&number) {
        true => Ok(number as i64),
        false => Err(format!("{number} is not a number of steps")),
    }
}

/// A number of steps as PyTorch stores it: in single precision, or in double if single cannot hold it.
pub(super) fn steps_tensor(steps: i64) -> Tensor {
    let single = steps as f32;
    match single as i64 == steps {
        true => Tensor::from(single),
        false => Tensor::from(steps as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_steps_are_kept_whole() {
        for (number, dtype) in [
            (0, DType::F32),
            (1 << 24, DType::F32),
            ((1 << 24) + 1, DType::F64),
        ] {
            let tensor = steps_tensor(number);
            assert_eq!(tensor.dtype(), dtype);
            assert_eq!(steps(&TorchObject::Tensor(tensor)), Ok(number));
        }
        for wrong in [
            TorchObject::Float(1.5),
            TorchObject::Int(-1),
            TorchObject::Float(f64::NAN),
        ] {
            assert!(steps(&wrong).is_err(), "{wrong}");
        }
    }
}
