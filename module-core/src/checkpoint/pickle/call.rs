//! The calls in a pickle, emulated without calling anything.

use super::globals::{Global, Kind};
use super::heap::{Heap, Value};

/// The result of `function(*arguments)`. A result that depends on something opaque is opaque too, whether it is called or
/// passed to a function that has no use for it.
pub(super) fn call(
    heap: &mut Heap<'_>,
    function: Value,
    arguments: Value,
) -> Result<Value, String> {
    if let Value::Opaque(_) = function {
        return Ok(function);
    }
    let Value::Global(global) = function else {
        let what = heap.describe(function);
        return Err(format!("the pickle calls {what}, which is not a function"));
    };
    let (Value::Tuple(place), Some(values)) = (arguments, heap.tuple(arguments)) else {
        let what = heap.describe(arguments);
        return Err(format!(
            "the pickle calls a function with {what} for arguments"
        ));
    };
    match (global, values) {
        (Global::OrderedDict, []) => heap.new_dict(),
        (Global::OrderedDict, &[pairs]) => make_ordered_dict(heap, pairs),
        (Global::Tensor | Global::TypedTensor, _) => heap.new_tensor(global, place),
        (Global::Parameter, &[tensor @ Value::Tensor(_), ..]) => Ok(tensor),
        (
            Global::FromType,
            &[
                Value::Global(by @ (Global::Tensor | Global::TypedTensor)),
                Value::Global(Global::TensorClass),
                Value::Tuple(arguments),
                ..,
            ],
        ) => heap.new_tensor(by, arguments),
        (Global::Size, &[sizes @ Value::Tuple(_)]) => Ok(sizes),
        (Global::Maker(kind), _) => Ok(Value::Other(kind)),
        _ => {
            let opaque = values
                .iter()
                .find(|value| matches!(value, Value::Opaque(_)));
            opaque.copied().ok_or_else(|| {
                format!(
                    "the pickle calls {} of PyTorch ({global:?}) with {} arguments that it does not take",
                    global.describe(),
                    values.len()
                )
            })
        }
    }
}

/// The result of `class.__new__(class, *arguments, **named)`.
pub(super) fn call_named(
    heap: &mut Heap<'_>,
    class: Value,
    arguments: Value,
    named: Value,
) -> Result<Value, String> {
    match named {
        Value::Dict(place) if heap.dict(place).is_empty() => call(heap, class, arguments),
        _ if matches!(class, Value::Opaque(_)) => Ok(class),
        _ => {
            let what = heap.describe(class);
            Err(format!("the pickle calls {what} with named arguments"))
        }
    }
}

/// An ordered dict made from a list of pairs, as Python 2 wrote it.
fn make_ordered_dict(heap: &mut Heap<'_>, pairs: Value) -> Result<Value, String> {
    let dict = heap.new_dict()?;
    let Value::Dict(place) = dict else {
        return Ok(dict);
    };
    let mut next = 0;
    while let Some(&pair) = heap.sequence(pairs).and_then(|pairs| pairs.get(next)) {
        match heap.sequence(pair) {
            Some(&[key, value]) => heap.set(place, &[key, value])?,
            _ => return Err("the pickle makes a dict of something other than pairs".to_owned()),
        }
        next += 1;
    }
    Ok(dict)
}

/// Sets attributes of `object`, none of which is a tensor of the state: the `_metadata` of a state dict, the byte order of
/// a NumPy dtype.
/// dict, the byte order of a NumPy dtype.
pub(super) fn build(heap: &Heap<'_>, object: Value) -> Result<(), String> {
    match object {
        Value::Dict(_) | Value::Other(Kind::Numpy) | Value::Opaque(_) => Ok(()),
        _ => Err(format!(
            "the pickle gives attributes to {}",
            heap.describe(object)
        )),
    }
}
