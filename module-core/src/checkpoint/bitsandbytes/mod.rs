//! The layout in which bitsandbytes and Hugging Face's tools keep weights of four bits: a tensor of bytes, and its
//! scales, levels and description under keys of their own.

mod description;
mod parts;

use std::collections::HashMap;

use description::PREFIX;

use crate::backend::Nf4Storage;
use crate::{Error, Result, StateDict};

/// The keys of the parts behind that of the weight, but for the description.
const PARTS: [&str; 4] = [ABSMAX, QUANT_MAP, NESTED_ABSMAX, NESTED_QUANT_MAP];
const ABSMAX: &str = "absmax";
const QUANT_MAP: &str = "quant_map";
const NESTED_ABSMAX: &str = "nested_absmax";
const NESTED_QUANT_MAP: &str = "nested_quant_map";

/// What errors call the method.
const JOIN: &str = "join_bitsandbytes";

impl StateDict {
    /// The same tensors, where the parts of each weight that bitsandbytes quantized to four bits (`nf4` and `fp4`) are one packed
    /// tensor under the key of the weight.
    ///
    /// A weight `X.weight` comes as bytes of `[⌈n / 2⌉, 1]`, with `X.weight.absmax`, `X.weight.quant_map`, with nested scales
    /// `X.weight.nested_absmax` and `X.weight.nested_quant_map`, and `X.weight.quant_state.bitsandbytes__nf4` (or `fp4`), a
    /// description as JSON in bytes. [`split_bitsandbytes`](Self::split_bitsandbytes) is the way back.
    ///
    /// # Errors
    ///
    /// A part that is missing, or of another dtype or length than the description demands; a description that cannot be read.
    ///
    /// # Source
    ///
    /// `bitsandbytes.functional.QuantState`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::backend::Nf4Parts;
    /// use module_core::{StateDict, Tensor};
    ///
    /// let about = r#"{"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": [1, 4]}"#;
    /// let state = StateDict::from_iter([
    ///     ("weight", Tensor::from([[0xf0_u8], [0x7f]])),
    ///     ("weight.absmax", Tensor::from([3.0_f32])),
    ///     ("weight.quant_map", Tensor::from(Nf4Parts::VALUES)),
    ///     ("weight.quant_state.bitsandbytes__nf4", Tensor::from_vec(about.as_bytes().to_vec(), [about.len()])?),
    /// ]);
    /// let joined = state.join_bitsandbytes()?;
    /// let weight = joined.get("weight").unwrap();
    /// assert!(weight.is_packed() && joined.len() == 1);
    /// assert_eq!(weight.unpack()?.to_vec::<f32>()?, [3.0, -3.0, 0.0, 3.0]);
    /// assert!(joined.split_bitsandbytes()?.equal(&state)?);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn join_bitsandbytes(&self) -> Result<Self> {
        let mut weights = HashMap::new();
        for key in self.keys() {
            let described = key.rsplit_once(PREFIX);
            let Some((weight, kind)) =
                described.and_then(|(weight, kind)| Some((weight.strip_suffix('.')?, kind)))
            else {
                continue;
            };
            if weights
                .insert(weight, parts::join(self, weight, key, kind)?)
                .is_some()
            {
                let problem = "is described twice; remove one of the descriptions";
                return Err(Error::argument(JOIN, "key", weight, problem));
            }
        }
        let is_part = |key: &str| {
            let part = key
                .match_indices('.')
                .find(|(dot, _)| weights.contains_key(&key[..*dot]));
            part.is_some_and(|(dot, _)| {
                let part = &key[dot + 1..];
                PARTS.contains(&part) || part.starts_with(PREFIX)
            })
        };
        let mut joined = Self::new();
        for (key, tensor) in self {
            match weights.get(key) {
                Some(weight) => joined.insert(key, weight.clone()),
                None if is_part(key) => None,
                None => joined.insert(key, tensor.clone()),
            };
        }
        Ok(joined)
    }

    /// The same tensors, where each weight that is packed in four bits as bitsandbytes does it is its parts again, as a
    /// safetensors file holds them: to the byte what [`join_bitsandbytes`](Self::join_bitsandbytes) joined, and what
    /// bitsandbytes would have written of a weight that was quantized here.
    ///
    /// # Errors
    ///
    /// A view of such a weight; levels that are those of neither `nf4` nor `fp4`.
    pub fn split_bitsandbytes(&self) -> Result<Self> {
        let mut split = Self::new();
        for (key, tensor) in self {
            match tensor.storage().downcast_ref::<Nf4Storage>() {
                Some(weight) => parts::split(key, tensor, weight.parts(), &mut split)?,
                None => drop(split.insert(key, tensor.clone())),
            }
        }
        Ok(split)
    }
}
