use super::{Remap, StateDict};
use crate::error::suggest;
use crate::{ModuleError, Result, Select};

/// Other keys for the same tensors; no element is copied, and an error changes nothing.
impl StateDict {
    /// Renames the key `from` to `to`, at the same position.
    ///
    /// # Errors
    ///
    /// A key that does not exist, with the nearest one, or one that already exists.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let mut state = StateDict::from_iter([("gamma", Tensor::from(1.0_f32))]);
    /// state.rename("gamma", "weight")?;
    /// assert!(state.keys().eq(["weight"]));
    /// assert!(state.rename("wieght", "scale").is_err());
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn rename(&mut self, from: &str, to: impl Into<String>) -> Result<()> {
        const OP: &str = "rename";
        let to = to.into();
        let Some(place) = self.tensors.get_index_of(from) else {
            return Err(ModuleError::NoSuchKey {
                op: OP,
                key: from.to_owned(),
                suggestion: suggest(from, self.keys()),
            }
            .into());
        };
        if from == to {
            return Ok(());
        }
        if self.contains_key(&to) {
            return Err(ModuleError::KeyCollision {
                op: OP,
                key: to.clone(),
                first: to,
                second: from.to_owned(),
            }
            .into());
        }
        if let Some(tensor) = self.tensors.shift_remove(from) {
            self.tensors.shift_insert(place, to, tensor);
        }
        Ok(())
    }

    /// The tensors that `select` covers.
    ///
    /// # Errors
    ///
    /// An invalid pattern, a selection that covers no key.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let one = || Tensor::from(1.0_f32);
    /// let state = StateDict::from_iter([("encoder.0.weight", one()), ("head.weight", one())]);
    /// let (encoder, rest) = state.partition("encoder")?;
    /// assert!(encoder.keys().eq(["encoder.0.weight"]) && rest.keys().eq(["head.weight"]));
    /// assert!(state.filter("decoder").is_err());
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn filter(&self, select: impl Into<Select>) -> Result<Self> {
        Ok(self.partition(select)?.0)
    }

    /// The tensors that `select` covers, and the others.
    ///
    /// # Errors
    ///
    /// Those of [`filter`](Self::filter).
    pub fn partition(&self, select: impl Into<Select>) -> Result<(Self, Self)> {
        let select = select.into();
        select.resolve(self.keys())?;
        let owned = self.clone().into_iter();
        let (tensors, rest) = owned.partition(|(key, _)| select.covers(key));
        Ok((Self { tensors }, Self { tensors: rest }))
    }

    /// Prepends the module path `prefix` to every key.
    ///
    /// # Errors
    ///
    /// None: different keys stay different.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("weight", Tensor::from(1.0_f32))]).add_prefix("head.0")?;
    /// assert_eq!(state.keys().collect::<Vec<_>>(), ["head.0.weight"]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn add_prefix(&self, prefix: &str) -> Result<Self> {
        self.remap(&Remap::new().prefix("", prefix))
    }

    /// Removes the module path `prefix` from the keys that start with it; the others stay.
    ///
    /// # Errors
    ///
    /// No key with the prefix; two keys that become the same.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("module.weight", Tensor::from(1.0_f32))]);
    /// assert!(state.strip_prefix("module")?.keys().eq(["weight"]));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn strip_prefix(&self, prefix: &str) -> Result<Self> {
        let path = prefix.strip_suffix('.').unwrap_or(prefix);
        Select::path(path).resolve(self.keys())?;
        self.remap(&Remap::new().prefix(path, ""))
    }

    /// Removes the prefixes of `DataParallel` and `torch.compile`, if any; see [`Remap::strip_wrappers`].
    ///
    /// # Errors
    ///
    /// Two keys that become the same.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("module._orig_mod.weight", Tensor::from(1.0_f32))]);
    /// assert!(state.strip_wrappers()?.keys().eq(["weight"]));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn strip_wrappers(&self) -> Result<Self> {
        self.remap(&Remap::strip_wrappers())
    }

    /// Renames every key by the rules.
    ///
    /// # Errors
    ///
    /// Two keys that become the same, with both names.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Remap, StateDict, Tensor};
    ///
    /// let one = || Tensor::from(1.0_f32);
    /// let state = StateDict::from_iter([("norm.gamma", one()), ("norm.beta", one())]);
    /// let rules = Remap::new().regex("gamma$", "weight")?.regex("beta$", "bias")?;
    /// assert!(state.remap(&rules)?.keys().eq(["norm.weight", "norm.bias"]));
    ///
    /// let error = state.remap(&Remap::new().regex("(gamma|beta)$", "x")?).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "remap: `norm.gamma` and `norm.beta` would both become `norm.x`"
    /// );
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn remap(&self, rules: &Remap) -> Result<Self> {
        let mut remapped = Self::new();
        for (old, tensor) in self {
            let key = rules.key(old);
            if let Some(place) = remapped.tensors.get_index_of(&key) {
                // Nothing was left out, so the indices are those of this state dict.
                let first = self.tensors.get_index(place);
                return Err(ModuleError::KeyCollision {
                    op: "remap",
                    first: first.map_or_else(|| key.clone(), |(first, _)| first.clone()),
                    second: old.to_owned(),
                    key,
                }
                .into());
            }
            remapped.tensors.insert(key, tensor.clone());
        }
        Ok(remapped)
    }
}
