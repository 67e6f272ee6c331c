//! The same in one list, which the derive cannot see: two modules would share the child.

use std::sync::Arc;

use module_nn::prelude::*;

#[derive(Clone, Module)]
struct Net {
    encoder: Arc<Linear>,
}

fn main() {}
