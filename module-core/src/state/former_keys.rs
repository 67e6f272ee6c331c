//! Keys of older checkpoints.

use std::borrow::Cow;
use std::collections::HashMap;

use super::StateDict;
use crate::module::walk::{join, modules};
use crate::module::{Module, Visitor, Walk};

/// Renames the keys of older checkpoints that the modules of a tree know.
///
/// Keys that are renamed together are left alone if one of them is missing or has its present name too, so that the load
/// reports them.
pub(super) fn rename_former_keys(root: &dyn Module, state: &mut Cow<'_, StateDict>) {
    let mut names = HashMap::new();
    for (path, module) in modules(root, &Walk::new().remove_duplicate(false)) {
        module.visit(&mut Found {
            path: &path,
            state,
            names: &mut names,
        });
    }
    if names.is_empty() {
        return;
    }
    let renamed = state.iter().map(|(key, tensor)| {
        let key = names.get(key).map_or(key, String::as_str);
        (key.to_owned(), tensor.clone())
    });
    *state = Cow::Owned(renamed.collect());
}

/// Finds the old keys of the module at a path.
struct Found<'f> {
    path: &'f str,
    state: &'f StateDict,
    /// The present names of the keys that were found.
    names: &'f mut HashMap<String, String>,
}

impl Visitor<'_> for Found<'_> {
    fn former_keys(&mut self, keys: &[(&str, &str)]) {
        let full = |&(old, new): &(&str, &str)| (join(self.path, old), join(self.path, new));
        let keys: Vec<(String, String)> = keys.iter().map(full).collect();
        let has = |key: &String| self.state.contains_key(key);
        if keys.iter().all(|(old, new)| has(old) && !has(new)) {
            self.names.extend(keys);
        }
    }
}
