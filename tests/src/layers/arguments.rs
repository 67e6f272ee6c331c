use module_nn::prelude::*;
use serde_json::Value;

/// The arguments of one call, as recorded in a golden file.
pub struct Arguments<'a> {
    /// Every tensor, in the order in which PyTorch received them.
    pub tensors: &'a [Tensor],
    /// The positional arguments: a tensor is `{"tensor": number}`, a tuple is a list.
    pub positional: &'a Value,
    /// The keyword arguments.
    pub named: &'a Value,
}

impl Arguments<'_> {
    /// The positional argument at an index.
    ///
    /// # Errors
    ///
    /// A call with fewer arguments, or an argument other than a tensor.
    pub fn tensor(&self, place: usize) -> Result<Tensor> {
        let tensor = self.optional(&self.positional[place]);
        tensor.ok_or_else(|| Error::custom(format!("no tensor at place {place}")))
    }

    /// The positional argument at an index, or the keyword argument, if it was given.
    pub fn maybe_tensor(&self, place: usize, name: &str) -> Option<Tensor> {
        let named = self.optional(&self.named[name]);
        named.or_else(|| self.optional(&self.positional[place]))
    }

    /// The tensors of a tuple among the positional arguments; none if it was not given.
    pub fn tuple(&self, place: usize) -> Vec<Tensor> {
        let parts = self.positional[place].as_array();
        let parts = parts.into_iter().flatten();
        parts.filter_map(|part| self.optional(part)).collect()
    }

    /// A boolean keyword argument.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.named[name].as_bool().unwrap_or(default)
    }

    /// The sizes with that name, one per dimension, if they were given.
    ///
    /// # Errors
    ///
    /// A different number of sizes.
    pub fn sizes<const N: usize>(&self, name: &str) -> Result<Option<[usize; N]>> {
        let Some(sizes) = self.named[name].as_array() else {
            return Ok(None);
        };
        let sizes: Option<Vec<usize>> = (sizes.iter())
            .map(|size| usize::try_from(size.as_u64()?).ok())
            .collect();
        let sizes = sizes.and_then(|sizes| sizes.try_into().ok());
        let wrong = || Error::argument("call", "sizes", &self.named[name], format!("must be {N}"));
        sizes.map(Some).ok_or_else(wrong)
    }

    /// The tensor for a description.
    pub fn optional(&self, description: &Value) -> Option<Tensor> {
        let number = description["tensor"].as_u64()?;
        let tensor = self.tensors.get(usize::try_from(number).ok()?)?;
        match description["log_softmax"] == true {
            true => tensor.log_softmax(-1).ok(),
            false => Some(tensor.clone()),
        }
    }
}
