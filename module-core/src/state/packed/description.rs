use serde_json::{Map, Value};

use crate::{DType, Error, Result, Shape, Tensor};

/// What errors call the way from parts to a tensor.
pub(super) const JOIN: &str = "join_packed";

/// What a file says of a packed tensor, as JSON.
#[derive(Default)]
pub(super) struct Description(Map<String, Value>);

impl Description {
    /// With one more entry.
    pub(super) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub(super) fn with_shape(self, shape: &Shape) -> Self {
        self.with("shape", shape.to_vec())
    }

    pub(super) fn with_dtype(self, dtype: DType) -> Self {
        self.with("dtype", dtype.name())
    }

    /// The text as a tensor of bytes.
    pub(super) fn write(self) -> Result<Tensor> {
        let text = Value::Object(self.0).to_string().into_bytes();
        let length = text.len();
        Tensor::from_vec(text, [length])
    }

    pub(super) fn read(text: &Tensor) -> Result<Self> {
        let bytes = text.to_vec::<u8>()?;
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(entries)) => Ok(Self(entries)),
            Ok(_) => Err(unreadable("it is no JSON object".to_owned())),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// An entry that is a number.
    pub(super) fn number(&self, name: &'static str) -> Result<f64> {
        let number = self.0.get(name).and_then(Value::as_f64);
        number.ok_or_else(|| self.wrong(name, "must be a number"))
    }

    /// An entry that is a count.
    pub(super) fn count(&self, name: &'static str) -> Result<usize> {
        let count = self.0.get(name).and_then(count);
        count.ok_or_else(|| self.wrong(name, "must be a whole number"))
    }

    /// An entry that is a truth value.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool> {
        let flag = self.0.get(name).and_then(Value::as_bool);
        flag.ok_or_else(|| self.wrong(name, "must be true or false"))
    }

    pub(super) fn dtype(&self) -> Result<DType> {
        let name = self.0.get("dtype").and_then(Value::as_str);
        let dtype = DType::ALL
            .into_iter()
            .find(|dtype| Some(dtype.name()) == name);
        dtype.ok_or_else(|| self.wrong("dtype", "must be the name of a dtype"))
    }

    pub(super) fn shape(&self) -> Result<Shape> {
        let sizes = self.0.get("shape").and_then(Value::as_array);
        let sizes = sizes.filter(|sizes| sizes.len() <= crate::MAX_RANK);
        let sizes: Option<Vec<usize>> = sizes.and_then(|sizes| sizes.iter().map(count).collect());
        match sizes {
            Some(sizes) => Ok(Shape::from(sizes)),
            None => Err(self.wrong("shape", "must be a list of sizes")),
        }
    }

    fn wrong(&self, name: &'static str, problem: &str) -> Error {
        let found = self
            .0
            .get(name)
            .map_or("missing".to_owned(), Value::to_string);
        Error::argument(JOIN, name, found, problem)
    }
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn unreadable(problem: String) -> Error {
    let advice = format!("cannot be read: {problem}; load the file as it was saved");
    Error::argument(JOIN, "part", "quant_state", advice)
}
