//! Weights of 8 bits in a state dict.

use super::description::Description;
use super::format::{PackedFormat, Parts, Split};
use crate::backend::{Int8Parts, Int8Storage, Storage};
use crate::{Result, Tensor};

pub(super) struct Int8;

impl PackedFormat for Int8 {
    fn name(&self) -> &'static str {
        "module__int8"
    }

    fn parts(&self) -> &'static [&'static str] {
        &["scales"]
    }

    fn split(&self, storage: &Storage) -> Result<Option<Split>> {
        let Some(storage) = storage.downcast_ref::<Int8Storage>() else {
            return Ok(None);
        };
        let parts = storage.parts();
        let (codes, scales) = (parts.codes.clone(), parts.scales.clone());
        let counts = [codes.len(), scales.len()];
        Ok(Some(Split {
            description: Description::default()
                .with("group_size", parts.group_size)
                .with("rounds_inputs", parts.rounds_inputs)
                .with_dtype(parts.dtype),
            weight: Tensor::from_vec(codes, [counts[0]])?,
            others: vec![("scales", Tensor::from_vec(scales, [counts[1]])?)],
        }))
    }

    fn join(&self, parts: &Parts<'_>) -> Result<Storage> {
        let storage = Int8Storage::new(Int8Parts {
            codes: parts.weight.to_vec()?,
            scales: parts.get("scales")?.to_vec()?,
            group_size: parts.description.count("group_size")?,
            rounds_inputs: parts.description.flag("rounds_inputs")?,
            dtype: parts.description.dtype()?,
        })?;
        Ok(Storage::new(storage))
    }
}
