use module_nn::prelude::*;
use serde_json::Value;

use super::{Entry, build};

pub(super) fn entries() -> Vec<Entry> {
    vec![Entry::composed("Sequential", sequential)]
}

/// Built from `modules`: a list of names with descriptions.
fn sequential(kwargs: &Value) -> Result<Sequential> {
    let children = kwargs["modules"].as_array().expect("a list of children");
    children
        .iter()
        .try_fold(Sequential::new(), |layers, child| {
            let name = child[0].as_str().expect("a name");
            layers.push_named(name, build(&child[1])?)
        })
}
