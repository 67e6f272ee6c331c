//! Saving in the form of a foreign checkpoint: the inverse of loading with options.

use std::collections::HashMap;

use super::collect::state_dict;
use super::entries::entries;
use super::{LoadOptions, StateDict};
use crate::module::Module;
use crate::{Error, Result, Tensor};

/// The state dict that `load` reads with these options: transposed by the rule, under the keys that `remap` translates to
/// the module's.
pub(crate) fn state_dict_as(root: &dyn Module, options: &LoadOptions) -> Result<StateDict> {
    let mut state = state_dict(root)?;
    if let Some(select) = &options.select {
        state = state.filter(select)?;
    }
    if let Some(rule) = &options.transpose {
        let entries = entries(root)?;
        // Tied tensors stay tied.
        let mut turned: HashMap<(usize, usize), Tensor> = HashMap::new();
        for key in rule.resolve(&entries)? {
            let Some(value) = state.tensors.get_mut(key) else {
                continue;
            };
            if value.rank() != 2 {
                continue;
            }
            let place = (value.storage().address(), value.layout().offset());
            let transposed = match turned.get(&place) {
                Some(transposed) => transposed.clone(),
                None => value.t()?.contiguous()?,
            };
            turned.insert(place, transposed.clone());
            *value = transposed;
        }
    }
    let Some(rules) = &options.remap else {
        return Ok(state);
    };
    let back = rules.inverse()?;
    for key in state.keys() {
        let saved = back.key(key);
        let loaded = rules.key(&saved);
        if loaded != key {
            let problem = format!(
                "the rules have no inverse there: it would be saved as `{saved}`, which they turn \
                 into `{loaded}`; use `Remap::inverse_for` with the keys of the checkpoint"
            );
            return Err(Error::argument("state_dict_as", "key", key, problem));
        }
    }
    state.remap(&back)
}
