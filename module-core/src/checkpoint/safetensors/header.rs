//! The header: a JSON object of tensors, in which `__metadata__` is an object of strings.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use indexmap::IndexMap;
use safetensors::tensor::TensorInfo;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

#[derive(Default)]
pub(super) struct Header {
    /// Sorted, so that equal states are equal files.
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) tensors: IndexMap<String, TensorInfo>,
}

pub(super) const METADATA: &str = "__metadata__";

/// What the format allows a header to take.
const MOST: usize = 100_000_000;

impl Header {
    /// The header of a file, and where the elements start.
    pub(super) fn parse(file: &[u8]) -> Result<(Self, usize), String> {
        let (length, rest) = file
            .split_first_chunk()
            .ok_or("the file ends in the length of the header")?;
        let length = u64::from_le_bytes(*length);
        let within = usize::try_from(length)
            .ok()
            .filter(|length| *length <= MOST);
        let length = within.ok_or_else(|| {
            format!("a header of {length} bytes is more than the {MOST} that are allowed")
        })?;
        let header = rest.get(..length).ok_or_else(|| {
            format!(
                "a header of {length} bytes leaves the file, which has {} more",
                rest.len()
            )
        })?;
        let header = str::from_utf8(header).map_err(|e| format!("the header: {e}"))?;
        let header = serde_json::from_str(header).map_err(|e| format!("the header: {e}"))?;
        Ok((header, file.len() - rest.len() + length))
    }

    /// The length and the header as a file starts with them.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, String> {
        let mut file = vec![0; 8];
        serde_json::to_writer(&mut file, self).map_err(|e| e.to_string())?;
        // The elements start at a multiple of eight, at which all of them are aligned.
        file.resize(file.len().next_multiple_of(8), b' ');
        let length = file.len() - 8;
        if length > MOST {
            return Err(format!(
                "the names and shapes take {length} bytes, more than the {MOST} that are allowed"
            ));
        }
        if let Some(start) = file.first_chunk_mut() {
            *start = (length as u64).to_le_bytes();
        }
        Ok(file)
    }
}

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.tensors.len() + 1))?;
        map.serialize_entry(METADATA, &self.metadata)?;
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
                    return Err(twice(METADATA));
                }
            } else {
                insert_once(&mut tensors, key, &mut map)?;
            }
        }
        let metadata = metadata
            .flatten()
            .map(|Unique(map)| map.into_iter().collect());
        let metadata = metadata.unwrap_or_default();
        Ok(Header { metadata, tensors })
    }
}

/// A JSON object in which no key stands twice, where `serde_json` alone would let the last one win.
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
            insert_once(&mut unique, key, &mut map)?;
        }
        Ok(Unique(unique))
    }
}

fn insert_once<'de, V: Deserialize<'de>, A: MapAccess<'de>>(
    to: &mut IndexMap<String, V>,
    key: String,
    map: &mut A,
) -> Result<(), A::Error> {
    if to.contains_key(&key) {
        return Err(twice(&key));
    }
    to.insert(key, map.next_value()?);
    Ok(())
}

fn twice<E: Error>(key: &str) -> E {
    E::custom(format_args!("key `{key}` stands twice"))
}
