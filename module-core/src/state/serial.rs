//! State dicts for serde.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::{StateDict, base64};
use crate::backend::HostData;
use crate::{DType, Shape, Tensor};

/// A map from keys, in order, to `{"dtype": "float32", "shape": [2, 3], "data": …}`, where `data` are the little-endian
/// bytes of the elements in row-major order: base64 in human-readable formats such as JSON, bytes in others. A tied tensor
/// is listed under each of its names, and is no longer tied when it is read.
impl Serialize for StateDict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, tensor) in self {
            map.serialize_entry(key, &SerialTensor(Cow::Borrowed(tensor)))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for StateDict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StateDictVisitor;

        impl<'de> Visitor<'de> for StateDictVisitor {
            type Value = StateDict;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map from keys to tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StateDict, A::Error> {
                let mut state = StateDict::new();
                while let Some((key, SerialTensor(tensor))) = map.next_entry::<String, _>()? {
                    if state.contains_key(&key) {
                        return Err(de::Error::custom(format!("key `{key}` appears twice")));
                    }
                    state.insert(key, tensor.into_owned());
                }
                Ok(state)
            }
        }

        deserializer.deserialize_map(StateDictVisitor)
    }
}

struct SerialTensor<'a>(Cow<'a, Tensor>);

impl Serialize for SerialTensor<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.0.to_host().map_err(serde::ser::Error::custom)?;
        let bytes = bytes.to_le_bytes();
        let readable = serializer.is_human_readable();
        let mut entry = serializer.serialize_struct("Tensor", 3)?;
        entry.serialize_field("dtype", self.0.dtype().name())?;
        entry.serialize_field("shape", &**self.0.shape())?;
        if readable {
            entry.serialize_field("data", &base64::encode(&bytes))?;
        } else {
            entry.serialize_field("data", &Bytes(bytes))?;
        }
        entry.end()
    }
}

#[derive(serde::Deserialize)]
#[serde(rename = "Tensor")]
struct Raw {
    dtype: String,
    shape: Vec<usize>,
    data: Bytes,
}

impl<'de> Deserialize<'de> for SerialTensor<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Raw { dtype, shape, data } = Raw::deserialize(deserializer)?;
        let fail = |problem: String| Err(de::Error::custom(problem));
        let known = DType::ALL.into_iter().find(|known| known.name() == dtype);
        let Some(dtype) = known else {
            return fail(format!("`{dtype}` is not a dtype"));
        };
        let shape = Shape::from(shape);
        let size = dtype.size_in_bytes();
        let numel = shape.checked_numel("deserialize", size);
        let expected = numel.map_err(de::Error::custom)? * size;
        if data.0.len() != expected {
            let found = data.0.len();
            return fail(format!(
                "a tensor of shape {shape} and dtype {dtype} has {expected} bytes, and not {found}"
            ));
        }
        let tensor = Tensor::from_host(HostData::from_le_bytes(dtype, &data.0), shape);
        tensor
            .map(|tensor| Self(Cow::Owned(tensor)))
            .map_err(de::Error::custom)
    }
}

struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Content;

        impl Visitor<'_> for Content {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of a tensor, or base64 of them")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
                let bytes = base64::decode(text);
                bytes.map(Bytes).ok_or_else(|| E::custom("invalid base64"))
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
        }

        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Content)
        } else {
            deserializer.deserialize_byte_buf(Content)
        }
    }
}
