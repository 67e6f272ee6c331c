//! The same behind an alias.

use module_nn::prelude::*;

type Heads = std::collections::HashMap<String, Linear>;

#[derive(Module)]
struct Net {
    heads: Heads,
}

fn main() {}
