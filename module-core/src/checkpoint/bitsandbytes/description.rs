use serde_json::Value;

use crate::checkpoint::words::shorten;
use crate::{DType, Shape, Tensor};

/// What the key of a description begins with behind that of the weight; the name of the levels follows.
pub(super) const PREFIX: &str = "quant_state.bitsandbytes__";

/// What is said of a weight.
pub(super) struct Description {
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
    /// Reads the JSON that a tensor holds, whose key says which levels it is about.
    pub(super) fn of(text: &Tensor, kind: &str) -> Result<Self, String> {
        let bytes = text.to_vec::<u8>().map_err(|error| error.to_string())?;
        let json: Value = serde_json::from_slice(&bytes)
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
}
