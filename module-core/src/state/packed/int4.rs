//! Weights of 4 bits in a state dict.

use super::description::Description;
use super::format::{PackedFormat, Parts, Split};
use crate::backend::{Int4Parts, Int4Storage, Storage};
use crate::{Result, Tensor};

pub(super) struct Int4;

impl PackedFormat for Int4 {
    fn name(&self) -> &'static str {
        "module__int4"
    }

    fn parts(&self) -> &'static [&'static str] {
        &["scales", "zero_points"]
    }

    fn split(&self, storage: &Storage) -> Result<Option<Split>> {
        let Some(storage) = storage.downcast_ref::<Int4Storage>() else {
            return Ok(None);
        };
        let parts = storage.parts();
        let (codes, groups) = (parts.codes.clone(), parts.scales.len());
        let bytes = codes.len();
        let scales = Tensor::from_vec(parts.scales.clone(), [groups])?;
        let zero_points = Tensor::from_vec(parts.zero_points.clone(), [groups])?;
        Ok(Some(Split {
            description: Description::default()
                .with("group_size", parts.group_size)
                .with_dtype(parts.dtype),
            weight: Tensor::from_vec(codes, [bytes])?,
            others: vec![("scales", scales), ("zero_points", zero_points)],
        }))
    }

    fn join(&self, parts: &Parts<'_>) -> Result<Storage> {
        let storage = Int4Storage::new(Int4Parts {
            codes: parts.weight.to_vec()?,
            scales: parts.get("scales")?.to_vec()?,
            zero_points: parts.get("zero_points")?.to_vec()?,
            group_size: parts.description.count("group_size")?,
            dtype: parts.description.dtype()?,
        })?;
        Ok(Storage::new(storage))
    }
}
