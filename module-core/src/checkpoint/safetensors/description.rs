//! What a header says of a tensor: its dtype, its shape, and where its elements lie.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::super::words::shorten;
use super::header::Few;
use crate::{DType, Error, Result, Shape};

/// A dtype of the format: its name, the bits of an element, and the dtype here, if there is one.
type Entry = (&'static str, usize, Option<DType>);

/// All of them, in the order in which files hold their tensors, the last first: by rising alignment.
const DTYPES: [Entry; 22] = [
    ("BOOL", 8, Some(DType::Bool)),
    ("F4", 4, None),
    ("F6_E2M3", 6, None),
    ("F6_E3M2", 6, None),
    ("U8", 8, Some(DType::U8)),
    ("I8", 8, Some(DType::I8)),
    ("F8_E5M2", 8, Some(DType::F8E5M2)),
    ("F8_E4M3", 8, Some(DType::F8E4M3)),
    ("F8_E8M0", 8, None),
    ("F8_E4M3FNUZ", 8, None),
    ("F8_E5M2FNUZ", 8, None),
    ("I16", 16, Some(DType::I16)),
    ("U16", 16, Some(DType::U16)),
    ("F16", 16, Some(DType::F16)),
    ("BF16", 16, Some(DType::BF16)),
    ("I32", 32, Some(DType::I32)),
    ("U32", 32, Some(DType::U32)),
    ("F32", 32, Some(DType::F32)),
    ("C64", 64, Some(DType::Complex64)),
    ("F64", 64, Some(DType::F64)),
    ("I64", 64, Some(DType::I64)),
    ("U64", 64, None),
];

/// A dtype of the format, by its place in [`DTYPES`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileDtype(usize);

impl FileDtype {
    /// What a file calls a dtype.
    pub(super) fn of(dtype: DType) -> Result<Self> {
        let place = DTYPES.iter().position(|entry| entry.2 == Some(dtype));
        place.map(Self).ok_or_else(|| {
            let problem = "the safetensors format has no name for it";
            Error::argument("save", "dtype", dtype, problem)
        })
    }

    /// The dtype here, if there is one.
    pub(super) fn dtype(self) -> Option<DType> {
        DTYPES.get(self.0).and_then(|entry| entry.2)
    }

    pub(super) fn name(self) -> &'static str {
        DTYPES.get(self.0).map_or("", |entry| entry.0)
    }

    fn bits(self) -> usize {
        DTYPES.get(self.0).map_or(0, |entry| entry.1)
    }
}

/// The dtype and the shape of a tensor, and the bytes behind the header at which it starts and ends.
pub(super) struct Description {
    pub(super) dtype: FileDtype,
    pub(super) shape: Vec<usize>,
    pub(super) data_offsets: (usize, usize),
}

impl Description {
    /// The bytes that shape and dtype ask for.
    fn size(&self) -> Option<usize> {
        let mut numel = 1_usize;
        for &size in &self.shape {
            numel = numel.checked_mul(size)?;
        }
        let bits = numel.checked_mul(self.dtype.bits())?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }
}

/// Refuses gaps and overlaps between tensors, which are in the order of their places, and sizes that do not follow from
/// shape and dtype. Returns the bytes that all of them take.
pub(super) fn check(tensors: &[(String, Description)]) -> Result<usize, String> {
    let mut end = 0;
    for (key, tensor) in tensors {
        let (first, last) = tensor.data_offsets;
        if first != end || last < first {
            return Err(format!(
                "tensor `{}` lies from {first} to {last}, and those before it end at {end}",
                shorten(key)
            ));
        }
        if tensor.size() != Some(last - first) {
            return Err(format!(
                "tensor `{}` takes {} bytes, and not those of the shape {} in {}",
                shorten(key),
                last - first,
                Shape::from(&tensor.shape[..]),
                tensor.dtype.name()
            ));
        }
        end = last;
    }
    Ok(end)
}

impl Serialize for Description {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Description", 3)?;
        fields.serialize_field("dtype", self.dtype.name())?;
        fields.serialize_field("shape", &self.shape)?;
        fields.serialize_field("data_offsets", &self.data_offsets)?;
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Description {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        struct Fields {
            dtype: String,
            shape: Few,
            data_offsets: (usize, usize),
        }
        let fields = Fields::deserialize(deserializer)?;
        let place = DTYPES.iter().position(|entry| entry.0 == fields.dtype);
        let dtype = place.map(FileDtype).ok_or_else(|| {
            let name = shorten(&fields.dtype);
            D::Error::custom(format_args!("`{name}` is no dtype of the format"))
        })?;
        Ok(Self {
            dtype,
            shape: fields.shape.0,
            data_offsets: fields.data_offsets,
        })
    }
}
