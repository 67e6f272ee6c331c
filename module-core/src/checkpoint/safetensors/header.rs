//! The header: a JSON object of tensors, in which `__metadata__` is an object of strings.

use std::fmt;
use std::marker::PhantomData;

use indexmap::IndexMap;
use safetensors::tensor::{Dtype, TensorInfo};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::super::sorted::Sorted;
use crate::MAX_RANK;
use module_tensor::error::quote;

#[derive(Default)]
pub(super) struct Header {
    pub(super) metadata: StringMap,
    pub(super) tensors: IndexMap<String, TensorInfo>,
}

/// `StringMap` is keyed by name; metadata keeps the order in which it is read and written.
pub(in crate::checkpoint) type StringMap = IndexMap<String, String>;

pub(super) const METADATA: &str = "__metadata__";

/// The maximum header size of the format.
const MAX_HEADER: usize = 100_000_000;

impl Header {
    /// The length of the header, from the first eight bytes of a file of `size` bytes.
    pub(super) fn length(file: &[u8], size: usize) -> Result<usize, String> {
        let (length, _) = file.split_first_chunk().ok_or(
            "the file ends early (truncated?); download or save it again: \
             the length of its header is missing",
        )?;
        let length = u64::from_le_bytes(*length);
        let within = usize::try_from(length)
            .ok()
            .filter(|length| *length <= MAX_HEADER);
        let length = within.ok_or_else(|| {
            format!("a header of {length} bytes is more than the {MAX_HEADER} that are allowed")
        })?;
        let more = size.saturating_sub(8);
        match length <= more {
            true => Ok(length),
            false => Err(format!(
                "the file ends early (truncated?); download or save it again: \
                 its header takes {length} bytes, and {more} follow"
            )),
        }
    }

    /// The bytes of the header after its length.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(text).map_err(|e| format!("the header: {e}"))?;
        serde_json::from_str(text).map_err(|e| format!("the header: {e}"))
    }

    /// The length and the header as a file starts with them.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let mut file = vec![0; 8];
        serde_json::to_writer(&mut file, self).map_err(|e| e.to_string())?;
        // The elements start at a multiple of eight, at which all of them are aligned.
        file.resize(file.len().next_multiple_of(8), b' ');
        let length = file.len() - 8;
        if length > MAX_HEADER {
            return Err(format!(
                "the names and shapes take {length} bytes, more than the {MAX_HEADER} that are allowed"
            ));
        }
        if let Some(start) = file.first_chunk_mut() {
            *start = (length as u64).to_le_bytes();
        }
        Ok(file)
    }
}

/// By ascending names, so that equal states give equal files.
pub(in crate::checkpoint) fn in_order(texts: &StringMap) -> Sorted<'_, &str> {
    Sorted::new(
        texts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    )
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.tensors.len() + 1))?;
        map.serialize_entry(METADATA, &in_order(&self.metadata))?;
        for (key, info) in &self.tensors {
            map.serialize_entry(key, info)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let (mut metadata, mut tensors) = (None, IndexMap::new());
        while let Some(key) = map.next_key::<String>()? {
            if key == METADATA {
                let found: Option<Unique<String>> = map.next_value()?;
                if metadata.replace(found).is_some() {
                    return Err(duplicate_error(METADATA));
                }
            } else {
                insert_once(&mut tensors, key, &mut map, |Info(info)| info)?;
            }
        }
        let metadata = metadata.flatten().map(|Unique(texts)| texts);
        let metadata = metadata.unwrap_or_default();
        Ok(Header { metadata, tensors })
    }
}

/// The description of a tensor, whose dimensions are counted while they are read.
struct Info(TensorInfo);

impl<'de> Deserialize<'de> for Info {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Fields {
            dtype: Dtype,
            shape: Few,
            data_offsets: (usize, usize),
        }
        let fields = Fields::deserialize(deserializer)?;
        Ok(Self(TensorInfo {
            dtype: fields.dtype,
            shape: fields.shape.0,
            data_offsets: fields.data_offsets,
        }))
    }
}

/// At most [`MAX_RANK`] sizes.
struct Few(Vec<usize>);

impl<'de> Deserialize<'de> for Few {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor)
    }
}

struct FewVisitor;

impl<'de> Visitor<'de> for FewVisitor {
    type Value = Few;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of sizes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Few, A::Error> {
        let mut sizes = Vec::new();
        while let Some(size) = sequence.next_element()? {
            if sizes.len() == MAX_RANK {
                return Err(Error::custom(format_args!(
                    "more than {MAX_RANK} dimensions"
                )));
            }
            sizes.push(size);
        }
        Ok(Few(sizes))
    }
}

/// A JSON object in which no key appears twice, where `serde_json` alone would let the last one win.
pub(in crate::checkpoint) struct Unique<V>(pub(in crate::checkpoint) IndexMap<String, V>);

impl<V> Default for Unique<V> {
    fn default() -> Self {
        Self(IndexMap::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Unique<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueVisitor(PhantomData))
    }
}

struct UniqueVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for UniqueVisitor<V> {
    type Value = Unique<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique<V>, A::Error> {
        let mut unique = IndexMap::new();
        while let Some(key) = map.next_key()? {
            insert_once(&mut unique, key, &mut map, |value| value)?;
        }
        Ok(Unique(unique))
    }
}

fn insert_once<'de, V: Deserialize<'de>, T, A: MapAccess<'de>>(
    to: &mut IndexMap<String, T>,
    key: String,
    map: &mut A,
    made: impl FnOnce(V) -> T,
) -> Result<(), A::Error> {
    if to.contains_key(&key) {
        return Err(duplicate_error(&key));
    }
    to.insert(key, made(map.next_value()?));
    Ok(())
}

fn duplicate_error<E: Error>(key: &str) -> E {
    E::custom(format_args!("key `{}` appears twice", quote(key)))
}
