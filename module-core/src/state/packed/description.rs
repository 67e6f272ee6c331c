use serde_json::{Map, Value};

use crate::{DType, Error, Result, Shape, Tensor};

/// The name of joining parts into a tensor in errors.
pub(super) const JOIN: &str = "join_packed";

/// The entries of bitsandbytes.
const ORDER: [&str; 7] = [
    "quant_type",
    "blocksize",
    "dtype",
    "shape",
    "nested_blocksize",
    "nested_dtype",
    "nested_offset",
];

/// The JSON description of a packed tensor.
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
        let text = self.to_text().into_bytes();
        let length = text.len();
        Tensor::from_vec(text, [length])
    }

    /// The JSON in Python's format and bitsandbytes' order, so that equal weights give equal bytes.
    fn to_text(&self) -> String {
        let first = ORDER.iter().filter_map(|name| self.0.get_key_value(*name));
        let known = |name: &String| ORDER.contains(&name.as_str());
        let others = self.0.iter().filter(|(name, _)| !known(name));
        let entries = first.chain(others).map(|(name, value)| {
            let name = Value::from(name.as_str());
            format!("{name}: {}", python(value))
        });
        format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
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

    /// Refuses an entry with a text other than the required one.
    pub(super) fn check_text(&self, name: &'static str, text: &str) -> Result<()> {
        match self.0.get(name).and_then(Value::as_str) == Some(text) {
            true => Ok(()),
            false => Err(self.wrong(name, &format!("must be `{text}`, as the key says"))),
        }
    }

    /// An entry that is a number and fits `f32`.
    pub(super) fn number(&self, name: &'static str) -> Result<f64> {
        let number = self.0.get(name).and_then(Value::as_f64);
        let number = number.filter(|number| (*number as f32).is_finite());
        number.ok_or_else(|| self.wrong(name, "must be a number"))
    }

    /// An entry that is a count.
    pub(super) fn count(&self, name: &'static str) -> Result<usize> {
        let count = self.0.get(name).and_then(count);
        count.ok_or_else(|| self.wrong(name, "must be a whole number"))
    }

    /// An entry that is a boolean.
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

/// A value as Python's `json.dumps` writes it.
fn python(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(python).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Number(number) => match number.as_f64() {
            Some(x) if number.is_f64() => python_float(x),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// The shortest text that reads back as the same number, like Python's `repr`: below 10⁻⁴ and from 10¹⁶ on with an exponent
/// of at least two digits and a sign.
fn python_float(x: f64) -> String {
    if x == 0.0 || (1e-4..1e16).contains(&x.abs()) {
        return format!("{x:?}");
    }
    let text = format!("{x:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::python_float;

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (x, text) in [
            (0.0, "0.0"),
            (2.0, "2.0"),
            (2.590_047_359_466_552_7, "2.5900473594665527"),
            (0.0001, "0.0001"),
            (0.000_099_999_997_473_787_52, "9.999999747378752e-05"),
            (1e-5, "1e-05"),
            (-1.5e-30, "-1.5e-30"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (2.5e20, "2.5e+20"),
        ] {
            assert_eq!(python_float(x), text);
        }
    }
}
