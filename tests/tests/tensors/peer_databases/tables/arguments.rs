//! The arguments of a recorded call, by their positions and PyTorch's names.

use std::cell::RefCell;
use std::collections::BTreeSet;

use module_core::{DType, Dims, Error, Result, Scalar, Sizes, Tensor, Value as Operand};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Why there is no result to compare.
#[derive(Debug)]
pub(crate) enum Stop {
    /// This library refused.
    Refused(Error),
    /// This library has no such argument.
    NotOurs(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// The results of an operation.
pub(crate) type Outputs = Result<Vec<Tensor>, Stop>;
/// An operation under the names in PyTorch's database (several if they are the same here).
pub(crate) type Op = (&'static str, fn(&Call<'_>) -> Outputs);

/// A call: its tensors, and its arguments as JSON in which `{"tensor": 1}` is one of them.
pub(crate) struct Call<'a> {
    pub(crate) tensors: &'a [Tensor],
    pub(crate) positional: &'a [Value],
    pub(crate) named: &'a Map<String, Value>,
    pub(crate) dtype: &'a str,
    /// The positions and names that were read.
    pub(crate) read: RefCell<BTreeSet<String>>,
}

pub(crate) fn not_ours<T>(what: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::NotOurs(what.into()))
}

/// A number that may be NaN or infinite.
pub(crate) fn float(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value["float"].as_str()?.parse().ok())
}

fn dtype_of(name: &str) -> DType {
    match name {
        "f64" => DType::F64,
        "f16" => DType::F16,
        "bf16" => DType::BF16,
        "i64" => DType::I64,
        "i32" => DType::I32,
        "u8" => DType::U8,
        "bool" => DType::Bool,
        _ => DType::F32,
    }
}

