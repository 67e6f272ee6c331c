//! The same in one list, which the derive does not see: the child would be shared by two modules.

use std::sync::Arc;

use module_nn::prelude::*;

#[derive(Clone, Module)]
struct Net {
    encoder: Arc<Linear>,
}

fn main() {}
