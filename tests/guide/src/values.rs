//! The values of the tables that compare PyTorch's calls with ours: `tests/golden/guide.py` recorded PyTorch's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use module_nn::{DType, Parameter, Shape, Tensor};
use serde_json::{Value, json};

/// What PyTorch returned for the code in the first column; nothing for statements.
pub(crate) static RECORDED: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../golden/data/guide.json")).expect("recorded values")
});

/// A row whose value is still to come.
struct Pending {
    place: &'static str,
    expected: Value,
}

thread_local! {
    static PENDING: RefCell<Option<Pending>> = const { RefCell::new(None) };
}

/// The tolerance for numbers, absolute and relative.
const TOLERANCE: f64 = 1e-5;

/// A row of a table, with the code in its first column.
pub(crate) fn row(place: &'static str, python: &str) {
    finish();
    let expected = RECORDED.get(python);
    let expected = expected.unwrap_or_else(|| panic!("{place}: PyTorch's value is not recorded"));
    if !expected.is_null() {
        let expected = expected.clone();
        PENDING.set(Some(Pending { place, expected }));
    }
}

/// Refuses a row whose code has no value although PyTorch's has one.
pub(crate) fn finish() {
    if let Some(Pending { place, expected }) = PENDING.take() {
        panic!("{place}: PyTorch has a value, {expected}");
    }
}

/// Compares the value of a row's code with PyTorch's.
#[track_caller]
pub(crate) fn record(value: &impl Recorded) {
    let found = value.to_json();
    let Some(Pending { place, expected }) = PENDING.take() else {
        panic!("PyTorch has no value where ours is {found}");
    };
    assert!(
        same(&found, &expected),
        "{place}: {found} differs from PyTorch's {expected}"
    );
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (
                a.as_f64().unwrap_or(f64::NAN),
                b.as_f64().unwrap_or(f64::NAN),
            );
            (a - b).abs() <= TOLERANCE * b.abs().max(1.0)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// A value that both columns of a table have.
pub(crate) trait Recorded {
    fn to_json(&self) -> Value;
}

impl Recorded for Tensor {
    fn to_json(&self) -> Value {
        let values = self
            .detach()
            .to_dtype(DType::F64)
            .and_then(|x| x.to_vec::<f64>());
        json!({
            "dtype": self.dtype().to_string(),
            "shape": self.shape().to_vec(),
            "values": values.expect("a tensor of numbers"),
        })
    }
}

impl Recorded for Parameter {
    fn to_json(&self) -> Value {
        self.detach().to_json()
    }
}

impl Recorded for Shape {
    fn to_json(&self) -> Value {
        json!(self.to_vec())
    }
}

impl Recorded for DType {
    fn to_json(&self) -> Value {
        json!(self.to_string())
    }
}

impl<T: Recorded> Recorded for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref()
            .map_or_else(|| json!("None"), Recorded::to_json)
    }
}

impl<T: Recorded> Recorded for Vec<T> {
    fn to_json(&self) -> Value {
        self.iter().map(Recorded::to_json).collect()
    }
}

impl<T: Recorded + ?Sized> Recorded for &T {
    fn to_json(&self) -> Value {
        (**self).to_json()
    }
}

impl<A: Recorded, B: Recorded> Recorded for (A, B) {
    fn to_json(&self) -> Value {
        json!([self.0.to_json(), self.1.to_json()])
    }
}

macro_rules! recorded {
    ($($type:ty),*) => {$(
        impl Recorded for $type {
            fn to_json(&self) -> Value {
                json!(self)
            }
        }
    )*};
}

recorded!(f32, f64, i64, usize, bool, str, String);

#[test]
fn values_that_differ_are_told_apart() {
    assert!(same(&json!([1.0, "a"]), &json!([1.000001, "a"])));
    assert!(!same(&json!([1.0]), &json!([1.001])) && !same(&json!([1.0]), &json!([1.0, 2.0])));
    assert!(!same(&json!({"a": 1}), &json!({"b": 1})) && !same(&json!(true), &json!(1)));
}