impl<'a> Call<'a> {
    /// An argument, or null if it was not given.
    pub(crate) fn value(&self, place: usize, name: &str) -> &'a Value {
        let mut read = self.read.borrow_mut();
        read.insert(place.to_string());
        read.insert(name.to_owned());
        let given = self.positional.get(place).or_else(|| self.named.get(name));
        given.unwrap_or(&Value::Null)
    }

    /// The first argument that was given but never read.
    pub(crate) fn unread(&self) -> Option<String> {
        let read = self.read.borrow();
        let places = (0..self.positional.len()).map(|place| place.to_string());
        let given = places.chain(self.named.keys().cloned());
        given.into_iter().find(|name| !read.contains(name))
    }

    pub(crate) fn tensor_of(&self, value: &Value) -> Option<&'a Tensor> {
        self.tensors
            .get(usize::try_from(value["tensor"].as_u64()?).ok()?)
    }

    pub(crate) fn maybe(&self, place: usize, name: &str) -> Result<Option<&'a Tensor>, Stop> {
        match self.value(place, name) {
            Value::Null => Ok(None),
            value => match self.tensor_of(value) {
                Some(tensor) => Ok(Some(tensor)),
                None => not_ours(format!("{name} that is not a tensor")),
            },
        }
    }

    pub(crate) fn tensor(&self, place: usize, name: &str) -> Result<&'a Tensor, Stop> {
        match self.maybe(place, name)? {
            Some(tensor) => Ok(tensor),
            None => not_ours(format!("no {name}")),
        }
    }

    /// The first argument.
    pub(crate) fn x(&self) -> Result<&'a Tensor, Stop> {
        self.tensor(0, "input")
    }

    /// The first argument in the requested dtype of the result.
    pub(crate) fn cast(&self) -> Result<Tensor, Stop> {
        let x = self.x()?;
        match self.dtype_named("dtype") {
            Some(dtype) => Ok(x.to_dtype(dtype)?),
            None => Ok(x.clone()),
        }
    }

    /// The result in the requested dtype, because sums of integers are `I64`.
    pub(crate) fn cast_back(&self, out: Tensor) -> Outputs {
        match self.dtype_named("dtype") {
            Some(dtype) => Ok(vec![out.to_dtype(dtype)?]),
            None => Ok(vec![out]),
        }
    }

    /// The second argument.
    pub(crate) fn y(&self) -> Result<&'a Tensor, Stop> {
        self.tensor(1, "other")
    }

    /// A list of tensors, or those from this position on.
    pub(crate) fn tensors(&self, place: usize) -> Result<Vec<&'a Tensor>, Stop> {
        let list = match self.value(place, "tensors") {
            Value::Array(list) => list.iter().collect(),
            _ => (place..self.positional.len())
                .map(|place| self.value(place, "tensors"))
                .collect::<Vec<_>>(),
        };
        let tensor = |value| match self.tensor_of(value) {
            Some(tensor) => Ok(tensor),
            None => not_ours("a list of other things than tensors"),
        };
        list.into_iter().map(tensor).collect()
    }

    pub(crate) fn get<T: DeserializeOwned>(
        &self,
        place: usize,
        name: &str,
    ) -> Result<Option<T>, Stop> {
        let value = self.value(place, name);
        // `number` reads numbers that JSON cannot represent.
        match serde_json::from_value(value.clone()) {
            _ if value.is_null() => Ok(None),
            Ok(value) => Ok(Some(value)),
            Err(_) => not_ours(format!("{name} = {value}")),
        }
    }

    pub(crate) fn or<T: DeserializeOwned>(
        &self,
        place: usize,
        name: &str,
        default: T,
    ) -> Result<T, Stop> {
        Ok(self.get(place, name)?.unwrap_or(default))
    }

    pub(crate) fn need<T: DeserializeOwned>(&self, place: usize, name: &str) -> Result<T, Stop> {
        match self.get(place, name)? {
            Some(value) => Ok(value),
            None => not_ours(format!("no {name}")),
        }
    }

    pub(crate) fn number(&self, place: usize, name: &str, default: f64) -> Result<f64, Stop> {
        match self.value(place, name) {
            Value::Null => Ok(default),
            value => match float(value) {
                Some(number) => Ok(number),
                None => not_ours(format!("{name} = {value}")),
            },
        }
    }

    pub(crate) fn dtype_named(&self, name: &str) -> Option<DType> {
        self.value(usize::MAX, name)["dtype"].as_str().map(dtype_of)
    }

    /// The requested dtype of a new tensor, otherwise that of the case.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype_named("dtype").unwrap_or(dtype_of(self.dtype))
    }

    pub(crate) fn scalar(&self, place: usize, name: &str) -> Result<Scalar, Stop> {
        match self.value(place, name) {
            Value::Bool(value) => Ok(Scalar::Bool(*value)),
            value => match (value.as_i64(), float(value)) {
                (Some(value), _) => Ok(Scalar::Int(value)),
                (None, Some(value)) => Ok(Scalar::Float(value)),
                _ => not_ours(format!("{name} that is not a number")),
            },
        }
    }

    pub(crate) fn scalar_or(&self, place: usize, name: &str, default: i64) -> Result<Scalar, Stop> {
        match self.value(place, name) {
            Value::Null => Ok(Scalar::Int(default)),
            _ => self.scalar(place, name),
        }
    }

    /// A tensor or a number.
    pub(crate) fn operand(&self, place: usize, name: &str) -> Result<Operand<'a>, Stop> {
        match self.tensor_of(self.value(place, name)) {
            Some(tensor) => Ok(tensor.into()),
            None => Ok(Operand::Scalar(self.scalar(place, name)?)),
        }
    }

    /// Whether there is such an argument.
    pub(crate) fn has(&self, place: usize, name: &str) -> bool {
        !self.value(place, name).is_null()
    }

    /// One dimension, several, or all if none is given.
    pub(crate) fn dims(&self, place: usize, name: &str) -> Result<Dims, Stop> {
        let value = self.value(place, name);
        match value.as_i64() {
            _ if value.is_null() => Ok((..).into()),
            Some(dim) => Ok((dim as isize).into()),
            None => Ok(self.need::<Vec<isize>>(place, name)?.as_slice().into()),
        }
    }

    /// Like `dims`, but an empty list means all dimensions, as in PyTorch's older reductions.
    pub(crate) fn dims_or_all(&self, place: usize, name: &str) -> Result<Dims, Stop> {
        match self.value(place, name) {
            value if *value == json!([]) => Ok((..).into()),
            _ => self.dims(place, name),
        }
    }

    /// One number for all dimensions, or one for each.
    pub(crate) fn sizes<const N: usize>(
        &self,
        place: usize,
        name: &str,
    ) -> Result<Option<[usize; N]>, Stop> {
        match self.value(place, name) {
            // A list of one element also applies to all.
            Value::Array(list) if list.len() == 1 => match list[0].as_u64() {
                Some(size) => Ok(Some([size as usize; N])),
                None => not_ours(format!("{name} = {list:?}")),
            },
            Value::Array(list) if list.is_empty() && name == "stride" => Ok(None),
            _ => Ok(self.get::<Sizes<N>>(place, name)?.map(Sizes::get)),
        }
    }

    /// Sizes: a list, or all arguments from this position on.
    pub(crate) fn shape<T: DeserializeOwned>(
        &self,
        place: usize,
        name: &str,
    ) -> Result<Vec<T>, Stop> {
        match self.value(place, name) {
            Value::Number(_) => (place..self.positional.len())
                .map(|place| self.need(place, name))
                .collect(),
            _ => self.need(place, name),
        }
    }

    /// The arguments with these names, in the form in which our configurations are read.
    pub(crate) fn config<T: DeserializeOwned>(&self, names: &[&str]) -> Result<T, Stop> {
        let mut given = Map::new();
        for name in names {
            if self.has(usize::MAX, name) {
                given.insert((*name).to_owned(), self.value(usize::MAX, name).clone());
            }
        }
        let text = format!("{given:?}");
        serde_json::from_value(Value::Object(given)).or_else(|_| not_ours(text))
    }

    /// Reads arguments that change nothing here; those with other values do not exist in this library.
    pub(crate) fn ignore(&self, name: &str, values: &[Value]) -> Result<(), Stop> {
        match self.value(usize::MAX, name) {
            value if value.is_null() || values.contains(value) => Ok(()),
            value => not_ours(format!("{name} = {value}")),
        }
    }

    /// A function of one tensor.
    pub(crate) fn map(&self, f: impl FnOnce(&Tensor) -> Result<Tensor>) -> Outputs {
        Ok(vec![f(self.x()?)?])
    }

    /// A function of two tensors.
    pub(crate) fn pair(&self, f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>) -> Outputs {
        Ok(vec![f(self.x()?, self.y()?)?])
    }

    /// A function of a tensor and a tensor or a number.
    pub(crate) fn with(&self, f: impl FnOnce(&Tensor, Operand<'_>) -> Result<Tensor>) -> Outputs {
        Ok(vec![f(self.x()?, self.operand(1, "other")?)?])
    }

    /// The second argument as a tensor, even if it is a number, before the first.
    pub(crate) fn swapped(&self, f: impl FnOnce(&Tensor, &Tensor) -> Result<Tensor>) -> Outputs {
        let x = self.x()?;
        let y = match self.operand(1, "other")? {
            Operand::Tensor(y) => y.into_owned(),
            Operand::Scalar(number) => {
                Tensor::full(x.shape().clone(), number, (x.dtype(), &x.device()))?
            }
        };
        Ok(vec![f(&y, x)?])
    }
}

pub(crate) fn both((a, b): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![a, b]
}

/// A boolean, as recorded for PyTorch's `bool`.
pub(crate) fn truth(value: bool) -> Vec<Tensor> {
    vec![Tensor::from(value)]
}
