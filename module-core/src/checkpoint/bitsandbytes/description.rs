use serde_json::Value;

use crate::checkpoint::words::shorten;
use crate::{DType, Shape};

/// What the key of a description begins with behind that of the weight; the name of the levels follows.
pub(super) const PREFIX: &str = "quant_state.bitsandbytes__";

/// What is said of a weight.
pub(super) struct Description {
    /// The name of the levels.
    pub(super) kind: &'static str,
    /// The elements that have a scale in common.
    pub(super) block: usize,
    pub(super) dtype: DType,
    pub(super) shape: Shape,
    pub(super) nested: Option<Nested>,
}

/// How scales are quantized themselves.
pub(super) struct Nested {
    /// The scales that have a scale in common.
    pub(super) block: usize,
    pub(super) offset: f32,
}

/// The dtypes of weights by PyTorch's names.
const DTYPES: [(&str, DType); 3] = [
    ("float32", DType::F32),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
];

impl Description {
    /// Reads the JSON of a key that ends in the name of the levels.
    pub(super) fn of(text: &[u8], kind: &str) -> Result<Self, String> {
        let json: Value = serde_json::from_slice(text)
            .map_err(|error| format!("has a description that is no JSON: {error}"))?;
        let wrong = |name: &str, needed: &str| {
            let found = json
                .get(name)
                .map_or_else(|| "missing".to_owned(), Value::to_string);
            let found = shorten(&found);
            format!("has a description whose `{name}` is {found}, and not {needed}")
        };
        let known = ["nf4", "fp4"].into_iter().find(|known| *known == kind);
        let kind =
            known.filter(|kind| json.get("quant_type").and_then(Value::as_str) == Some(kind));
        let kind = kind.ok_or_else(|| wrong("quant_type", "`nf4` or `fp4` as the key says"))?;
        let size = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let block = |name: &str| {
            let block = json
                .get(name)
                .and_then(size)
                .filter(|block| *block > 0 && block % 2 == 0);
            block.ok_or_else(|| wrong(name, "a positive even number"))
        };
        let named = json.get("dtype").and_then(Value::as_str);
        let dtype = DTYPES.iter().find(|(name, _)| Some(*name) == named);
        let (_, dtype) =
            dtype.ok_or_else(|| wrong("dtype", "`float32`, `float16` or `bfloat16`"))?;
        let sizes = json.get("shape").and_then(Value::as_array);
        let sizes: Option<Vec<usize>> = sizes.and_then(|sizes| sizes.iter().map(size).collect());
        let sizes = sizes.filter(|sizes| sizes.len() <= crate::MAX_RANK);
        let shape = Shape::from(sizes.ok_or_else(|| wrong("shape", "a list of sizes"))?);
        let nested = match json.get("nested_offset") {
            None => None,
            Some(offset) => {
                let offset = offset
                    .as_f64()
                    .map(|offset| offset as f32)
                    .filter(|x| x.is_finite());
                Some(Nested {
                    block: block("nested_blocksize")?,
                    offset: offset.ok_or_else(|| wrong("nested_offset", "a number"))?,
                })
            }
        };
        Ok(Self {
            kind,
            block: block("blocksize")?,
            dtype: *dtype,
            shape,
            nested,
        })
    }

    /// The JSON, as Python writes it.
    pub(super) fn to_text(&self) -> String {
        let named = DTYPES.iter().find(|(_, dtype)| *dtype == self.dtype);
        let dtype = named.map_or("float32", |(name, _)| name);
        let sizes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let (kind, block, sizes) = (self.kind, self.block, sizes.join(", "));
        let nested = match &self.nested {
            None => String::new(),
            Some(Nested { block, offset }) => {
                let offset = python_float(f64::from(*offset));
                format!(
                    r#", "nested_blocksize": {block}, "nested_dtype": "float32", "nested_offset": {offset}"#
                )
            }
        };
        format!(
            r#"{{"quant_type": "{kind}", "blocksize": {block}, "dtype": "{dtype}", "shape": [{sizes}]{nested}}}"#
        )
    }
}

/// The shortest text of a number that is the number again, as Python's `repr`: the same digits, and an exponent of at
/// least two of them with its sign, below 10⁻⁴ and from 10¹⁶ on.
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
