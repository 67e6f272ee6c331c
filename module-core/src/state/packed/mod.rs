//! Conversion between packed tensors and the plain tensors that files hold.
//!
//! The key of a description ends in `quant_state.` and the name of a format, as in bitsandbytes. Its value is JSON in
//! bytes, which says what the other parts mean.

mod description;
mod format;
mod int4;
mod int8;
mod nf4;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::StateDict;
use crate::{DTypeError, Device, Error, Layout, Result, Tensor};
use description::{Description, JOIN};
use format::{PackedFormat, Parts};

/// The text before the name of a format in the key of a description.
const DESCRIPTION: &str = ".quant_state.";

static FORMATS: [&dyn PackedFormat; 4] = [
    &int8::Int8,
    &int4::Int4,
    &nf4::FourBit::Nf4,
    &nf4::FourBit::Fp4,
];

const SPLIT: &str = "split_packed";

impl StateDict {
    /// The same tensors, each packed one split into the plain tensors that a file holds; saving does this automatically.
    ///
    /// The key of the weight holds its codes; that key, a dot and the name of a part hold the other parts and a JSON
    /// description. `Nf4` has the keys that bitsandbytes reads.
    ///
    /// | scheme | parts |
    /// |---|---|
    /// | 8 bits | codes `I8` in the shape of the weight, `scales`, `quant_state.module__int8` |
    /// | 4 bits | codes `U8`, two in a byte, `scales`, `zero_points`, `quant_state.module__int4` |
    /// | `Nf4` | codes `U8` of `[⌈n/2⌉, 1]`, `absmax`, `quant_map`, with double quantization `nested_absmax` and `nested_quant_map`, `quant_state.bitsandbytes__nf4` (or `fp4`, which has other levels) |
    ///
    /// # Errors
    ///
    /// [`DTypeError::Packed`](crate::DTypeError::Packed) for a scheme that has no file form, and for a view of packed
    /// elements.
    pub fn split_packed(&self) -> Result<Self> {
        let mut split = Self::with_capacity(self.len());
        // Ties are kept.
        let mut seen: HashMap<usize, Vec<(String, Tensor)>> = HashMap::new();
        for (key, tensor) in self {
            let Some(packed) = tensor.storage().packed() else {
                split.insert(key, tensor.clone());
                continue;
            };
            let whole = tensor.is_contiguous() && tensor.numel() == packed.numel();
            let address = tensor.storage().address();
            let parts = match seen.get(&address) {
                Some(parts) => parts.clone(),
                None => parts_of(tensor).transpose().unwrap_or_else(|| {
                    let (op, scheme) = (SPLIT, packed.scheme());
                    Err(DTypeError::Packed { op, scheme }.into())
                })?,
            };
            if !whole {
                let (op, scheme) = (SPLIT, packed.scheme());
                return Err(DTypeError::Packed { op, scheme }.into());
            }
            for (name, part) in &parts {
                split.insert(format!("{key}{name}"), part.clone());
            }
            seen.insert(address, parts);
        }
        Ok(split)
    }

    /// The same tensors, the parts of each packed one joined again; loading into a module does this automatically.
    ///
    /// # Errors
    ///
    /// A missing part, one whose length or dtype differs from the description, an unreadable description.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::backend::{Int8Parts, Int8Storage, Storage};
    /// use module_core::{DType, Layout, StateDict, Tensor};
    ///
    /// let parts = Int8Parts::quantize(&[0.5, -1.0, 2.0, 0.0], 2, false, DType::F32)?;
    /// let storage = Storage::new(Int8Storage::new(parts)?);
    /// let weight = Tensor::from_storage(storage, Layout::contiguous([2, 2].into()));
    /// let state = StateDict::from_iter([("weight", weight)]);
    /// let files = state.split_packed()?;
    /// let keys = ["weight", "weight.scales", "weight.quant_state.module__int8"];
    /// assert_eq!(files.keys().collect::<Vec<_>>(), keys);
    /// assert!(files.join_packed()?.equal(&state)?);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn join_packed(&self) -> Result<Self> {
        let (mut joined, mut parts) = (HashMap::new(), HashSet::new());
        for (key, about) in self {
            let Some((weight, name)) = key.rsplit_once(DESCRIPTION) else {
                continue;
            };
            let Some(format) = FORMATS.into_iter().find(|format| format.name() == name) else {
                continue;
            };
            parts.insert(key.to_owned());
            let names = format.parts().iter();
            parts.extend(names.map(|part| format!("{weight}.{part}")));
            let tensor = self.join(format, weight, about);
            let named = |error: Error| Error::argument(JOIN, "weight", weight, error.to_string());
            joined.insert(weight, tensor.map_err(named)?);
        }
        let mut state = Self::with_capacity(self.len());
        for (key, tensor) in self {
            match joined.remove(key) {
                Some(weight) => state.insert(key, weight),
                None if parts.contains(key) => None,
                None => state.insert(key, tensor.clone()),
            };
        }
        Ok(state)
    }

    fn join(&self, format: &dyn PackedFormat, key: &str, about: &Tensor) -> Result<Tensor> {
        let description = Description::read(about)?;
        let (shape, Some(weight)) = (description.shape()?, self.get(key)) else {
            let problem = "is missing beside its description; load the file as it was saved";
            return Err(Error::argument(JOIN, "weight", key, problem));
        };
        let part = |name: &&'static str| Some((*name, self.get(&format!("{key}.{name}"))?));
        let storage = format.join(&Parts {
            description,
            weight,
            others: format.parts().iter().filter_map(part).collect(),
        })?;
        let numel = storage.packed().map_or(0, |packed| packed.numel());
        if shape.checked_numel(JOIN, 4)? != numel {
            let problem = format!("must hold the {numel} elements of the codes");
            return Err(Error::argument(JOIN, "shape", shape, problem));
        }
        Ok(Tensor::from_storage(storage, Layout::contiguous(shape)))
    }

    /// The tensors that a file is written from.
    pub(crate) fn for_files(&self) -> Result<Cow<'_, Self>> {
        match self.iter().any(|(_, tensor)| tensor.is_packed()) {
            true => self.split_packed().map(Cow::Owned),
            false => Ok(Cow::Borrowed(self)),
        }
    }

    /// Whether there are descriptions of packed tensors.
    pub(super) fn has_descriptions(&self) -> bool {
        self.keys().any(|key| key.contains(DESCRIPTION))
    }
}

/// The parts of a packed tensor with the suffixes of their keys; `None` if its scheme has no file form.
fn parts_of(tensor: &Tensor) -> Result<Option<Vec<(String, Tensor)>>> {
    // A device may have packed elements in a storage of its own.
    let tensor = tensor.to_device(&Device::cpu())?;
    for format in FORMATS {
        let Some(split) = format.split(tensor.storage())? else {
            continue;
        };
        let description = split.description.with_shape(tensor.shape()).write()?;
        let mut parts = vec![(String::new(), split.weight)];
        let others = split.others.into_iter();
        parts.extend(others.map(|(name, part)| (format!(".{name}"), part)));
        parts.push((format!("{DESCRIPTION}{}", format.name()), description));
        if let Some((_, weight)) = parts.first_mut()
            && weight.numel() == tensor.numel()
        {
            *weight = weight.reshape(tensor.shape().clone())?;
        }
        return Ok(Some(parts));
    }
    Ok(None)
}
